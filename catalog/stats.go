package catalog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Statistics are the numbers of a catalogue at one moment.
type Statistics struct {
	Total      int                       // tools
	ByServer   map[string]int            // tools of each server
	ByCategory map[string]int            // tools of each category, "" for those without one
	BySafety   map[annotation.Safety]int // tools of each class
	// Calls are those of all tools, and ByTool those of each that was called, by
	// "server/tool". What was called stays in when the tool is gone.
	Calls  Calls
	ByTool map[string]Calls
}

// Calls are the attempts that reached a server: a call that is made three times
// counts three times, and one that was refused, remembered or not sent does not
// count.
type Calls struct {
	Count    int64
	Failures int64 // ended in an error, or in a result that says so
	// Unknown are the failures after which nobody knows whether the tool did what
	// it does.
	Unknown int64
	// Duration is how long all of them took together.
	Duration time.Duration
}

// Mean returns how long one call took on average, 0 where there was none.
func (c Calls) Mean() time.Duration {
	if c.Count == 0 {
		return 0
	}
	return c.Duration / time.Duration(c.Count)
}

// Statistics counts the tools of the catalogue and what it saw of their calls.
func (c *Catalog) Statistics() Statistics {
	list := c.current.Load().list
	s := Statistics{
		Total:      len(list),
		ByServer:   make(map[string]int),
		ByCategory: make(map[string]int),
		BySafety:   make(map[annotation.Safety]int),
		ByTool:     make(map[string]Calls),
	}
	for _, t := range list {
		s.ByServer[t.Server]++
		s.ByCategory[t.Annotations.Category]++
		s.BySafety[t.Safety()]++
	}
	for tool, calls := range c.meter.read {
		s.ByTool[tool.server+"/"+tool.tool] = calls
		s.Calls.Count += calls.Count
		s.Calls.Failures += calls.Failures
		s.Calls.Unknown += calls.Unknown
		s.Calls.Duration += calls.Duration
	}
	return s
}

// A meter counts calls by server and name, so that a new list of tools does not
// begin anew. It holds what was called and not what is listed: no server can make
// it grow.
type meter struct {
	mu    sync.RWMutex
	tools map[name]*counter
}

type counter struct{ count, failures, unknown, nanoseconds atomic.Int64 }

// read yields what was counted.
func (m *meter) read(yield func(name, Calls) bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for tool, n := range m.tools {
		if !yield(tool, Calls{
			Count:    n.count.Load(),
			Failures: n.failures.Load(),
			Unknown:  n.unknown.Load(),
			Duration: time.Duration(n.nanoseconds.Load()),
		}) {
			return
		}
	}
}

// of returns the counter of a tool.
func (m *meter) of(tool name) *counter {
	m.mu.RLock()
	n := m.tools[tool]
	m.mu.RUnlock()
	if n != nil {
		return n
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tools == nil {
		m.tools = make(map[name]*counter)
	}
	if m.tools[tool] == nil {
		m.tools[tool] = new(counter)
	}
	return m.tools[tool]
}

// metered counts the calls that executor makes. It stands behind the guard, which
// has something to say about nil.
func (m *meter) metered(executor middleware.ToolCaller) middleware.ToolCaller {
	if executor == nil {
		return nil
	}
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		start := time.Now()
		res, err := executor.CallTool(ctx, call)
		if middleware.NotSent(err) {
			return res, err
		}
		n := m.of(name{call.Tool.Server, call.Tool.Name()})
		n.count.Add(1)
		n.nanoseconds.Add(int64(time.Since(start)))
		if err != nil || res == nil || res.IsError {
			n.failures.Add(1)
		}
		if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](middleware.OutcomeUnknown(call, err)); unknown {
			n.unknown.Add(1)
		}
		return res, err
	})
}
