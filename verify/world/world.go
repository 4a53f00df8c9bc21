// Package world holds what the simulation, the workload and the fleet share: tools of each
// kind, a server with versions, its faults, a ledger of executions, and the laws for both.
package world

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Kind is what a tool really does, the least harmful first, whatever the library makes of it.
type Kind uint8

// The kinds of tools.
const (
	Read   Kind = iota // may be cached, and repeated
	Update             // a write that may be repeated
	Add                // a write, at most once
	Delete             // at most once, and only with an approval
)

func (k Kind) String() string { return [...]string{"reads", "repeats", "writes", "asks"}[k] }

// Annotations returns what the author of such a tool declares.
func (k Kind) Annotations() annotation.Annotations {
	a := [...]func() annotation.Annotations{annotation.ReadOnly, annotation.Update, annotation.Write, annotation.Destructive}[k]()
	if k == Read {
		a.Freshness = annotation.Stable // all writes go through the chain
	}
	return a
}

// Agrees reports whether annotations give a tool of this kind its class, and are right about repeats.
func (k Kind) Agrees(a annotation.Annotations) bool {
	switch k {
	case Read:
		return a.Safety() == annotation.Safe
	case Delete:
		return a.Safety().MustConfirm() && !a.SafeToRetry()
	}
	return a.Safety() == annotation.Moderate && a.SafeToRetry() == (k == Update)
}

// Guard guards an executor of tools without a catalog: it accepts each as the call has it.
func Guard(executor middleware.ToolCaller) middleware.ToolCaller {
	return guard.New(executor, func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil })
}

// A Fault is how a server fails.
type Fault struct {
	Status int           // of HTTP; 0 for a connection that broke
	After  time.Duration // the Retry-After that it asks for
}

func (f *Fault) Error() string {
	if f.Status == 0 {
		return "connection reset"
	}
	return fmt.Sprintf("HTTP %d", f.Status)
}

// Refused reports whether nothing was done.
func (f *Fault) Refused() bool { return f.Status == 429 }

// Permanent reports whether sending the call again is useless.
func (f *Fault) Permanent() bool { return f.Status == 400 }

// RetryAfter returns After.
func (f *Fault) RetryAfter() time.Duration { return f.After }

// Wait waits for as long as something takes, or returns the error of a context that ends.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A Server has things with versions: the number of the last write to each.
type Server struct {
	Ledger *Ledger // of what it executes

	mu       sync.Mutex
	writes   int64
	versions map[string]int64
}

// Execute has the effect of a call of a kind on some things, or on all of the server, and returns
// their version then. It calls work before and after that, unless nil.
func (s *Server) Execute(call string, kind Kind, work func(), things ...string) int64 {
	e := Execution{Call: call, Kind: kind, Things: things, Began: time.Now()}
	if work == nil {
		work = func() {}
	}
	work()
	s.mu.Lock()
	if kind != Read {
		if s.versions == nil {
			s.versions = make(map[string]int64)
		}
		s.writes++
		for _, thing := range things {
			s.versions[thing] = s.writes
		}
	}
	version := s.version(things)
	s.mu.Unlock()
	work()
	s.Ledger.add(e)
	return version
}

// Version returns the version of some things, or of all: each write to one of them raises it.
func (s *Server) Version(things ...string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version(things)
}

func (s *Server) version(things []string) (latest int64) {
	if len(things) == 0 {
		return s.writes
	}
	for _, thing := range things {
		latest = max(latest, s.versions[thing])
	}
	return latest
}

// Result is the answer of a server.
func Result(version int64) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strconv.FormatInt(version, 10)}}}
}

// VersionOf reads the version from an answer.
func VersionOf(res *mcp.CallToolResult) (int64, error) {
	if len(res.Content) == 1 {
		if text, ok := res.Content[0].(*mcp.TextContent); ok {
			return strconv.ParseInt(text.Text, 10, 64)
		}
	}
	return 0, fmt.Errorf("an answer that no server gives: %v", res.Content)
}

// An Execution is a line of the ledger.
type Execution struct {
	Call   string
	Kind   Kind
	Things []string // none for all
	Began  time.Time
}

// A Ledger is what servers executed.
type Ledger struct {
	mu  sync.Mutex
	all []Execution
}

func (l *Ledger) add(e Execution) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
}

// All returns a copy of the ledger.
func (l *Ledger) All() []Execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// Times returns how often a call was executed.
func (l *Ledger) Times(call string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.all {
		if e.Call == call {
			n++
		}
	}
	return n
}
