// Package world holds what the simulation, the workload and the fleet share: tools of each
// kind, a server with versions, its faults, a ledger of executions, and the laws for both.
package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/testtool"
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

// itemKinds are those of the tools of a server of items.
var itemKinds = map[string]Kind{"get": Read, "list": Read, "put": Add, "delete": Delete}

// ItemEntities is the value of cache.Options.Entities for these tools.
var ItemEntities = map[string][]string{"ledger/get": {"id"}, "ledger/put": {"id"}, "ledger/delete": {"id"}}

// A Request is a call of such a tool as the server has it.
type Request struct {
	Call   string
	Kind   Kind
	Things []string // the items that it is about, none for all
}

// RequestOf reads a call.
func RequestOf(call middleware.Call) (Request, error) {
	var arguments struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
		return Request{}, err
	}
	r := Request{Call: call.ID, Kind: itemKinds[call.Tool.Name()]}
	if arguments.ID != "" {
		r.Things = []string{arguments.ID}
	}
	return r, nil
}

// CallItem calls a tool of a server of items within a time: "get", "list", "put" or "delete". A note makes the
// arguments differ from those of other calls.
func CallItem(ctx context.Context, caller middleware.ToolCaller, id, name, item, note string, within time.Duration) Event {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	arguments := map[string]string{}
	if name != "list" {
		arguments["id"] = item
	} else {
		item = ""
	}
	if note != "" {
		arguments["note"] = note
	}
	form, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // texts only
	}
	kind := itemKinds[name]
	tool := testtool.Of("ledger", &mcp.Tool{Name: name}, kind.Annotations())
	e := Event{Call: id, Kind: kind, Item: item, Began: time.Now()}
	res, err := caller.CallTool(ctx, middleware.Call{ID: id, Tool: tool, Arguments: form, Meta: mcp.Meta{"traceparent": id}})
	e.Ended = time.Now()
	if err == nil {
		if e.Version, err = VersionOf(res); err == nil {
			res.Content[0].(*mcp.TextContent).Text = "-1" // it is the caller's own
		}
	}
	if err != nil {
		e.Err, e.Denied, e.NotSent = err.Error(), errors.Is(err, hitl.ErrDenied), middleware.NotSent(err)
	}
	return e
}

// denied reports whether the person denies a call, by its id.
func denied(call string) bool { return strings.HasSuffix(call, Deny) }

// Deny is the suffix of the ids of calls that Decide denies.
const Deny = "-no"

// Decide answers as a person that approves all other calls.
func Decide(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	if denied(r.CallID) {
		return hitl.Decision{}, nil
	}
	return hitl.Decision{Verdict: hitl.Approved, By: "the world"}, nil
}

// An Event is a call of the items' tools, as its caller saw it.
type Event struct {
	Call         string
	Kind         Kind
	Item         string // empty for all
	Version      int64
	Began, Ended time.Time
	Denied       bool   `json:",omitempty"`
	NotSent      bool   `json:",omitempty"`
	Err          string `json:",omitempty"`
}

// Reads reports the reads that are older than a write that was over before they began.
func Reads(events []Event) (broken []string) {
	var writes []*Event
	for i := range events {
		if e := &events[i]; e.Version > 0 && e.Kind != Read {
			writes = append(writes, e)
		}
	}
	for _, e := range events {
		if e.Err != "" || e.Kind != Read {
			continue
		}
		newest := &e
		for _, w := range writes {
			if (e.Item == "" || w.Item == e.Item) && w.Ended.Before(e.Began) && w.Version > newest.Version {
				newest = w
			}
		}
		if newest != &e {
			broken = append(broken, fmt.Sprintf("I4: the read %s of %q is of write %d, and %d was over %v before it began", e.Call, e.Item, e.Version, newest.Version, e.Began.Sub(newest.Ended)))
		}
	}
	return broken
}

// Writes reports executions that were twice, unapproved, or denied by their error.
func Writes(events []Event, ledger []Execution) (broken []string) {
	bad := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	times := make(map[string]int)
	for _, x := range ledger {
		if x.Kind == Read {
			continue
		}
		if times[x.Call]++; times[x.Call] == 2 {
			bad("I2: %s, which %v, was executed twice", x.Call, x.Kind)
		}
		if denied(x.Call) {
			bad("I1: %s was executed, which was denied", x.Call)
		}
	}
	for _, e := range events {
		if (e.Denied || e.NotSent) && times[e.Call] > 0 {
			bad("I2: %s was executed, and its error reports that it was not: %s", e.Call, e.Err)
		}
		if e.Kind == Delete && e.Err == "" && times[e.Call] != 1 {
			bad("I6: %s succeeded and was executed %d times", e.Call, times[e.Call])
		}
	}
	return broken
}

// Again returns how many of the items that begin with a prefix were fetched more than once.
func Again(ledger []Execution, prefix string) (n int) {
	times := make(map[string]int)
	for _, x := range ledger {
		if x.Kind == Read && len(x.Things) == 1 && strings.HasPrefix(x.Things[0], prefix) {
			if times[x.Things[0]]++; times[x.Things[0]] == 2 {
				n++
			}
		}
	}
	return n
}

// Peak returns the most calls that any stretch of time has beyond the rate, as a leaky bucket.
func Peak(ledger []Execution, perMinute float64) (most float64) {
	ledger = slices.SortedFunc(slices.Values(ledger), func(a, b Execution) int { return a.Began.Compare(b.Began) })
	level, last := 0.0, time.Time{}
	for _, x := range ledger {
		level = max(0, level-x.Began.Sub(last).Seconds()*perMinute/60) + 1
		most, last = max(most, level), x.Began
	}
	return most
}
