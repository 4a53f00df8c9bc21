package mount

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Connect connects to a server as host, and adds its tools to the catalog under the id that the host gives the server:
//
//	session, err := mount.Connect(ctx, tools, "files", host, &mcp.CommandTransport{Command: command})
//
// It prepares the client by [Options] and the transport by [Transport]. Use those two, and [catalog.Catalog.Add], only
// for a client that has options of its own, or that [Client] puts a chain beneath.
//
// The session stays open until the caller closes it. After an error there is none, and nothing of the server was added.
func Connect(ctx context.Context, tools *catalog.Catalog, server string, host *mcp.Implementation, t mcp.Transport) (*mcp.ClientSession, error) {
	switch {
	case tools == nil:
		panic("mount: Connect was given a nil catalog")
	case host == nil:
		panic("mount: Connect was given no name of the host; want an *mcp.Implementation")
	case t == nil:
		panic("mount: Connect was given a nil transport")
	}
	session, err := mcp.NewClient(host, Options(tools, nil)).Connect(ctx, Transport(t), nil)
	if err != nil {
		return nil, fmt.Errorf("mount: cannot connect to the server %q: %w; check that it runs and that it is an MCP server", server, err)
	}
	if err := tools.Add(ctx, server, session); err != nil {
		_ = session.Close() // the caller learns why it is of no use
		return nil, err
	}
	return session, nil
}

// Options prepares the options of a client whose sessions the catalog lists, before the client is made:
//
//	client := mcp.NewClient(impl, mount.Options(tools, nil))
//
// With them the catalog lists changed tools again. The host's own ToolListChangedHandler is called as before.
// The options given are not changed; nil means no options.
func Options(tools *catalog.Catalog, own *mcp.ClientOptions) *mcp.ClientOptions {
	if tools == nil {
		panic("mount: Options was given a nil catalog")
	}
	o := *cmp.Or(own, &mcp.ClientOptions{})
	first, then := tools.Watch(), o.ToolListChangedHandler
	o.ToolListChangedHandler = func(ctx context.Context, req *mcp.ToolListChangedRequest) {
		first(ctx, req)
		if then != nil {
			then(ctx, req)
		}
	}
	return &o
}
