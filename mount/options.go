package mount

import (
	"context"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options prepares the options of a client whose sessions the catalogue lists,
// before the client is made:
//
//	client := mcp.NewClient(impl, mount.Options(tools, nil))
//
// With them the catalogue hears when a server's tools have changed, and lists them
// again by itself. The host's own ToolListChangedHandler is called as before. The
// options given are not written to; nil is none.
func Options(tools *catalog.Catalog, own *mcp.ClientOptions) *mcp.ClientOptions {
	if tools == nil {
		panic("mount: Options was given a nil catalogue")
	}
	var o mcp.ClientOptions
	if own != nil {
		o = *own
	}
	first, then := tools.Watch(), o.ToolListChangedHandler
	o.ToolListChangedHandler = func(ctx context.Context, req *mcp.ToolListChangedRequest) {
		first(ctx, req)
		if then != nil {
			then(ctx, req)
		}
	}
	return &o
}
