// Package resolution has the two forms in which a server answers what a call with
// exactly these arguments would do: the proposal of dynamic annotations, and the
// experimental extension that followed it.
package resolution

import "github.com/fairlead-go/fairlead/annotation"

// What is written on the wire.
const (
	// Extension is announced by client and server among the extensions of their
	// capabilities, and marks a tool in its _meta.
	Extension = "io.modelcontextprotocol/tool-resolution"
	// MethodResolve is asked of tools that have the extension's mark.
	MethodResolve = "tools/resolve"
	// MethodAnnotations is asked of tools that have dynamicAnnotations.
	MethodAnnotations = "tools/annotations"

	FieldDynamic = "dynamicAnnotations"

	// MetaKey is where a transport of ours puts what the SDK's types drop: among the
	// extensions of a server's capabilities, and in a tool's _meta, an object with
	// FieldDynamic.
	MetaKey = "io.github.fairlead-go/resolution"
)

// Exceeds returns the hints in which an answer is worse than what its tool declares
// for every call. MCP's defaults, the worst there is, count for what it does not
// declare; what the answer leaves out is not looked at.
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
