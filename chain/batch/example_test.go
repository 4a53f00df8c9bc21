package batch_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func ExampleRun() {
	notes := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: call.Tool.Name() + string(call.Arguments)}}}, nil
	})
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	schema := map[string]any{"type": "object"}
	if err := tools.AddTools("notes", notes, &mcp.Tool{Name: "get_note", InputSchema: schema}, &mcp.Tool{Name: "delete_note", InputSchema: schema}); err != nil {
		fmt.Println(err)
		return
	}
	get, _ := tools.Lookup("notes", "get_note")
	del, _ := tools.Lookup("notes", "delete_note")

	outcomes := batch.Run(context.Background(), chain.Standard{}.Then(tools), []middleware.Call{
		{ID: "1", Tool: get, Arguments: json.RawMessage(`{"id":1}`)},
		{ID: "2", Tool: del, Arguments: json.RawMessage(`{"id":1}`)},
		{ID: "3", Tool: get, Arguments: json.RawMessage(`{"id":2}`)},
	})
	for _, o := range outcomes {
		if o.Err != nil {
			fmt.Println(o.Call.ID, o.Err)
			continue
		}
		fmt.Println(o.Call.ID, o.Result.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// 1 get_note{"id":1}
	// 2 fairlead: notes/delete_note was refused: it is dangerous and nobody approved it; put hitl.New in the chain's Confirm slot, or choose a tool that only reads
	// 3 get_note{"id":2}
}
