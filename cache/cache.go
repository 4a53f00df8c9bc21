// Package cache answers repeated reads from memory. Only calls of class Safe are
// remembered, and a write to a server ends what is known of that server.
package cache

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Entries is how many results are kept; 0 means 1,000.
	Entries int
	// Bytes is how much memory the results may take, as measured by their text
	// and data; 0 means 64 MiB. A larger result is not kept.
	Bytes int64
	// TTL is how long a result is believed; 0 means 5 minutes. A tool that was
	// declared open-world is believed for at most 30 seconds.
	TTL time.Duration
	// Idempotent names Moderate tools, as "server/tool", whose results are kept
	// too, for at most 30 seconds: the host's word that a repeated call may be
	// left out. Empty means none. A Dangerous or Unknown tool is never kept.
	Idempotent []string
	// Shared is the host's word that nobody writes to a result. A hit is then a
	// shallow copy instead of a deep one.
	Shared bool
	// Logger gets a line for each hit; nil is silent.
	Logger *slog.Logger
}

const (
	defaultEntries = 1000
	defaultBytes   = 64 << 20
	defaultTTL     = 5 * time.Minute
	shortTTL       = 30 * time.Second // open-world reads, idempotent writes
)

// New returns a middleware that remembers the results of safe calls.
//
// A result is found again by scope, server, the digest of the tool's definition
// and the canonical form of the arguments. Errors, results with IsError, results
// that ask for input and calls that answer such a request are never kept, and
// neither is anything of a tool without a digest (see [middleware.NewTool]).
// Concurrent identical reads share one call: it keeps the deadline of the one who
// came first and ends early only when all who wait for it have gone. A result that
// asks for input is one caller's exchange with the server: the others make their
// own call.
//
// Every call that is not Safe counts as a write to its server, whatever comes of
// it: while one is under way the server's reads are neither answered from memory
// nor kept, and what was known before it began is forgotten.
//
// New panics on a negative number. It starts nothing that needs closing.
func New(o Options) middleware.Middleware {
	switch {
	case o.Entries < 0:
		panic("cache: Options.Entries is negative")
	case o.Bytes < 0:
		panic("cache: Options.Bytes is negative")
	case o.TTL < 0:
		panic("cache: Options.TTL is negative")
	}
	entries := cmp.Or(o.Entries, defaultEntries)
	bytes := cmp.Or(o.Bytes, defaultBytes)
	ttl := cmp.Or(o.TTL, defaultTTL)
	clone := deepCopy
	if o.Shared {
		clone = shallowCopy
	}
	idempotent := make(map[string]bool, len(o.Idempotent))
	for _, name := range o.Idempotent {
		idempotent[name] = true
	}
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return &cacher{next: next, ttl: ttl, idempotent: idempotent, clone: clone, log: log, memory: newMemory(entries, bytes)}
	}
}

type cacher struct {
	next       middleware.ToolCaller
	ttl        time.Duration
	idempotent map[string]bool
	clone      func(*mcp.CallToolResult) *mcp.CallToolResult
	log        *slog.Logger
	memory     *memory
}

func (*cacher) Kind() string                    { return "cache" }
func (c *cacher) Unwrap() middleware.ToolCaller { return c.next }
func (*cacher) Promise(p *middleware.Promises)  { p.Remembers = true }

// Will says whether results are kept.
func (c *cacher) Will(tool *middleware.Tool) string {
	if tool == nil || c.lifetime(tool) == 0 {
		return "never cache"
	}
	return "remember"
}

func (c *cacher) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, middleware.GivenUp(ctx)
	}
	if call.Tool == nil {
		return c.next.CallTool(ctx, call)
	}
	ttl := c.lifetime(call.Tool)
	if call.Tool.Safety() != annotation.Safe {
		return c.write(ctx, call, ttl)
	}
	if !memorable(&call) {
		return c.next.CallTool(ctx, call)
	}
	return c.read(ctx, call, ttl)
}

// memorable reports whether the call can be found again: a tool without a digest
// may have another definition the next time.
func memorable(call *middleware.Call) bool {
	return call.Input == nil && len(call.Arguments) <= maxArguments && call.Tool.Digest != middleware.Digest{}
}

// lifetime is how long a result of the tool is believed, 0 for not at all.
func (c *cacher) lifetime(tool *middleware.Tool) time.Duration {
	switch tool.Safety() {
	case annotation.Safe:
		if tool.Annotations.OpenWorld == annotation.Yes && tool.Annotations.SourceOf(annotation.OpenWorldHint) != annotation.Inferred {
			return min(c.ttl, shortTTL)
		}
		return c.ttl
	case annotation.Moderate:
		if len(c.idempotent) > 0 && c.idempotent[tool.String()] {
			return min(c.ttl, shortTTL)
		}
	}
	return 0
}

// write passes a call that may change the server. What the server held before is
// forgotten when the call begins and again when it returns.
func (c *cacher) write(ctx context.Context, call middleware.Call, ttl time.Duration) (*mcp.CallToolResult, error) {
	var id key
	kept := ttl > 0 && memorable(&call)
	if kept {
		var err error
		if id, err = keyOf(&call); err != nil {
			return nil, err
		}
		if res, ok := c.memory.lookup(id, call.Tool.Server, time.Now()); ok {
			c.logHit(ctx, &call, "cache: hit")
			return c.clone(res), nil
		}
	}
	began := c.memory.beginWrite(call.Tool.Server)
	ended := false
	end := func() generation {
		ended = true
		return c.memory.endWrite(call.Tool.Server)
	}
	defer func() {
		if !ended { // a panic on its way out
			end()
		}
	}()
	res, err := c.next.CallTool(ctx, call)
	now := end()
	alone := now == began+1 // else another write may have undone what this one did
	if kept && err == nil && alone && storable(res) {
		c.memory.store(id, call.Tool.Server, now, deepCopy(res), time.Now().Add(ttl))
	}
	return res, err
}

// read answers from memory, or joins the call that is already on its way, or
// makes it.
func (c *cacher) read(ctx context.Context, call middleware.Call, ttl time.Duration) (*mcp.CallToolResult, error) {
	id, err := keyOf(&call)
	if err != nil {
		return nil, err
	}
	res, f, leads := c.memory.join(ctx, id, call.Tool.Server)
	switch {
	case res != nil:
		c.logHit(ctx, &call, "cache: hit")
		return c.clone(res), nil
	case leads:
		return c.lead(ctx, call, f, ttl)
	}
	if err := c.await(ctx, f); err != nil {
		return nil, err
	}
	switch {
	case f.err != nil:
		return nil, f.err
	case asksForInput(f.kept):
		return c.next.CallTool(ctx, call)
	}
	c.logHit(ctx, &call, "cache: joined")
	return c.clone(f.kept), nil
}

func (c *cacher) logHit(ctx context.Context, call *middleware.Call, message string) {
	if c.log.Enabled(ctx, slog.LevelDebug) {
		c.log.LogAttrs(ctx, slog.LevelDebug, message, slog.String("tool", call.Tool.String()), slog.String("class", call.Tool.Safety().String()))
	}
}

// storable reports whether a result may be kept. An empty result may be one of a
// kind that the SDK does not know, such as a task that has only begun.
func storable(res *mcp.CallToolResult) bool {
	return res != nil && !res.IsError && !asksForInput(res) && (len(res.Content) > 0 || res.StructuredContent != nil)
}

func asksForInput(res *mcp.CallToolResult) bool {
	return res.NeedsInput() || res.RequestState != "" || len(res.InputRequests) > 0
}
