// Package resolution has the two forms in which a server answers what a call with given arguments would do: the
// proposal of dynamic annotations, and the extension that followed it.
package resolution

import (
	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What is written on the wire.
const (
	// Extension is announced among the extensions of capabilities, and marks a tool in its _meta.
	Extension = "io.modelcontextprotocol/tool-resolution"
	// MethodResolve is asked of tools that have the extension's mark.
	MethodResolve = "tools/resolve"
	// MethodAnnotations is asked of tools that have dynamicAnnotations.
	MethodAnnotations = "tools/annotations"

	FieldDynamic = "dynamicAnnotations"

	// MetaKey is where our transport puts what the SDK's types drop: an object with FieldDynamic, among the
	// extensions of a server's capabilities and in a tool's _meta.
	MetaKey = "io.github.fairlead-go/resolution"
)

// A Form is one way that a server answers.
type Form int

// The forms.
const (
	None      Form = iota
	Annotates      // tools/annotations of the proposal
	Extends        // tools/resolve of the extension
)

// Method returns the method of the form.
func (f Form) Method() string {
	if f == Annotates {
		return MethodAnnotations
	}
	return MethodResolve
}

// Offered returns the best way that the server answers about the tool.
func Offered(cs *mcp.ClientSession, tool *mcp.Tool) Form {
	init := cs.InitializeResult()
	if init == nil || init.Capabilities == nil || tool == nil {
		return None
	}
	caps := init.Capabilities.Extensions
	settings, announced := caps[Extension].(map[string]any)
	mark, _ := tool.Meta[Extension].(map[string]any)
	lifted, _ := caps[MetaKey].(map[string]any)
	marks, _ := tool.Meta[MetaKey].(map[string]any)
	switch {
	case announced && len(settings) == 0 && mark["resolvable"] == true: // settings that we do not know may ask for more
		return Extends
	case lifted[FieldDynamic] == true && marks[FieldDynamic] == true:
		return Annotates
	}
	return None
}

// Exceeds returns the hints in which an answer is worse than what its tool declares for every call, or by MCP's
// defaults. Hints that the answer leaves out are not compared.
func Exceeds(declared, answer annotation.Annotations) []annotation.Field {
	d := declared.Defaults()
	reads := answer.ReadOnly == annotation.Yes
	var worse []annotation.Field
	if d.ReadOnly == annotation.Yes && answer.ReadOnly == annotation.No {
		worse = append(worse, annotation.ReadOnlyHint)
	}
	if d.ReadOnly != annotation.Yes && d.Destructive == annotation.No && !reads && answer.Destructive == annotation.Yes {
		worse = append(worse, annotation.DestructiveHint)
	}
	if d.Idempotent == annotation.Yes && !reads && answer.Idempotent == annotation.No {
		worse = append(worse, annotation.IdempotentHint)
	}
	if d.OpenWorld == annotation.No && answer.OpenWorld == annotation.Yes {
		worse = append(worse, annotation.OpenWorldHint)
	}
	return worse
}
