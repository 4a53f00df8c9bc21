package mount_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client asks the servers that it trusts before it asks the person.
func ExampleResolver() {
	ctx := context.Background()
	theirs, ours := mcp.NewInMemoryTransports()
	if _, err := newResolving(nil).server.Connect(ctx, theirs, nil); err != nil {
		panic(err)
	}

	client := mcp.NewClient(&mcp.Implementation{Name: "host"}, mount.ResolverOptions(nil))
	session, err := client.Connect(ctx, mount.Transport(ours), nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	tools := catalog.New(catalog.Options{})
	if err := tools.Add(ctx, "files", session); err != nil {
		panic(err)
	}
	tools.Trust("files")

	sessions := map[string]*mcp.ClientSession{"files": session}
	judge := preflight.New(preflight.Options{
		Resolver: mount.Resolver(func(server string) *mcp.ClientSession { return sessions[server] }, client),
		Trusted:  func(server string) bool { return server == "files" },
	})
	person := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		fmt.Println("asked about", string(r.Arguments))
		return hitl.Decision{Reason: "keep it"}, nil
	})
	caller := chain.Standard{
		Preflight: judge,
		Confirm:   hitl.New(person, hitl.Options{}),
	}.Then(tools)

	tool, _ := tools.Lookup("files", "manage_files")
	fmt.Println(tool, "is", tool.Safety(), "as it stands")
	for _, action := range []string{"read", "append", "delete"} {
		arguments := json.RawMessage(`{"action":"` + action + `"}`)
		_, err := caller.CallTool(ctx, middleware.Call{Tool: tool, Arguments: arguments})
		fmt.Println(action, err)
	}
	// Output:
	// files/manage_files is dangerous as it stands
	// read <nil>
	// append <nil>
	// asked about {"action":"delete"}
	// delete hitl: files/manage_files was denied by the user: keep it
}
