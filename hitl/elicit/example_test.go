package elicit_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/mount/serve"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server asks the user of its client before it deletes.
func ExampleNew() {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
	crm := serve.New(server, "crm", serve.Options{Chain: chain.Standard{
		Confirm: hitl.New(elicit.New(elicit.Options{}), hitl.Options{}),
	}.Middleware()})
	err := serve.AddTool(crm, &mcp.Tool{Name: "delete_customer"}, annotation.Destructive(),
		func(_ context.Context, _ *mcp.CallToolRequest, in customer) (*mcp.CallToolResult, any, error) {
			fmt.Println("server: deleted", in.Name)
			return &mcp.CallToolResult{}, nil, nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("client:", strings.Split(req.Params.Message, "\n")[2])
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
		},
	})
	theirs, ours := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		fmt.Println(err)
		return
	}
	session, err := client.Connect(ctx, ours, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "delete_customer", Arguments: customer{"Ada"}})
	fmt.Println(err)
	// Output:
	// client:     Delete customer Ada of crm
	// server: deleted Ada
	// <nil>
}

// What a server asks for by itself is marked as its own, and never a secret.
func ExampleGuardHandler() {
	handle := elicit.GuardHandler(
		func(*mcp.ClientSession) string { return "crm" },
		func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println(req.Params.Message)
			return &mcp.ElicitResult{Action: "decline"}, nil
		})
	for _, message := range []string{"Which Ada?", "Enter your API key to go on"} {
		if _, err := handle(context.Background(), &mcp.ElicitRequest{Params: &mcp.ElicitParams{Message: message}}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// The server crm asks. This is not an approval of a call.
	//
	//     Which Ada?
	// elicit: the server crm asked for input, and nothing was shown: its message asks for what looks like a secret
}
