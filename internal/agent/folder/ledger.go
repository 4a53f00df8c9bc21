package folder

import (
	"context"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An Effect is what one call, told apart by its tool and arguments, did.
type Effect struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	// Runs is how often the tool was executed for it, and Times how often that
	// changed something. A tool that refuses runs without an effect.
	Runs  int `json:"runs"`
	Times int `json:"times"`
}

// reads are the tools that change nothing; the ledger leaves them out.
var reads = []string{"list_files", "read_file", "search_text", "hash_files"}

// ledger remembers every execution of a tool that changes something. It stands
// inside the faults, so an answer that gets lost is written down all the same.
type ledger struct {
	mu      sync.Mutex
	effects []*Effect
}

func (l *ledger) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok || slices.Contains(reads, call.Params.Name) {
			return next(ctx, method, req)
		}
		e := l.entry(call.Params.Name, string(call.Params.Arguments))
		res, err := next(ctx, method, req)
		l.mu.Lock()
		defer l.mu.Unlock()
		e.Runs++
		if r, ok := res.(*mcp.CallToolResult); err == nil && ok && !r.IsError {
			e.Times++
		}
		return res, err
	}
}

func (l *ledger) entry(tool, arguments string) *Effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.effects {
		if e.Tool == tool && e.Arguments == arguments {
			return e
		}
	}
	e := &Effect{Tool: tool, Arguments: arguments}
	l.effects = append(l.effects, e)
	return e
}

func (l *ledger) list() []Effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Effect, 0, len(l.effects))
	for _, e := range l.effects {
		out = append(out, *e)
	}
	return out
}
