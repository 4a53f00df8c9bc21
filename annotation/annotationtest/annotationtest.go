// Package annotationtest checks the annotations of an MCP server in the server's own tests: each tool has
// some, they are consistent and as its author meant, and a tool that is declared read-only or idempotent
// behaves so. It calls the tools for real.
package annotationtest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [Run]. The zero value checks the declarations alone.
type Options struct {
	// Want is what each tool should declare, by its name; nil means any preset. Unset hints are not compared.
	Want map[string]annotation.Annotations
	// Calls are arguments by tool name. A tool declared read-only or idempotent that has none is skipped.
	Calls map[string]json.RawMessage
	// State is a fingerprint of everything that the tools may change; nil means that no tool is called.
	State func() string
	// Reset restores the state before each tool is tried; nil means that this is not necessary.
	Reset func()
}

// Run checks all the tools of a server, one subtest for each.
func Run(t *testing.T, session *mcp.ClientSession, o Options) {
	t.Helper()
	tools, err := list(t.Context(), session)
	if err != nil {
		t.Fatal("annotationtest: ", err)
	}
	for _, fault := range missing(tools, o) {
		t.Error(fault)
	}
	for _, tool := range tools {
		t.Run(tool.Name, func(t *testing.T) {
			faults, skipped := check(t.Context(), session, tool, o)
			for _, fault := range faults {
				t.Error(fault)
			}
			if skipped != "" {
				t.Skip("SKIPPED: " + skipped)
			}
		})
	}
}

func list(ctx context.Context, session *mcp.ClientSession) ([]*mcp.Tool, error) {
	var tools []*mcp.Tool
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("the server could not list its tools: %w", err)
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// missing reports the names in the options that the server does not list.
func missing(tools []*mcp.Tool, o Options) []string {
	var faults []string
	look := func(option string, names iter.Seq[string]) {
		for _, name := range slices.Sorted(names) {
			if !slices.ContainsFunc(tools, func(t *mcp.Tool) bool { return t.Name == name }) {
				faults = append(faults, fmt.Sprintf("Options.%s has %q, which the server does not list", option, name))
			}
		}
	}
	look("Want", maps.Keys(o.Want))
	look("Calls", maps.Keys(o.Calls))
	return faults
}

// check returns the faults of one tool, and why a part of it was not tried.
func check(ctx context.Context, session *mcp.ClientSession, tool *mcp.Tool, o Options) (faults []string, skipped string) {
	declared, err := annotation.FromTool(tool)
	if err != nil {
		faults = append(faults, fmt.Sprintf("it declares what cannot be read: %v", err))
	}
	if w := tool.Annotations; w != nil && w.ReadOnlyHint && w.DestructiveHint != nil && *w.DestructiveHint {
		faults = append(faults, "it declares itself both read-only and destructive; it counts as destructive")
	}
	if declared.Safety() == annotation.Unknown {
		return append(faults, "it is not tagged: declare one of annotation.ReadOnly, Write, Update and Destructive"), ""
	}
	if err := declared.Validate(); err != nil {
		faults = append(faults, err.Error())
	}
	if fault := meant(tool.Name, declared, o.Want); fault != "" {
		faults = append(faults, fault)
	}
	behaviour, skipped := behaves(ctx, session, tool.Name, declared, o)
	return append(faults, behaviour...), skipped
}

// meant reports how a declaration differs from what the author meant.
func meant(name string, declared annotation.Annotations, want map[string]annotation.Annotations) string {
	if want == nil {
		for _, preset := range []annotation.Annotations{annotation.ReadOnly(), annotation.Write(), annotation.Update(), annotation.Destructive()} {
			if differ(declared, preset) == "" {
				return ""
			}
		}
		return fmt.Sprintf("it declares %s; want one of the presets", declared.Summary())
	}
	wanted, ok := want[name]
	if !ok {
		return "Options.Want does not say what it should declare"
	}
	return differ(declared, wanted)
}

// differ reports the first hint that is set in want and declared otherwise.
func differ(declared, want annotation.Annotations) string {
	for _, hint := range []struct {
		field     annotation.Field
		got, want annotation.Hint
	}{
		{annotation.ReadOnlyHint, declared.ReadOnly, want.ReadOnly},
		{annotation.DestructiveHint, declared.Destructive, want.Destructive},
		{annotation.IdempotentHint, declared.Idempotent, want.Idempotent},
		{annotation.OpenWorldHint, declared.OpenWorld, want.OpenWorld},
		{annotation.RequiresConfirmation, declared.RequiresConfirmation, want.RequiresConfirmation},
	} {
		if hint.want != annotation.Unset && hint.got != hint.want {
			return fmt.Sprintf("it declares %s: %s, and should %s", hint.field, hint.got, hint.want)
		}
	}
	return ""
}

// behaves calls a tool that claims to change nothing, or nothing more by a second call, and looks at the state.
func behaves(ctx context.Context, session *mcp.ClientSession, name string, declared annotation.Annotations, o Options) (faults []string, skipped string) {
	if o.State == nil || declared.ReadOnly != annotation.Yes && declared.Idempotent != annotation.Yes {
		return nil, ""
	}
	arguments, ok := o.Calls[name]
	if !ok {
		return nil, name + " is declared read-only or idempotent, and nobody tried it: put arguments into Options.Calls"
	}
	if o.Reset != nil {
		o.Reset()
	}
	states := [3]string{0: o.State()}
	for i := range 2 {
		if fault := call(ctx, session, name, arguments); fault != "" {
			return []string{fault}, ""
		}
		states[i+1] = o.State()
	}
	if declared.ReadOnly == annotation.Yes && states[1] != states[0] {
		faults = append(faults, fmt.Sprintf("it is declared read-only and changed the state from %.200q to %.200q", states[0], states[1]))
	}
	if declared.Idempotent == annotation.Yes && states[2] != states[1] {
		faults = append(faults, fmt.Sprintf("it is declared idempotent and its second call changed the state from %.200q to %.200q", states[1], states[2]))
	}
	return faults, ""
}

// call calls a tool and returns why that did not work.
func call(ctx context.Context, session *mcp.ClientSession, name string, arguments json.RawMessage) string {
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	switch {
	case err != nil:
		return fmt.Sprintf("the call with %s failed: %v", arguments, err)
	case res.IsError:
		return fmt.Sprintf("the call with %s was answered with an error: %s", arguments, text(res))
	}
	return ""
}

func text(res *mcp.CallToolResult) string {
	for _, content := range res.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			return t.Text
		}
	}
	return "no text"
}
