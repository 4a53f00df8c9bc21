// Package proxy is a chain between MCP clients and servers. Only tools/list and tools/call go through
// it; everything else passes.
package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/cmd/fairlead/health"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tail"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/retry/doubt"
)

// A Proxy is a chain in front of servers, for any number of clients. A client with a session has processes
// and connections of its own; cached results, rate limits and calls in doubt are shared by all. It is safe for
// concurrent use.
type Proxy struct {
	o       Options
	log     *slog.Logger
	explain middleware.Middleware
	late    time.Duration // after which one server is not waited for any more

	// Of each server a session keeps maxTasks tasks, and reads maxListed bytes of the pages of one list.
	maxTasks, maxListed int

	trail   *audit.Trail  // nil without a record
	tracker *flow.Tracker // of what each client's session got from where
	store   *cache.Store  // of what the servers have answered, whichever client asked
	room    *room         // of what the servers send

	decided atomic.Int64 // how often a policy was asked about a call
	asked   atomic.Int64 // questions that wait for a person now
	turned  turnedAway
	front   atomic.Pointer[front] // nil unless clients are served over HTTP

	mu      sync.Mutex
	current *plan
}

// An UnreachableError is returned for a server that cannot be reached or started.
type UnreachableError struct {
	Server string
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the server %q cannot be reached: %v", e.Server, redact.Error(e.Err)) // it may hold the server's last words
}

// Unwrap returns what was wrong.
func (e *UnreachableError) Unwrap() error { return e.Err }

// ballast counts as memory in use, so that the process of a proxy, which holds little, collects garbage at
// each 20 MB and not at each 4. Nothing is written to it, so that it takes no memory itself.
var ballast = sync.OnceValue(func() []byte { return make([]byte, 16<<20) })

// New returns a proxy. No server is started before there is a client.
func New(o Options) (*Proxy, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("proxy: name a server")
	}
	ballast()
	p := &Proxy{
		o: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), late: lateAfter, maxTasks: maxTasks, maxListed: maxListed,
		explain: output.New(output.Options{Logger: o.Logger}), store: cache.NewStore(cache.StoreOptions{Entries: 8000}),
		tracker: flow.NewTracker(flow.Limits{Total: int(min(mostFlow, roomOf(0)))}), room: newRoom(roomOf(o.InFlight)),
	}
	p.o.Servers = slices.Clone(o.Servers)
	for i := range p.o.Servers {
		p.o.Servers[i].Stderr = &tail.Tail{Out: cmp.Or[io.Writer](o.Stderr, os.Stderr), Mark: safetext.Word(p.o.Servers[i].Name, 40) + " | "}
	}
	if o.Confirm != nil {
		p.o.Confirm = p.counted(present(o.Confirm))
	}
	if o.Telemetry != nil && o.Confirm != nil {
		p.o.Confirm = o.Telemetry.Confirmer(p.o.Confirm)
	}
	if o.Waits == nil {
		p.o.Waits = func(context.Context) string { return "" }
	}
	if o.Policy == nil {
		none := new(policy.Policy)
		p.o.Policy = func() *policy.Policy { return none }
	}
	if o.Health == nil {
		p.o.Health = health.New(o.Logger)
	}
	if o.Doubt == nil {
		p.o.Doubt = doubt.NewLedger(doubt.LedgerOptions{Logger: o.Logger})
	}
	if o.Audit != nil {
		p.trail = audit.New(o.Audit, audit.Options{Caller: callerOf, Logger: o.Logger})
	}
	if _, err := p.plan().newSet(access.Caller{}); err != nil {
		return nil, err
	}
	return p, nil
}

// plan returns the plan of the policy as it is now. It is made anew if the policy has changed.
func (p *Proxy) plan() *plan {
	now := p.o.Policy()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || p.current.policy != now {
		p.current = p.newPlan(now)
	}
	return p.current
}

// idPrefix is how the IDs of our requests begin.
const idPrefix = "fairlead-"

// newID returns an ID for a request of ours, which no client or server can guess, not from earlier ones either.
func newID() json.RawMessage {
	id := make(json.RawMessage, 0, 48)
	return append(append(append(id, `"`+idPrefix...), rand.Text()...), '"')
}

// ServeLines serves one client, one message a line, until its input ends or ctx is done. What was read before the end of
// the input is answered first, except for what needs an answer of the client's; after ctx is done, no call is sent any
// more, and the answers of those that were sent are waited for. Both take [Options.Drain] at most.
func (p *Proxy) ServeLines(ctx context.Context, in io.Reader, out io.Writer) error {
	w := newLineWriter(out)
	defer w.stop()
	reading, gone := context.WithCancel(context.WithoutCancel(ctx)) // what waits for a client that does not read would wait for ever
	defer gone()
	s, err := p.newSession("", access.Caller{}, func(m *message, _ string) {
		_ = w.send(reading, m) // a client that has gone gets no answer
	})
	if err != nil {
		return err
	}
	s.numbers = true
	ended := make(chan error, 1)
	go func() {
		ended <- eachMessage(in, unbounded, s.fromClient, func([]byte) {
			p.log.WarnContext(ctx, "proxy: the client wrote something that is not a message; it was left out")
		})
	}()
	select {
	case err = <-ended:
		if errors.Is(err, io.EOF) {
			err = nil
		}
		s.finish(ctx, p.o.Drain)
	case <-ctx.Done():
		s.drain(p.o.Drain)
	case <-s.ctx.Done():
		gone()
		s.close(errClientGone)
		return context.Cause(s.ctx)
	}
	defer time.AfterFunc(endPatience, gone).Stop()
	s.close(errStopping)
	w.finish(reading)
	return err
}
