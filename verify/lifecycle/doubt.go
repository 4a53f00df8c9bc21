package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A doubtScenario is a number of calls with one effect, each by the replica that makes it, and how often something may
// happen. The middlewares are the real ones of package doubt; each operation on the store, each execution and each
// answer is a step, and the steps of all calls are tried in every order.
type doubtScenario struct {
	name      string
	replicas  []int
	dangerous bool // so that a person is asked about each call
	lose      int  // answers of the server
	crash     int  // replicas, which start again
	fail      int  // operations on the store
	long      bool // it takes seconds: the command does it, and the test with FAIRLEAD_LONG
}

var doubtScenarios = []doubtScenario{
	{name: "doubt: two calls at two replicas, a lost replica and lost answers", replicas: []int{0, 1}, lose: 2, crash: 1},
	{name: "doubt: three calls, two at one time, with a lost answer", replicas: []int{0, 0, 1}, lose: 1, long: true},
	{name: "doubt: a replica that starts again, and a lost one", replicas: []int{0, 1, 0}, crash: 1, long: true},
	{name: "doubt: two calls, a store that fails, a lost replica and a lost answer", replicas: []int{0, 1}, lose: 1, crash: 1, fail: 1},
	{name: "doubt: two calls, and a store that fails twice", replicas: []int{0, 1}, lose: 2, fail: 2},
	{name: "doubt: three calls at two replicas, with lost answers", replicas: []int{0, 1, 1}, lose: 2, long: true},
	{name: "doubt: three dangerous calls at two replicas, a lost replica and a lost answer", replicas: []int{0, 1, 0}, lose: 1, crash: 1, dangerous: true, long: true},
	{name: "doubt: three calls at two replicas, a lost replica and lost answers", replicas: []int{0, 1, 1}, lose: 2, crash: 1, long: true},
	{name: "doubt: both replicas are lost, one after the other", replicas: []int{0, 1, 0}, crash: 2, long: true},
	{name: "doubt: two calls of one replica, and a store that fails twice", replicas: []int{0, 0}, lose: 2, fail: 2, long: true},
}

// A move is one step of a run: of a call, or the loss of a replica.
type move struct {
	what string
	who  int
	how  outcome
}

func (m move) String() string {
	how := map[outcome]string{ok: "", fails: " fails", unheard: " is made and not heard"}[m.how]
	if m.what == "is lost" {
		return fmt.Sprint("replica ", m.who, " is lost")
	}
	return fmt.Sprint("call ", m.who, ": ", m.what, how)
}

// The steps of a call.
const (
	begins    = "begins"
	executes  = "the server executes it"
	isHeard   = "the server's answer"
	looks     = "it looks for a doubt"
	enters    = "it is entered"
	tells     = "it is marked as held"
	removes   = "it is removed"
	hasEnded  = "has ended"
	isNotMade = "" // yet
)

// A client makes one call.
type client struct {
	replica, process int // of the replicas, and of all processes

	at      string // the step that is next
	dead    bool   // its process is lost
	resume  chan outcome
	paused  chan struct{}
	history []byte // all that it has learned
	err     error

	// What is true of the call, in steps of the run; 0 for never.
	began, entered, executed, returned int
	asked                              bool // a person, about a call in doubt
	heard                              bool // its process has the server's answer
	doubtful                           bool // its outcome is unknown for good
	cleared                            int  // a person has had it made again, and that is over
	clears                             []*client
}

// A doubtRun is one run of a scenario up to some step.
type doubtRun struct {
	doubtScenario

	store    *doubt.Memory
	clients  []*client
	callers  [2]middleware.ToolCaller
	process  [2]int
	started  int // processes
	now      *client
	step     int
	owner    map[string]int // of the keys of entries
	failed   bool           // the store
	merged   [2][]byte      // what each process has seen, in its order
	problems error
}

var errLost = errors.New("the connection was lost")

func (s doubtScenario) start() *doubtRun {
	r := &doubtRun{doubtScenario: s, store: doubt.NewMemory(), owner: make(map[string]int)}
	for replica := range r.callers {
		r.startProcess(replica)
	}
	for _, replica := range s.replicas {
		r.clients = append(r.clients, &client{replica: replica, resume: make(chan outcome), paused: make(chan struct{})})
	}
	return r
}

// startProcess starts a replica, or starts it again.
func (r *doubtRun) startProcess(replica int) {
	r.started++
	r.process[replica] = r.started
	o := doubt.Options{Ledger: doubt.NewLedger(doubt.LedgerOptions{Store: stepped{r}})}
	person := hitl.ConfirmerFunc(func(_ context.Context, q hitl.Request) (hitl.Decision, error) {
		r.now.asked = r.now.asked || !q.InDoubt.IsZero()
		return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
	})
	server := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		if r.at(executes) != ok || r.at(isHeard) != ok {
			return nil, errLost
		}
		return &mcp.CallToolResult{}, nil
	})
	r.callers[replica] = chain.Standard{
		Doubt: doubt.New(o), Confirm: hitl.New(person, hitl.Options{}), PerCall: []middleware.Middleware{doubt.Intent(o)},
	}.Then(guard.New(server, func(context.Context, middleware.Call) (*middleware.Tool, error) { return r.tool(), nil }))
}

var effects = map[bool]*middleware.Tool{false: orderTool(annotation.Write()), true: orderTool(annotation.Destructive())}

func orderTool(class annotation.Annotations) *middleware.Tool {
	tool, err := middleware.NewTool("shop", &mcp.Tool{Name: "order", InputSchema: map[string]any{"type": "object"}}, class.Attribute(annotation.Host, ""))
	if err != nil {
		panic(err)
	}
	return tool
}

func (r *doubtRun) tool() *middleware.Tool { return effects[r.dangerous] }

// at waits at a step of the call that runs until its turn comes. Nothing that a lost process does has an effect.
func (r *doubtRun) at(step string) outcome {
	c := r.now
	if c.dead {
		return fails
	}
	c.at = step
	c.paused <- struct{}{}
	how := <-c.resume
	if c.dead {
		return fails
	}
	r.notes(c, step, how.String())
	return how
}

// notes records what a call has learned.
func (r *doubtRun) notes(c *client, what ...string) {
	c.history = appendText(c.history, what...)
	r.merged[c.replica] = appendText(append(r.merged[c.replica], byte(slices.Index(r.clients, c))), what...)
}

func (o outcome) String() string { return [...]string{"ok", "fails", "unheard"}[o] }

// do makes one move.
func (r *doubtRun) do(m move) error {
	r.step++
	if m.what == "is lost" {
		r.crash--
		r.loses(m.who)
		return r.problems
	}
	c := r.clients[m.who]
	r.now = c
	switch m.what {
	case begins:
		c.began, c.process = r.step, r.process[c.replica]
		go r.call(c)
		<-c.paused
		return r.problems
	case executes:
		r.executes(c)
	case isHeard:
		if m.how != ok {
			r.lose--
		}
		c.heard, c.doubtful = m.how == ok, m.how != ok
	default:
		if m.how != ok {
			r.fail--
			r.failed = true
		}
	}
	c.resume <- m.how
	<-c.paused
	return r.problems
}

// call makes a call to its end.
func (r *doubtRun) call(c *client) {
	_, err := r.callers[c.replica].CallTool(context.Background(), middleware.Call{Tool: r.tool(), Scope: "ann", Arguments: json.RawMessage(`{"n":1}`)})
	c.err, c.at = err, hasEnded
	if !c.dead {
		c.returned = r.step
		r.ends(c)
	}
	c.paused <- struct{}{}
}

// loses has a process end, and the replica start again.
func (r *doubtRun) loses(replica int) {
	for _, c := range r.clients {
		if c.process != r.process[replica] || c.at == hasEnded || c.at == isNotMade {
			continue
		}
		c.dead, c.doubtful = true, c.doubtful || c.entered > 0 && !c.heard
		r.now = c
		c.resume <- fails
		<-c.paused
	}
	r.merged[replica] = nil
	r.startProcess(replica)
}

// stop ends all goroutines of the run.
func (r *doubtRun) stop() {
	for _, c := range r.clients {
		if c.at != hasEnded && c.at != isNotMade {
			c.dead = true
			r.now = c
			c.resume <- fails
			<-c.paused
		}
	}
}

func (r *doubtRun) wrong(c *client, what string) {
	if r.problems == nil {
		r.problems = fmt.Errorf("%s: call %d of replica %d", what, slices.Index(r.clients, c), c.replica)
	}
}

// executes checks that a call may be executed: it does not repeat one that may have happened, unless a person was asked
// about that. Calls of one process at the same time do not hold each other.
func (r *doubtRun) executes(c *client) {
	if c.executed > 0 {
		r.wrong(c, "executed twice")
	}
	c.executed = r.step
	for _, other := range r.clients {
		if other == c || !other.doubtful || other.cleared > 0 {
			continue
		}
		since := other.entered
		if other.process == c.process {
			since = other.returned
		}
		switch {
		case c.asked:
			c.clears = append(c.clears, other)
		case since > 0 && c.began > since:
			r.wrong(c, "executed, though another one may have happened")
		}
	}
	if c.entered == 0 {
		r.wrong(c, "executed without an entry, which others would find")
	}
}

// ends checks what came of a call.
func (r *doubtRun) ends(c *client) {
	for _, other := range c.clears {
		other.cleared = r.step
	}
	held := errors.Is(c.err, doubt.ErrHeld)
	_, unknown := errors.AsType[*middleware.OutcomeUnknownError](c.err)
	switch {
	case c.err == nil && c.executed == 0:
		r.wrong(c, "returned a result, and was not executed")
	case c.err != nil && !unknown && c.executed > 0:
		r.wrong(c, "returned that it was not made, and was executed")
	case unknown != c.doubtful:
		r.wrong(c, "its outcome is not what its caller reads")
	case (held || c.asked) && !r.failed && !slices.ContainsFunc(r.clients, func(other *client) bool { return other != c && other.holds(c) }):
		r.wrong(c, "held, though no other may have happened")
	}
}

// holds reports whether a call may hold another one, for some of the time since that began. One whose process was lost
// when it had the answer holds others until its time is over, if its entry was not removed yet.
func (c *client) holds(other *client) bool {
	over := c.returned
	if c.doubtful {
		over = c.cleared
	}
	return c.entered > 0 && (over == 0 || over > other.began)
}

// moves returns all that may happen next.
func (r *doubtRun) moves() (all []move) {
	busy := [2]bool{}
	for i, c := range r.clients {
		switch c.at {
		case isNotMade:
			if !slices.ContainsFunc(r.clients[:i], func(o *client) bool { return o.at == isNotMade && o.replica == c.replica }) {
				all = append(all, move{begins, i, ok})
			}
			continue
		case hasEnded:
			continue
		}
		busy[c.replica] = true
		all = append(all, move{c.at, i, ok})
		switch {
		case c.at == isHeard && r.lose > 0:
			all = append(all, move{c.at, i, fails})
		case c.at != isHeard && c.at != executes && r.fail > 0:
			all = append(all, move{c.at, i, fails}, move{c.at, i, unheard})
		}
	}
	for replica := range busy {
		if busy[replica] && r.crash > 0 {
			all = append(all, move{"is lost", replica, ok})
		}
	}
	return all
}

// entries returns what the store has, with the calls instead of random keys.
func (r *doubtRun) entries() string {
	all, _ := r.store.Find(context.Background(), "ann", "shop", "order")
	return r.text(all)
}

func (r *doubtRun) text(all []doubt.Entry) (text string) {
	for _, e := range all {
		text += fmt.Sprint(r.owner[e.Key], e.Replica != "", e.Told, ";")
	}
	return text
}

// appendKey appends all that what may come depends on.
func (r *doubtRun) appendKey(b []byte) []byte {
	b = appendText(append(b, byte(r.lose), byte(r.crash), byte(r.fail)), r.entries())
	for i, c := range r.clients {
		b = appendFlags(appendText(b, c.at, string(c.history)), c.dead, c.asked, c.doubtful, c.heard, c.cleared > 0, c.entered > 0, c.executed > 0, r.failed, c.process == r.process[c.replica])
		for _, other := range r.clients { // the order of what the checks compare
			b = appendFlags(b, c.began < other.entered, c.began < other.returned, c.began < other.cleared)
		}
		b = append(b, byte(i), byte(len(c.clears)))
	}
	if r.doubtScenario.fail > 0 || r.failed { // a process remembers what the store did not take
		b = appendText(b, string(r.merged[0]), string(r.merged[1]))
	}
	return b
}

// A stepped store has each operation wait for its turn.
type stepped struct{ *doubtRun }

func (s stepped) operation(step string, do func()) error {
	how := s.at(step)
	if how != fails {
		do()
	}
	if how != ok {
		return errDown
	}
	return nil
}

func (s stepped) Put(ctx context.Context, e doubt.Entry) error {
	c := s.now
	return s.operation(enters, func() {
		s.owner[e.Key] = slices.Index(s.clients, c)
		if c.entered == 0 {
			c.entered = s.step
		}
		_ = s.store.Put(ctx, e)
	})
}

func (s stepped) Find(ctx context.Context, scope, server, tool string) (all []doubt.Entry, err error) {
	c := s.now
	err = s.operation(looks, func() {
		all, _ = s.store.Find(ctx, scope, server, tool)
		s.notes(c, s.text(all))
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (s stepped) Tell(ctx context.Context, e doubt.Entry) (first bool, err error) {
	c := s.now
	err = s.operation(tells, func() {
		first, _ = s.store.Tell(ctx, e)
		s.notes(c, fmt.Sprint(first))
	})
	return first && err == nil, err
}

func (s stepped) Remove(ctx context.Context, e doubt.Entry) (was bool, err error) {
	c := s.now
	err = s.operation(removes, func() {
		was, _ = s.store.Remove(ctx, e)
		s.notes(c, fmt.Sprint(was))
	})
	return was && err == nil, err
}

// A doubtExplorer goes through all runs of a scenario, each from its beginning.
type doubtExplorer struct {
	doubtScenario

	seen map[uint64]struct{}
	seed maphash.Seed
	way  []move
	runs int
	ends int
}

func (s doubtScenario) explore() (*doubtExplorer, error) {
	e := &doubtExplorer{doubtScenario: s, seen: make(map[uint64]struct{}), seed: maphash.MakeSeed()}
	return e, e.on()
}

// on goes on from the way so far.
func (e *doubtExplorer) on() error {
	e.runs++
	r := e.start()
	for _, m := range e.way {
		if err := r.do(m); err != nil {
			r.stop()
			var way strings.Builder
			for _, m := range e.way {
				way.WriteString("\n  " + m.String())
			}
			return fmt.Errorf("%w, after:%s", err, &way)
		}
	}
	sum, all := maphash.Bytes(e.seed, r.appendKey(nil)), r.moves()
	r.stop()
	if _, known := e.seen[sum]; known {
		return nil
	}
	e.seen[sum] = struct{}{}
	if len(all) == 0 {
		e.ends++
	}
	for _, m := range all {
		e.way = append(e.way, m)
		if err := e.on(); err != nil {
			return err
		}
		e.way = e.way[:len(e.way)-1]
	}
	return nil
}
