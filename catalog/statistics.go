package catalog

import (
	"errors"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Statistics are the figures of a catalog.
type Statistics struct {
	Total      int                       // tools
	ByServer   map[string]int            // tools of each server
	ByCategory map[string]int            // tools of each category; those without one are left out
	BySafety   map[annotation.Safety]int // tools of each class
	// Calls are those of all tools, and ByTool those of each that was called, also if it is gone, by "server/tool".
	Calls  Calls
	ByTool map[string]Calls
}

// Calls are the attempts that reached a server; a call that was refused, cached or not sent does not count.
type Calls struct {
	Count    int64
	Failures int64         // ended in an error, or in a result that reports one
	Unknown  int64         // the failures whose outcome is unknown
	Duration time.Duration // of all of them together
}

func (c *Calls) add(o Calls) {
	c.Count += o.Count
	c.Failures += o.Failures
	c.Unknown += o.Unknown
	c.Duration += o.Duration
}

// A meter counts calls over all lists. It holds only called tools, so no server makes it grow.
type meter struct {
	mu    sync.Mutex
	tools map[name]*Calls
}

// count counts a call when its server has returned. A call that was not sent has not reached it.
func (m *meter) count(call middleware.Call, start time.Time, res *mcp.CallToolResult, err error) {
	if err != nil && middleware.NotSent(err) {
		return
	}
	one := Calls{Count: 1, Duration: time.Since(start)}
	if err != nil || res == nil || res.IsError {
		one.Failures = 1
	}
	if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](middleware.OutcomeUnknown(call, err)); unknown {
		one.Unknown = 1
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	id := name{call.Tool.Server, call.Tool.Name()}
	if m.tools[id] == nil {
		m.tools[id] = new(Calls)
	}
	m.tools[id].add(one)
}

// Statistics counts the tools of the catalog and what it saw of their calls.
func (c *Catalog) Statistics() Statistics {
	list := c.current.Load().list
	s := Statistics{
		Total: len(list), ByServer: make(map[string]int), ByCategory: make(map[string]int),
		BySafety: make(map[annotation.Safety]int), ByTool: make(map[string]Calls),
	}
	for _, t := range list {
		s.ByServer[t.Server]++
		s.ByCategory[t.Annotations.Category]++
		s.BySafety[t.Safety()]++
	}
	delete(s.ByCategory, "")
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	for id, calls := range c.meter.tools {
		s.ByTool[id.server+"/"+id.tool] = *calls
		s.Calls.add(*calls)
	}
	return s
}
