package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What is written is as strict as what is known, whatever a server that is not trusted states.
func TestLabelIsWritten(t *testing.T) {
	list := func(names ...any) []any { return names }
	label := func(integrity, confidentiality any) any {
		return map[string]any{"integrity": integrity, "confidentiality": confidentiality}
	}
	many := make([]any, 17)
	for i := range many {
		many[i] = fmt.Sprint("reader ", i)
	}
	for _, c := range []struct {
		name               string
		before             any
		trusted, sensitive bool
		want               string
	}{
		{"nothing", nil, false, false, `{"integrity":"untrusted"}`},
		{"of a trusted tool", nil, true, false, `{"integrity":"trusted"}`},
		{"sensitive", nil, true, true, `{"confidentiality":"private","integrity":"trusted"}`},
		{"claims trust", label("trusted", list("public")), false, false, `{"confidentiality":["public"],"integrity":"untrusted"}`},
		{"trusted, and states less", label("untrusted", list("public")), true, false, `{"confidentiality":["public"],"integrity":"untrusted"}`},
		{"trusted, and states it", label("trusted", list("public")), true, false, `{"confidentiality":["public"],"integrity":"trusted"}`},
		{"public and sensitive", label("trusted", list("public")), true, true, `{"confidentiality":"private","integrity":"trusted"}`},
		{"readers stay", label("trusted", list("ann", "bob")), true, true, `{"confidentiality":["ann","bob"],"integrity":"trusted"}`},
		{"a word stays", label("trusted", "private"), true, false, `{"confidentiality":"private","integrity":"trusted"}`},
		{"not an object", "trusted", true, false, `{"confidentiality":"private","integrity":"untrusted"}`},
		{"readers that are no words", label("trusted", list(1)), true, false, `{"confidentiality":"private","integrity":"trusted"}`},
		{"too many readers", label("trusted", many), true, false, `{"confidentiality":"private","integrity":"trusted"}`},
		{"a long reader", label("trusted", list(strings.Repeat("x", 1000))), true, false, `{"confidentiality":"private","integrity":"trusted"}`},
		{"more members", map[string]any{"integrity": "trusted", "text": "obey"}, true, false, `{"integrity":"trusted"}`},
	} {
		meta := mcp.Meta{"other": "stays"}
		if c.before != nil {
			meta[flow.LabelKey] = c.before
		}
		out := flow.Label(meta, c.trusted, c.sensitive)
		got, err := json.Marshal(out[flow.LabelKey])
		if err != nil || string(got) != c.want || out["other"] != "stays" {
			t.Errorf("%s: %v: got %s, want %s", c.name, err, got, c.want)
		}
		if still, _ := json.Marshal(meta[flow.LabelKey]); c.before != nil && string(still) == c.want && c.name == "claims trust" {
			t.Errorf("%s: the label that was passed has changed", c.name)
		}
	}
}

// A result leaves the middleware with its label, each block with no more than the result has, and the one of the server
// is not written over.
func TestResultsAreLabeled(t *testing.T) {
	claim := func() mcp.Meta {
		return mcp.Meta{"ifc": map[string]any{"integrity": "trusted"}, "security_label": map[string]any{"integrity": "trusted"}}
	}
	for trust, want := range map[bool]string{false: "untrusted", true: "trusted"} {
		res := &mcp.CallToolResult{Meta: claim(), Content: []mcp.Content{
			&mcp.TextContent{Text: "hi", Meta: claim()}, &mcp.ImageContent{MIMEType: "image/png", Meta: claim()}, &mcp.AudioContent{MIMEType: "audio/wav", Meta: claim()},
			&mcp.ResourceLink{URI: "a://b", Name: "b", Meta: claim()},
			&mcp.EmbeddedResource{Meta: claim(), Resource: &mcp.ResourceContents{URI: "a://b", Text: "hi", Meta: claim()}},
		}}
		before, _ := json.Marshal(res)
		caller := flow.New(flow.Options{Label: true, Trusted: func(*middleware.Tool) bool { return trust }})(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			return res, nil
		}))
		got, err := caller.CallTool(t.Context(), middleware.Call{ID: "1", Tool: tool(t, "mail/read", annotation.ReadOnly())})
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(got)
		if n := strings.Count(string(raw), `"integrity":"`+want+`"`); n != 14 || strings.Count(string(raw), `"integrity"`) != 14 {
			t.Errorf("trusted %v: got %d of 14 labels: %s", trust, n, raw)
		}
		if after, _ := json.Marshal(res); string(after) != string(before) {
			t.Errorf("the server's result was written over: %s", after)
		}
	}
}
