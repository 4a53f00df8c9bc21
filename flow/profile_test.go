package flow_test

import (
	"encoding/json"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestKindIsTheHosts(t *testing.T) {
	b := newBench(t, flow.Options{Kind: func(_ *middleware.Tool, argument string) flow.Kind {
		if argument == "flavour" {
			return flow.Recipient
		}
		return ""
	}})
	b.tracker.User("", "Go on.")
	b.answer = &mcp.CallToolResult{}
	d, err := middleware.NewTool("x", &mcp.Tool{Name: "serve", InputSchema: map[string]any{
		"type": "object", "properties": map[string]any{"flavour": map[string]any{"type": "string"}},
	}}, annotation.Write())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.caller.CallTool(t.Context(), middleware.Call{Tool: d, Arguments: json.RawMessage(args("flavour", "vanilla"))}); err != nil {
		t.Fatal(err)
	}
	if s := b.source("flavour"); s.Rule != string(flow.UnknownAddress) || s.Kind != "recipient" {
		t.Errorf("got %+v", s)
	}
}
