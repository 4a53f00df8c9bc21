// Package output decides how much of an answer the model sees. It is the outermost
// link of a chain: what is remembered and recorded further in is whole, and a Go
// error is an error there; only here it becomes a result that the model can read.
//
// An answer that is too long is cut so that its JSON stays valid, its output schema
// stays satisfied and its cursor goes on where the cut was. Members outside the output
// schema are stripped, and what is for the user alone is withheld from the model.
package output

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/schema"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Limit is the most that a model sees of one answer, in characters (Unicode's code
	// points): all the texts of its content together, and by itself the structured
	// content, since a host shows a model the one or the other. Images and sounds do not
	// count. 0 means 25,000.
	Limit int
	// Paging says, by "server/tool", how a tool that lists something is asked for the
	// rest, so that a cut answer can be read on. Empty means that the answer says how
	// much is missing and offers no way to it.
	Paging map[string]Paging
	// Fallback is what the model reads where a tool failed and the error has nothing to
	// say to a model. Nil, and "", mean a sentence that names the tool and what can be
	// tried. The error's own text never reaches the model.
	Fallback func(tool *middleware.Tool) string
	// KeepUnnamed says of which tools the members stay that the output schema allows
	// (additionalProperties: true, or nothing said of it) and does not name. Nil means
	// of none.
	KeepUnnamed func(tool *middleware.Tool) bool
	// ForUser is handed what an answer holds for the user and not for the model. It
	// only reads. Nil means that nobody sees it.
	ForUser func(ctx context.Context, call middleware.Call, contents []mcp.Content)
	// Fence says of which tools the answer is put between two lines that tell the model
	// that it is data. What stands between cannot forge them, and structured content that
	// no text says stands there as one text more. Nil means of none.
	Fence func(tool *middleware.Tool) bool
	// Logger gets what the model does not: why a call failed, and what was withheld; nil
	// is silent.
	Logger *slog.Logger
}

const (
	defaultLimit = 25_000
	leastLimit   = 1000 // room for the marks and a few words
	maxPromises  = 1024 // output schemas that are kept ready
)

// New returns the middleware. Put it outside all others.
//
// Every error and every panic becomes a result with IsError set, save where ctx is
// done: then nobody waits for a result, and the error is returned as it is. What
// such an error would say to a model, [middleware.ForModel] tells. A result that asks
// for input passes, without content, since it is no answer yet; and so does an error
// that asks for it ([middleware.InputRequired]), for the edge that can put it on the wire.
//
// New panics where Limit is too small to say anything in, or a Paging is not usable.
func New(opts Options) middleware.Middleware {
	if opts.Limit != 0 && opts.Limit < leastLimit {
		panic(fmt.Sprintf("output: Options.Limit is %d; it must be at least %d, or 0", opts.Limit, leastLimit))
	}
	opts.Limit = min(cmp.Or(opts.Limit, defaultLimit), math.MaxInt/2) // room to add to
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	pagers := make(map[string]*pager, len(opts.Paging))
	for tool, p := range opts.Paging {
		pagers[tool] = newPager(tool, p)
	}
	promises, err := lru.New[middleware.Digest, promise](maxPromises)
	if err != nil {
		panic("output: " + err.Error()) // only for a size below 1
	}
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return &caller{Options: opts, next: next, pagers: pagers, promises: promises}
	}
}

type caller struct {
	Options

	next     middleware.ToolCaller
	pagers   map[string]*pager
	promises *lru.Cache[middleware.Digest, promise] // safe for concurrent use
}

// Describe implements [middleware.Describer].
func (c *caller) Describe() middleware.Description {
	return middleware.Description{Kind: "output", Next: c.next}
}

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	var pages *pager
	if len(c.pagers) > 0 {
		pages = c.pagers[call.Tool.String()]
	}
	inner, page, err := pages.begin(call)
	if err != nil {
		return c.failed(ctx, call, err), nil
	}
	inside, state := callstate.Ensure(ctx)
	res, err := fault.Call(inside, c.next, inner, func() *middleware.Tool { return state.Tool(inner.Tool) })
	call.Tool = state.Tool(call.Tool) // as further in
	_, _, asks := fault.InputRequired(err)
	switch {
	case err != nil && (asks || ctx.Err() != nil):
		return nil, err
	case err != nil:
		return c.failed(ctx, call, err), nil
	case res.NeedsInput():
		return question(res), nil
	}
	shown, err := c.present(ctx, call, page, res)
	if err != nil {
		return c.failed(ctx, call, err), nil
	}
	return shown, nil
}

// question returns a request for input without what is no part of one: content that
// nobody has cut or checked.
func question(res *mcp.CallToolResult) *mcp.CallToolResult {
	if len(res.Content) == 0 && res.StructuredContent == nil {
		return res
	}
	out := *res
	out.Content, out.StructuredContent = []mcp.Content{}, nil
	return &out
}

// present returns what the model sees of a result, which it does not write to.
func (c *caller) present(ctx context.Context, call middleware.Call, page *page, res *mcp.CallToolResult) (_ *mcp.CallToolResult, err error) {
	defer func() {
		if v := recover(); v != nil { // in a func of the host's
			err = withheld(call.Tool, "could not be prepared",
				&fault.PanicError{Tool: call.Tool, Value: v, Stack: debug.Stack()})
		}
	}()
	a := answer{limit: c.Limit, call: call, res: res, page: page}
	if a.contract, err = c.contract(call.Tool); err != nil {
		return nil, withheld(call.Tool, "cannot be checked", err)
	}
	if a.contract != nil {
		a.shape = a.contract.Shape()
		a.keepUnnamed = c.KeepUnnamed != nil && c.KeepUnnamed(call.Tool)
	}
	contents, others, _ := forRole(res.Content, "assistant", annotationsOf)
	moved := !slices.Equal(contents, res.Content)
	if len(others) > 0 && c.ForUser != nil {
		c.ForUser(ctx, call, others)
	}
	fenced := c.Fence != nil && c.Fence(call.Tool)
	if fenced {
		a.open, a.end = fence(call.Tool)
	}
	out, err := a.shown(contents, moved || fenced)
	if err == nil && a.dropped > 0 {
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "output: parts of an answer were withheld, since they do not keep to its output schema",
			slog.String("tool", call.Tool.String()), slog.Int("parts", a.dropped))
	}
	return out, err
}

// A promise is an output schema that was read, or why it is not usable.
type promise struct {
	contract *schema.Contract
	err      error
}

// contract returns what the tool promises, nil where it promises nothing.
func (c *caller) contract(tool *middleware.Tool) (*schema.Contract, error) {
	if tool == nil || tool.Definition == nil || tool.Definition.OutputSchema == nil {
		return nil, nil //nolint:nilnil // many tools promise nothing
	}
	known, ok := c.promises.Get(tool.Digest)
	if !ok {
		if known.contract, known.err = schema.ReadContract(tool.Definition.OutputSchema); known.err != nil {
			known.err = fmt.Errorf("the output schema is not usable: %w", known.err)
		}
		if tool.Digest != (middleware.Digest{}) {
			c.promises.Add(tool.Digest, known)
		}
	}
	return known.contract, known.err
}
