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
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tail"
	"github.com/fairlead-go/fairlead/doubt"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/redact"
)

// A Server is behind the proxy: a URL, a command that speaks MCP on its standard streams, or a stream.
type Server struct {
	Name    string
	URL     string
	Header  map[string]string // of each request to the URL
	Command []string
	Env     []string // beside the proxy's own, "NAME=value"
	Dir     string   // "" is the proxy's own
	Stderr  *tail.Tail

	// Open returns a new connection to a server in this process; nil means a URL or a command.
	Open func() (io.ReadWriteCloser, error)
	// RoundTripper sends the requests to the URL; nil means a pool of connections.
	RoundTripper http.RoundTripper
}

// Options are the settings of [New].
type Options struct {
	// Servers are those behind the proxy, at least one.
	Servers []Server
	// Policy is what a person has decided, asked again for every call; nil decides nothing.
	Policy func() *policy.Policy
	// Confirm asks a person; nil denies what needs one.
	Confirm hitl.Confirmer
	// Waits returns where a person finds the question of a call that has ended, such as "on the approvals
	// page", and "" for a call that waits until its question ends. Nil means that all wait.
	Waits func(ctx context.Context) string
	// Share changes the options of middlewares before they are made, for what replicas share; nil is none.
	Share func(*cache.Options, *ratelimit.Options, *hitl.Options)
	// Audit gets a record of each call; nil records nothing.
	Audit audit.Sink
	// Doubt keeps the calls that may have happened; nil means a ledger in memory.
	Doubt *doubt.Ledger
	// Telemetry measures calls; nil measures nothing.
	Telemetry Telemetry
	// Lock pins the tools' definitions; nil takes what is listed.
	Lock *pins.Lock
	// Trust lets the declarations of all servers lower a class; by default they only raise it.
	Trust bool
	// ReadOnly shows the Safe tools alone.
	ReadOnly bool
	// Annotate lists the tools with the hints that count here, and beside them what their servers declared;
	// the default passes definitions on as they were written.
	Annotate bool
	// Observe sends each call once and as it came, without a question, and records what would have been done. What
	// the policy denies stays denied.
	Observe bool
	// Scopes are what the clients may do; nil with the policy's unset means everything.
	Scopes []catalog.Scope
	// Access lets clients of other machines in; nil takes those of this machine alone.
	Access *access.Access
	// Page is the page of approvals, which Access serves below /approvals/; nil is none.
	Page http.Handler
	// Drain is how long calls that a server has may take to end once the proxy is to stop; 0 means none.
	Drain time.Duration
	// Stderr gets what the servers' processes write there; nil is os.Stderr.
	Stderr io.Writer
	// Logger gets the proxy's log; nil is silent.
	Logger *slog.Logger
}

// A Telemetry measures calls, attempts, and waits for a person, as contrib/otel does.
type Telemetry interface {
	Call(next middleware.ToolCaller) middleware.ToolCaller
	Attempt(next middleware.ToolCaller) middleware.ToolCaller
	Confirmer(next hitl.Confirmer) hitl.Confirmer
}

// A Proxy is a chain in front of servers, for any number of clients.
type Proxy struct {
	o       Options
	log     *slog.Logger
	explain middleware.Middleware
	late    time.Duration // after which one server is not waited for any more

	trail   *audit.Trail  // nil without a record
	tracker *flow.Tracker // of what each client's session got from where
	store   *cache.Store  // of what the servers have answered, whichever client asked
	random  string
	last    atomic.Int64

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
		o: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), random: rand.Text()[:8], late: lateAfter,
		explain: output.New(output.Options{Logger: o.Logger}), store: cache.NewStore(cache.StoreOptions{Entries: 8000}),
		tracker: flow.NewTracker(flow.Limits{}),
	}
	p.o.Servers = slices.Clone(o.Servers)
	for i := range p.o.Servers {
		p.o.Servers[i].Stderr = &tail.Tail{Out: cmp.Or[io.Writer](o.Stderr, os.Stderr)}
	}
	if o.Telemetry != nil && o.Confirm != nil {
		p.o.Confirm = o.Telemetry.Confirmer(o.Confirm)
	}
	if o.Waits == nil {
		p.o.Waits = func(context.Context) string { return "" }
	}
	if o.Policy == nil {
		none := new(policy.Policy)
		p.o.Policy = func() *policy.Policy { return none }
	}
	if o.Doubt == nil {
		p.o.Doubt = doubt.NewLedger(doubt.LedgerOptions{Logger: o.Logger})
	}
	if o.Audit != nil {
		p.trail = audit.New(o.Audit, audit.Options{Logger: o.Logger})
	}
	if _, err := p.plan().newSet(access.Caller{}); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Proxy) plan() *plan {
	now := p.o.Policy()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || p.current.policy != now {
		p.current = p.newPlan(now)
	}
	return p.current
}

// newID is an ID of a request of ours, which nobody else can guess.
func (p *Proxy) newID() json.RawMessage {
	return json.RawMessage(`"fairlead-` + p.random + "-" + strconv.FormatInt(p.last.Add(1), 10) + `"`)
}

// open opens a link to the server.
func (s Server) open(log *slog.Logger, to sink) (link, error) {
	switch {
	case s.URL != "":
		return newRemote(s, log, to), nil
	case s.Open != nil:
		return openStream(s, log, to)
	}
	return startChild(s, log, to)
}

// ServeLines serves one client, one message a line, until its input ends or ctx is done. Then no call is
// sent any more, and the answers of those that were sent are waited for, see [Options.Drain].
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
	ended := make(chan error, 1)
	go func() {
		ended <- eachMessage(in, s.fromClient, func([]byte) {
			p.log.WarnContext(ctx, "proxy: the client wrote something that is no message; it was left out")
		})
	}()
	select {
	case err = <-ended:
		if errors.Is(err, io.EOF) {
			err = nil
		}
	case <-ctx.Done():
		s.drain(p.o.Drain)
		defer time.AfterFunc(endPatience, gone).Stop()
		s.close(errStopping)
		w.finish(reading)
		return nil
	case <-s.ctx.Done():
		err = context.Cause(s.ctx)
	}
	gone()
	s.close(errClientGone)
	return err
}

// Relay connects a client, one message a line, with one server, and passes on every message as it is, until either ends
// or ctx is done. Each is shown first, one at a time in its direction. The error is about the server.
func Relay(ctx context.Context, s Server, in io.Reader, out, stderr io.Writer, log *slog.Logger, sent, received func([]byte)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.Stderr = &tail.Tail{Out: stderr}
	w := newLineWriter(out)
	defer w.stop()
	back := func(m *message) {
		received(m.encode())
		_ = w.send(context.WithoutCancel(ctx), m) // a client that has gone gets no answer
	}
	l, err := s.open(log, sink{
		message: func(m *message, _ string) { back(m) },
		failed:  func(id string, err error) { back((&message{ID: []byte(id)}).failTo(wireError(err))) },
		ended: func(err error) {
			stop(fmt.Errorf("the server %q ended before its client did: %w%s", s.Name, err, s.Stderr.LastWords()))
		},
	})
	if err != nil {
		return &UnreachableError{Server: s.Name, Err: err}
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = eachMessage(in, func(m *message) {
			sent(m.encode())
			if err := l.send(ctx, m); err != nil && m.isRequest() {
				back(m.failTo(wireError(err)))
			}
		}, func([]byte) { log.WarnContext(ctx, "the client wrote something that is no message; it was left out") })
	}()
	select {
	case <-gone:
	case <-ctx.Done():
		if err = context.Cause(ctx); errors.Is(err, context.Canceled) {
			err = nil
		}
	}
	l.close() // after which the server has answered what it had
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	w.finish(late)
	return err
}
