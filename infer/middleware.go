package infer

import (
	"cmp"
	"context"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Size is how many definitions are remembered, at least 1. Zero means 4096.
	Size int
}

// New returns a middleware that classifies tools without evidence in their annotations. The call goes on with a
// copy of the tool that has a digest and the inferred annotations, over which those that the host wrote win. Any
// other tool passes unchanged, and so does one without a definition that can be written as JSON, which stays
// Unknown. Without a catalog, chain.Guard takes the class from here. New panics on a negative size.
func New(opts Options) middleware.Middleware {
	size := cmp.Or(opts.Size, 4096)
	if size < 0 {
		panic("infer: Options.Size is negative; it is how many definitions are remembered")
	}
	known, _ := lru.New[key, *classified](size) // which fails only for a size below 1
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return &caller{next: next, known: known}
	}
}

type caller struct {
	next  middleware.ToolCaller
	known *lru.Cache[key, *classified]
}

// A key names a definition by its pointer, which keeps another one from taking the same place.
type key struct {
	server     string
	definition *mcp.Tool
	digest     middleware.Digest
}

// A classified tool is what was made from the last tool with a definition.
type classified struct {
	from, to *middleware.Tool
	inferred annotation.Annotations
}

func (c *caller) Describe() middleware.Description {
	return middleware.Description{Kind: "infer", Next: c.next}
}

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if tool := call.Tool; tool != nil && tool.Definition != nil && len(tool.Annotations.Evidence) == 0 {
		if classed := c.classed(tool); classed != nil {
			call.Tool = classed
			ctx = callstate.WithClass(ctx, classed)
			callstate.Of(ctx).Classify(classed)
		}
	}
	return c.next.CallTool(ctx, call)
}

// classed returns the tool with its inferred annotations and a digest, nil if its definition cannot be written as JSON.
func (c *caller) classed(tool *middleware.Tool) *middleware.Tool {
	k := key{tool.Server, tool.Definition, tool.Digest}
	last, ok := c.known.Get(k)
	if ok && last.from == tool {
		return last.to
	}
	if !ok {
		digested := tool
		if tool.Digest == (middleware.Digest{}) {
			var err error
			if digested, err = middleware.NewTool(tool.Server, tool.Definition, annotation.Annotations{}); err != nil {
				return nil
			}
		}
		last = &classified{to: digested, inferred: named(tool.Server).infer(digested.Definition, cut(digested.Definition.Name), 0)}
	}
	to := *last.to
	to.Annotations = annotation.Merge(last.inferred, tool.Annotations)
	c.known.Add(k, &classified{from: tool, to: &to, inferred: last.inferred})
	return &to
}
