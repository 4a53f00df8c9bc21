// Package resolution has the two forms in which a server answers what a call with given arguments would do: the
// proposal of dynamic annotations, and the extension that followed it.
package resolution

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/canonical"
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

func Marked(method string) bool {
	return method == "initialize" || method == "server/discover" || method == "tools/list"
}

// Mark returns the result of initialize, server/discover or tools/list with what the SDK drops copied elsewhere.
func Mark(method string, raw json.RawMessage) json.RawMessage {
	if method == "tools/list" {
		return markTools(raw)
	}
	return edit(raw, func(result map[string]any) bool {
		caps, _ := result["capabilities"].(map[string]any)
		tools, _ := caps["tools"].(map[string]any)
		return copyMark(tools, caps, "extensions")
	})
}

func markTools(raw json.RawMessage) json.RawMessage {
	var list map[string]json.RawMessage
	var tools []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || json.Unmarshal(list["tools"], &tools) != nil {
		return raw
	}
	changed := false
	for i, tool := range tools {
		tools[i] = edit(tool, func(tool map[string]any) bool { return copyMark(tool, tool, "_meta") })
		changed = changed || !bytes.Equal(tools[i], tool)
	}
	if !changed {
		return raw
	}
	var err error
	if list["tools"], err = json.Marshal(tools); err != nil {
		return raw
	}
	return written(list, raw)
}

func written(v any, raw json.RawMessage) json.RawMessage {
	if out, err := json.Marshal(v); err == nil {
		return out
	}
	return raw
}

func edit(raw json.RawMessage, change func(map[string]any) bool) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var o map[string]any
	if d.Decode(&o) != nil || !change(o) {
		return raw
	}
	return written(o, raw)
}

// copyMark writes the mark, if it is true, to a member of into. It keeps a member that is not an object.
func copyMark(from, into map[string]any, member string) bool {
	holder, ok := into[member].(map[string]any)
	if from[FieldDynamic] != true || !ok && into[member] != nil {
		return false
	}
	if holder == nil {
		holder = make(map[string]any)
		into[member] = holder
	}
	holder[MetaKey] = map[string]any{FieldDynamic: true}
	return true
}

// A Reply is a server's answer. [Annotates] has Annotations alone, [Extends] the Name of the tool too.
type Reply struct {
	mcp.ResultBase

	ResultType  string                 `json:"resultType"`
	Name        string                 `json:"name,omitempty"`
	Annotations annotation.Annotations `json:"annotations"` // the four hints, all of them set
}

// What the SDK's results cannot say by themselves. The embedded one keeps what makes it a result.
type (
	announcingInit struct {
		*mcp.InitializeResult

		Capabilities announcedCapabilities `json:"capabilities"`
	}
	announcingDiscovery struct {
		*mcp.DiscoverResult

		Capabilities announcedCapabilities `json:"capabilities"`
	}
	announcedCapabilities struct {
		*mcp.ServerCapabilities

		Tools map[string]bool `json:"tools"`
	}
	markedList struct {
		*mcp.ListToolsResult

		Tools []markedTool `json:"tools"`
	}
	markedTool struct {
		*mcp.Tool

		Dynamic bool `json:"dynamicAnnotations,omitempty"`
	}
)

// Announce declares in a server's capabilities and lists that it resolves the tools for which resolvable holds.
func Announce(resolvable func(listed *mcp.Tool) bool) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if err != nil {
				return res, err
			}
			switch res := res.(type) {
			case *mcp.InitializeResult:
				return &announcingInit{res, announced(res.Capabilities)}, nil
			case *mcp.DiscoverResult:
				return &announcingDiscovery{res, announced(res.Capabilities)}, nil
			case *mcp.ListToolsResult:
				return withMarks(res, resolvable), nil
			}
			return res, nil
		}
	}
}

func announced(caps *mcp.ServerCapabilities) announcedCapabilities {
	var own mcp.ServerCapabilities
	if caps != nil {
		own = *caps
	}
	own.Extensions = maps.Clone(own.Extensions)
	own.AddExtension(Extension, nil)
	listChanged := own.Tools != nil && own.Tools.ListChanged
	return announcedCapabilities{&own, map[string]bool{"listChanged": listChanged, FieldDynamic: true}}
}

func withMarks(list *mcp.ListToolsResult, resolvable func(*mcp.Tool) bool) mcp.Result {
	out := &markedList{ListToolsResult: list, Tools: make([]markedTool, len(list.Tools))}
	for i, t := range list.Tools {
		out.Tools[i].Tool = t
		if !resolvable(t) {
			continue
		}
		own := *t
		own.Meta = maps.Clone(t.Meta)
		if own.Meta == nil {
			own.Meta = mcp.Meta{}
		}
		own.Meta[Extension] = map[string]any{"resolvable": true}
		out.Tools[i] = markedTool{Tool: &own, Dynamic: true}
	}
	return out
}

// A Form is one way that a server answers.
type Form int

// The forms.
const (
	None      Form = iota
	Annotates      // tools/annotations of the proposal
	Extends        // tools/resolve of the extension
)

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

// Params are those of both methods.
type Params struct {
	mcp.ParamsBase

	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// An Answer is a result as the server wrote it.
type Answer struct {
	mcp.ResultBase

	raw json.RawMessage
}

// UnmarshalJSON keeps the text, unless it is too long, to be read once the form is known.
func (a *Answer) UnmarshalJSON(raw []byte) error {
	if len(raw) <= MaxAnswer {
		a.raw = bytes.Clone(raw)
	}
	return nil
}

// MaxAnswer is how many bytes an answer may have.
const MaxAnswer = 16 << 10

// Members that an answer of the extension may have.
var (
	answerMembers = []string{"resultType", "name", "annotations", "_meta"}
	answerHints   = []string{
		string(annotation.ReadOnlyHint), string(annotation.DestructiveHint), string(annotation.IdempotentHint), string(annotation.OpenWorldHint),
	}
)

// Read returns the hints of an answer of that form. A missing hint is unset, and so are all without annotations,
// or without the name that they need. Any other defect is an error.
func (a *Answer) Read(f Form, tool string) (annotation.Annotations, error) {
	raw, nothing := a.raw, annotation.Annotations{}
	if raw == nil {
		return nothing, fmt.Errorf("it has more than %d bytes", MaxAnswer)
	}
	if _, err := canonical.AppendObject(nil, raw); err != nil {
		return nothing, err
	}
	var result map[string]json.RawMessage
	if err := json.Unmarshal(raw, &result); err != nil {
		return nothing, err
	}
	if kind, err := member[string](result, "resultType", "text"); err != nil || kind != "" && kind != "complete" {
		return nothing, fmt.Errorf("its resultType is %.40s and not complete", result["resultType"])
	}
	name, err := member[string](result, "name", "text")
	switch {
	case err != nil:
		return nothing, err
	case name != "" && name != tool:
		return nothing, fmt.Errorf("it is about another tool: %.80q", name)
	}
	hints, err := member[map[string]json.RawMessage](result, "annotations", "object")
	if err != nil {
		return nothing, err
	}
	if f == Extends {
		for member := range result {
			if !slices.Contains(answerMembers, member) {
				return nothing, fmt.Errorf("it has a member that it must not have: %.40q", member)
			}
		}
		for hint := range hints {
			if !slices.Contains(answerHints, hint) {
				return nothing, fmt.Errorf("its annotations have a member that they must not have: %.40q", hint)
			}
		}
	}
	if hints == nil || name == "" && f != Annotates { // about what?
		return nothing, nil
	}
	answer, err := annotation.Parse(result["annotations"])
	if err != nil {
		return nothing, err
	}
	return answer, nil
}

func member[T any](of map[string]json.RawMessage, name, kind string) (v T, err error) {
	if raw, ok := of[name]; ok {
		if json.Unmarshal(raw, &v) != nil {
			err = fmt.Errorf("its %s is %.40s and no %s", name, raw, kind)
		}
	}
	return v, err
}
