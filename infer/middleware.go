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

const defaultSize = 4096

// New returns a middleware that gives a class to a tool that nobody has classed:
// one whose annotations carry no evidence. The call goes on with a copy of the
// tool that has a digest and the inferred annotations; what the host wrote by
// hand wins over them. A tool that carries evidence, as every tool of a catalogue
// does, passes untouched, and so does a call without a tool or with a definition
// that cannot be written as JSON: they stay Unknown.
//
// It is where chain.Guard has the class from when there is no catalogue. A
// negative size is a mistake in the program, and New panics.
func New(opts Options) middleware.Middleware {
	size := cmp.Or(opts.Size, defaultSize)
	if size < 0 {
		panic("infer: Options.Size is negative; it is how many definitions are remembered")
	}
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		known, _ := lru.New[key, *classified](size) // which fails only for a size below 1
		return &caller{next: next, known: known}
	}
}

// A caller remembers what it inferred of each definition.
type caller struct {
	next  middleware.ToolCaller
	known *lru.Cache[key, *classified]
}

// A key names a definition. It holds the pointer, so that no other definition
// can come to stand at the same place while it is remembered.
type key struct {
	server     string
	definition *mcp.Tool
	digest     middleware.Digest
}

// A classified tool is what was made from the last tool that came with a
// definition, since a host mostly hands in the same one again.
type classified struct {
	from, to *middleware.Tool
	inferred annotation.Annotations
}

// Describe implements [middleware.Describer].
func (c *caller) Describe() middleware.Description {
	return middleware.Description{Kind: "infer", Next: c.next}
}

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if tool := call.Tool; tool != nil && tool.Definition != nil && len(tool.Annotations.Evidence) == 0 {
		if classed := c.classed(tool); classed != nil {
			call.Tool = classed
			ctx = callstate.WithClass(ctx, classed)
			callstate.Of(ctx).Classified(classed)
		}
	}
	return c.next.CallTool(ctx, call)
}

// classed returns a copy of the tool with a class and a digest, or nil.
func (c *caller) classed(tool *middleware.Tool) *middleware.Tool {
	k := key{tool.Server, tool.Definition, tool.Digest}
	last, ok := c.known.Get(k)
	if ok && last.from == tool {
		return last.to
	}
	if !ok {
		if last = fresh(tool); last == nil {
			return nil
		}
	}
	to := *last.to
	to.Annotations = annotation.Merge(last.inferred, tool.Annotations)
	c.known.Add(k, &classified{from: tool, to: &to, inferred: last.inferred})
	return &to
}

// fresh infers a definition, and gives it a digest if it has none.
func fresh(tool *middleware.Tool) *classified {
	to := tool
	if tool.Digest == (middleware.Digest{}) {
		digested, err := middleware.NewTool(tool.Server, tool.Definition, annotation.Annotations{})
		if err != nil {
			return nil
		}
		to = digested
	}
	return &classified{to: to, inferred: Tool(to.Definition)}
}
