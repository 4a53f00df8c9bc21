package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session is a server as the catalog sees it. It records the calls that were really sent.
type session struct {
	w       *scenario
	name    string
	replica string // "" where it has no replicas
}

func (s *session) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return &mcp.ListToolsResult{Tools: definitions(s.name, func(t *toolSpec) int {
		revision := 1
		for _, at := range []place{{s.name, t.name}, {s.replica, t.name}} {
			if now, ok := s.w.declared[at]; ok {
				revision = now
			}
		}
		s.w.listed[place{s.name + s.replica, t.name}] = revision
		return revision
	})}, nil
}

type fault string

const (
	none       fault = "ok"
	slow       fault = "slow" // answers after a long time
	notSent    fault = "not sent"
	refused    fault = "refused"       // before execution
	failed     fault = "failed before" // execution, which the error does not show
	dropped    fault = "executed, answer lost"
	invalid    fault = "invalid" // a final error
	isError    fault = "isError" // the tool reports a failure
	asksInput  fault = "asks for input"
	neither    fault = "nil and nil"
	panicked   fault = "panic"
	goexit     fault = "Goexit"
	stubborn   fault = "stubborn" // does not heed its context
	refusedTie fault = "refused until the deadline"
)

var faults = []fault{slow, notSent, refused, failed, dropped, invalid, isError, asksInput, neither, panicked, goexit, stubborn, refusedTie}

// A serverError is a fault as an error. It names its execution.
type serverError struct {
	exec *exec
	err  error
}

func (e *serverError) Error() string { return e.err.Error() }
func (e *serverError) Unwrap() error { return e.err }

const codeRateLimited, codeTransport = -32023, -32005

func (s *session) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	e, latency := s.w.handOver(ctx, s, params)
	defer s.w.over(e)
	heeded := ctx
	if e.fault == stubborn {
		heeded = context.Background()
	}
	if err := world.Wait(heeded, latency); err != nil {
		return nil, err
	}
	fail := func(err error) (*mcp.CallToolResult, error) { return nil, &serverError{e, err} }
	switch e.fault {
	case notSent:
		return fail(fmt.Errorf("%w: calling \"tools/call\": client is closing", mcp.ErrConnectionClosed))
	case refused, refusedTie:
		return fail(&jsonrpc.Error{Code: codeRateLimited, Message: "too many", Data: s.w.retryAfter(ctx, e)})
	case failed, dropped:
		if e.n%2 == 0 {
			return fail(errors.New("connection reset by peer"))
		}
		return fail(&jsonrpc.Error{Code: codeTransport, Message: "bad gateway"})
	case invalid:
		return fail(&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no"})
	case neither:
		return nil, nil
	case panicked:
		panic(fmt.Sprintf("execution %d", e.n))
	case goexit:
		runtime.Goexit()
	}
	res := &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: e.text}},
		StructuredContent: map[string]any{"text": e.text, "list": []any{e.text}},
		IsError:           e.fault == isError,
	}
	if e.fault == asksInput {
		res.RequestState = "more"
	}
	return res, nil
}

// retryAfter returns a wait that the server asks for: a while, or exactly until the deadline.
func (w *scenario) retryAfter(ctx context.Context, e *exec) json.RawMessage {
	after := time.Duration(e.n%7) * 777 * time.Millisecond
	deadline, ok := ctx.Deadline()
	if d := e.call.deadline; !d.IsZero() {
		deadline, ok = d, true
	}
	if e.fault == refusedTie && ok {
		after = time.Until(deadline)
	}
	w.mu.Lock()
	e.after = after
	w.mu.Unlock()
	millis := float64(after) / float64(time.Millisecond)
	return json.RawMessage(`{"retryAfterMs":` + strconv.FormatFloat(millis, 'g', -1, 64) + `}`)
}

// drawFault draws how an attempt ends and how long it takes.
func (w *scenario) drawFault(r *record, attempt int, replica string) (fault, time.Duration) {
	dice := w.dice(forFault, uint64(r.n), uint64(attempt))
	latency := span(dice, time.Millisecond, 1500*time.Millisecond)
	if w.epilogue {
		return none, latency
	}
	f := none
	if dice.IntN(100) < 45 {
		f = faults[dice.IntN(len(faults))]
	}
	if replica == losesAnswers && dice.IntN(3) == 0 {
		f = dropped
	}
	switch f {
	case slow, stubborn:
		latency = span(dice, 2*time.Second, 14*time.Second)
	case notSent, refused, refusedTie:
		latency = span(dice, 0, 20*time.Millisecond)
	}
	return f, latency
}

// The maximum ages of the results of a changing server's tools, which their names give.
var mayBe = map[string]time.Duration{
	"get_status": 0, "get_secret": 0, "get_ticket": 30 * time.Second, "get_schema": 5 * time.Minute, "add_ticket": 0,
}

const (
	freshAgents = 8
	freshCalls  = 20
	outsiders   = 40
	longest     = 800 * time.Millisecond // of an execution: the time of a result runs from its end
)

// A changing is one scenario over a server that others write to past the chain: each write raises
// its version, and each result has the version of its time.
type changing struct {
	journal // its mutex guards what follows while calls run

	versions   []time.Time // when each version began
	ended      int         // the last version that a write through the chain has made
	executions int
	made       int
}

// RunFresh plays the scenario of a seed: agents call through one chain, outsiders write past it.
func RunFresh(t *testing.T, seed uint64) Outcome {
	c := &changing{journal: journal{seed: seed}}
	c.journal.play(t, c.play)
	return Outcome{c.made, c.executions, c.violations, func() string { return c.print("fresh") }}
}

func (c *changing) play(t *testing.T) {
	c.versions = []time.Time{time.Now()}
	caller := chain.Standard{Infer: infer.New(infer.Options{}), Cache: cache.New(cache.Options{})}.Then(middleware.ToolCallerFunc(c.execute))
	tools := make(map[string]*middleware.Tool)
	for name := range mayBe {
		tools[name] = &middleware.Tool{Server: "crm", Definition: &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}}
	}
	var all sync.WaitGroup
	all.Go(func() {
		dice := c.dice(1, 0, 0)
		for range outsiders {
			time.Sleep(time.Duration(dice.IntN(3000)) * time.Millisecond)
			c.version(true)
		}
	})
	names := []string{"get_status", "get_status", "get_secret", "get_ticket", "get_ticket", "get_ticket", "get_schema", "get_schema", "add_ticket"}
	if c.seed%2 == 0 { // only the lifetime invalidates cached results
		names = names[:len(names)-1]
	}
	for agent := range freshAgents {
		dice, scope := c.dice(2, uint64(agent), 0), "tenant "+strconv.Itoa(agent%2)
		all.Go(func() {
			for range freshCalls {
				time.Sleep(time.Duration(dice.IntN(4000)) * time.Millisecond)
				c.call(t.Context(), caller, tools[names[dice.IntN(len(names))]], scope)
			}
		})
	}
	all.Wait()
}

// version returns the present version, after a write or without one.
func (c *changing) version(write bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if write {
		c.versions = append(c.versions, time.Now())
	}
	return len(c.versions) - 1
}

// execute takes a while; its result is of some time meanwhile.
func (c *changing) execute(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	c.mu.Lock()
	c.executions++
	half := time.Duration(c.dice(3, uint64(c.executions), 0).IntN(400)) * time.Millisecond
	c.mu.Unlock()
	time.Sleep(half)
	version := c.version(strings.HasPrefix(call.Tool.Name(), "add"))
	time.Sleep(half)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: call.Scope + ", " + strconv.Itoa(version)}}}, nil
}

func (c *changing) call(ctx context.Context, caller middleware.ToolCaller, tool *middleware.Tool, scope string) {
	c.mu.Lock()
	c.made++
	who, own := fmt.Sprint(c.made, " ", tool.Name(), " of ", scope), c.ended
	c.say(who, "begins", "")
	c.mu.Unlock()
	began := time.Now()
	res, err := caller.CallTool(ctx, middleware.Call{Tool: tool, Scope: scope})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.badf("I19", who, "failed: %v", err)
		return
	}
	text := res.Content[0].(*mcp.TextContent).Text
	of, number, _ := strings.Cut(text, ", ")
	version, err := strconv.Atoi(number)
	if err != nil || of != scope {
		c.badf("I3", who, "got %q", text)
		return
	}
	c.say(who, "got", text)
	if version+1 < len(c.versions) {
		least := began
		if lasts := mayBe[tool.Name()]; lasts > 0 {
			least = began.Add(-lasts - longest)
		}
		if over := c.versions[version+1]; over.Before(least) {
			c.badf("I28", who, "got version %d, which was over %v before it began", version, began.Sub(over))
		}
	}
	if strings.HasPrefix(tool.Name(), "add") {
		c.ended = max(c.ended, version)
	} else if version < own {
		c.badf("I4", who, "got version %d, after a write through the chain had made version %d", version, own)
	}
}

// The settings of a scenario over replicas.
const (
	spreadReplicas = 2
	spreadCalls    = 60
	spreadItems    = 4
	spreadPerMin   = 1200.0
	spreadBurst    = 5
	spreadDeadline = 4 * time.Second
)

// A spread is one scenario over two replicas and one engine, which may fail.
type spread struct {
	journal // its mutex guards chance and events while calls run

	chance *rand.Rand
	engine *engine
	server world.Server
	ledger world.Ledger
	names  bool // calls name what they are about
	quiet  bool // nothing is written, and the engine is well
	events []world.Event
}

// RunSpread plays the scenario of a seed in a bubble of its own.
func RunSpread(t *testing.T, seed uint64) Outcome {
	s := &spread{chance: rand.New(rand.NewPCG(seed, 16))}
	s.server.Ledger = &s.ledger
	s.journal.play(t, s.play)
	return Outcome{len(s.events), len(s.ledger.All()), s.violations, func() string { return s.print("spread") }}
}

func (s *spread) play(*testing.T) {
	s.quiet, s.names = s.chance.IntN(4) == 0, s.chance.IntN(2) == 0
	s.engine = newEngine(rand.New(rand.NewPCG(s.chance.Uint64(), 1)), s.quiet)
	replicas := make([]middleware.ToolCaller, spreadReplicas)
	for i := range replicas {
		replicas[i] = s.replica()
	}
	s.mu.Lock() // no call uses the dice before all are planned
	var running sync.WaitGroup
	for i := range spreadCalls {
		at, id := time.Duration(s.chance.IntN(3000))*time.Millisecond+time.Duration(i), strconv.Itoa(i)
		name, item := "get", strconv.Itoa(s.chance.IntN(spreadItems))
		if at := s.chance.IntN(10); !s.quiet && at >= 6 {
			name = []string{"list", "put", "put", "delete"}[at-6]
		}
		if name == "delete" && s.chance.IntN(3) == 0 {
			id += world.Deny
		}
		deadline := spreadDeadline
		if s.chance.IntN(8) == 0 && !s.quiet {
			deadline = time.Duration(1+s.chance.IntN(200)) * time.Millisecond
		}
		later(&running, at, func() { s.call(replicas[i%spreadReplicas], name, id, item, deadline) })
	}
	s.mu.Unlock()
	running.Wait()
	s.engine.rest()
	s.call(replicas[0], "get", "rest 0", "0", spreadDeadline)
	before := len(s.ledger.All())
	s.call(replicas[1], "get", "rest 1", "0", spreadDeadline)
	ledger := s.ledger.All()
	if len(ledger) != before {
		s.badf("I19", "a replica", "asks for a result that another has cached after all had come to rest")
	}
	s.violations = append(s.violations, world.Reads(s.events)...)
	s.violations = append(s.violations, world.Writes(s.events, ledger)...)
	if n := world.Again(ledger, ""); s.quiet && n > 0 {
		s.badf("I14", n, "items were fetched more than once")
	}
	bursts := 1.0
	if s.engine.away != (outage{}) { // it has saved tokens meanwhile
		bursts = 2
	}
	if peak, most := world.Peak(ledger, spreadPerMin), bursts*spreadBurst; peak > most+1 {
		s.badf("I11", "the servers", "got %.1f calls more than the rate gives, which is above %.0f", peak, most)
	}
}

func (s *spread) replica() middleware.ToolCaller {
	o := cache.Options{Remote: lossyMemory{s.engine}}
	if s.names {
		o.Entities = world.ItemEntities
	}
	decide := func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
		time.Sleep(time.Duration(len(r.CallID)) * 13 * time.Millisecond)
		return world.Decide(ctx, r)
	}
	return chain.Standard{
		Confirm: hitl.New(hitl.ConfirmerFunc(decide), hitl.Options{Store: s.engine}),
		Cache:   cache.New(o),
		RateLimit: ratelimit.New(ratelimit.Options{
			PerMinute: spreadPerMin, Burst: spreadBurst, Shared: lossyLimiter{s.engine}, Replicas: spreadReplicas,
		}),
	}.Then(world.Guard(middleware.ToolCallerFunc(s.execute)))
}

func (s *spread) call(at middleware.ToolCaller, name, id, item string, deadline time.Duration) {
	e := world.CallItem(context.Background(), at, id, name, item, "", deadline)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	s.say(id, name, fmt.Sprintf("%q began at %.3f: %d %s", item, e.Began.Sub(s.start).Seconds(), e.Version, e.Err))
	late := opTimeout
	if e.Kind == world.Delete { // an approval's outcome is recorded even if its caller has gone
		late *= 3
	}
	if over := e.Ended.Sub(e.Began) - deadline; over > late {
		s.badf("I9", id, "was back %v after its end", over)
	}
}

// execute is the server: its effect comes in the middle.
func (s *spread) execute(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	r, err := world.RequestOf(call)
	if err != nil {
		return nil, err
	}
	version := s.server.Execute(r.Call, r.Kind, func() {
		s.mu.Lock()
		took := time.Duration(s.chance.IntN(40)) * time.Millisecond
		s.mu.Unlock()
		time.Sleep(took)
	}, r.Things...)
	if call.Tool.Name() != "get" && version%7 == 3 {
		return nil, errors.New("the answer was lost")
	}
	return world.Result(version), nil
}

const (
	opTimeout = 100 * time.Millisecond // of one operation
	settling  = 300 * time.Millisecond // after an outage the cache is not used
)

var errLost = errors.New("sim: the engine gave no answer")

// An engine is the embedded stores behind a network that delays, loses and is away for a while. If
// the end of a write is lost, it is sent later; until then the cache is not used, as in contrib/redis.
type engine struct {
	approvals.Store

	memory  *cache.Memory
	limiter *ratelimit.Memory
	lossy   bool
	away    outage
	silence time.Duration // before it gives no answer

	mu   sync.Mutex
	dice *rand.Rand
	owed []cache.Write
	well bool // nothing is lost from then on
}

type outage struct{ from, to time.Time }

func (o outage) has(t time.Time) bool { return !t.Before(o.from) && t.Before(o.to) }

func newEngine(dice *rand.Rand, well bool) *engine {
	e := &engine{Store: approvals.NewMemory(), memory: cache.NewMemory(), limiter: ratelimit.NewMemory(), dice: dice, well: well, silence: opTimeout / 2}
	if !well {
		e.lossy = dice.IntN(2) == 0
		if dice.IntN(2) == 0 {
			from := time.Now().Add(time.Duration(dice.IntN(2000)) * time.Millisecond)
			e.away = outage{from, from.Add(time.Duration(200+dice.IntN(1000)) * time.Millisecond)}
		}
	}
	return e
}

func (e *engine) rest() {
	time.Sleep(10 * time.Second)
	e.mu.Lock()
	e.well = true
	e.mu.Unlock()
	e.pay()
}

// believed reports whether the engine may serve cached results.
func (e *engine) believed(now time.Time) bool {
	if (outage{e.away.from, e.away.to.Add(settling)}).has(now) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.owed) == 0
}

// over carries an operation over the network of an engine.
func over[T any](ctx context.Context, e *engine, operation func() (T, error)) (found T, err error) {
	e.mu.Lock()
	there, back := time.Duration(e.dice.IntN(10))*time.Millisecond, time.Duration(e.dice.IntN(10))*time.Millisecond
	loses := e.lossy && !e.well && e.dice.IntN(12) == 0
	before := e.dice.IntN(2) == 0
	e.mu.Unlock()
	if err := world.Wait(ctx, there); err != nil {
		return found, err
	}
	if e.away.has(time.Now()) || loses && before {
		return found, errors.Join(world.Wait(ctx, e.silence), errLost)
	}
	found, err = operation()
	if loses {
		return found, errors.Join(world.Wait(ctx, e.silence), errLost)
	}
	return found, errors.Join(err, world.Wait(ctx, back))
}

// do is over for an operation without a result.
func (e *engine) do(ctx context.Context, operation func() error) error {
	_, err := over(ctx, e, func() (struct{}, error) { return struct{}{}, operation() })
	return err
}

// pay sends the ends that could not be sent before.
func (e *engine) pay() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.owed {
		_, _ = e.memory.End(context.Background(), w)
	}
	e.owed = nil
}

func (e *engine) Add(ctx context.Context, a approvals.Approval) error {
	return e.do(ctx, func() error { return e.Store.Add(ctx, a) })
}

func (e *engine) Advance(ctx context.Context, id string, change approvals.Change) error {
	return e.do(ctx, func() error { return e.Store.Advance(ctx, id, change) })
}

type lossyMemory struct{ *engine }

func (m lossyMemory) Look(ctx context.Context, q cache.Question) (cache.Found, error) {
	found, err := over(ctx, m.engine, func() (cache.Found, error) {
		if !m.believed(time.Now()) {
			return cache.Found{}, nil
		}
		return m.memory.Look(ctx, q)
	})
	if err != nil { // another caller takes over the lead that was lost
		m.memory.Drop(ctx, q, found.Ticket)
		return cache.Found{}, err
	}
	return found, nil
}

func (m lossyMemory) Keep(ctx context.Context, q cache.Question, ticket string, value []byte, ttl time.Duration) error {
	err := m.do(ctx, func() error { return m.memory.Keep(ctx, q, ticket, value, ttl) })
	if err != nil {
		m.memory.Drop(ctx, q, ticket)
	}
	return err
}

func (m lossyMemory) Drop(ctx context.Context, q cache.Question, ticket string) {
	m.memory.Drop(ctx, q, ticket)
}

func (m lossyMemory) Begin(ctx context.Context, w cache.Write) error {
	return m.do(ctx, func() error { return m.memory.Begin(ctx, w) })
}

// End owes what it cannot send, and serves no cached result until then.
func (m lossyMemory) End(ctx context.Context, w cache.Write) (string, error) {
	m.mu.Lock()
	m.owed = append(m.owed, w)
	m.mu.Unlock()
	ticket, err := over(ctx, m.engine, func() (string, error) { return m.memory.End(ctx, w) })
	if !m.away.has(time.Now()) {
		m.pay()
	}
	return ticket, err
}

type lossyLimiter struct{ *engine }

func (l lossyLimiter) Take(ctx context.Context, w ratelimit.Waiter) (time.Duration, error) {
	return over(ctx, l.engine, func() (time.Duration, error) { return l.limiter.Take(ctx, w) })
}

func (l lossyLimiter) Leave(ctx context.Context, w ratelimit.Waiter) { l.limiter.Leave(ctx, w) }
