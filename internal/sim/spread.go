package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a scenario over replicas is made of.
const (
	spreadReplicas = 2
	spreadCalls    = 60
	spreadItems    = 4
	spreadPerMin   = 1200.0
	spreadBurst    = 5
	spreadDeadline = 4 * time.Second
)

// A spread is one scenario over two replicas, which share an engine that is slow,
// loses requests and answers, and is away for a while.
type spread struct {
	dice   *rand.Rand
	engine *engine
	names  bool // calls name what they are about
	quiet  bool // nothing is written, and the engine is well

	mu         sync.Mutex
	seq        int64
	items      map[string]int64
	executed   map[string]int // by call
	handed     []time.Time
	fetched    map[string]int
	said       map[string]bool // what the person said to each call
	events     []spreadEvent
	violations []string
}

type spreadEvent struct {
	id, tool, item string
	seq            int64
	began, ended   time.Time
	err            error
}

// RunSpread plays the scenario of a seed in a bubble of its own.
func RunSpread(t *testing.T, seed uint64) (out Outcome) {
	s := &spread{
		dice: rand.New(rand.NewPCG(seed, 16)), items: make(map[string]int64), executed: make(map[string]int),
		fetched: make(map[string]int), said: make(map[string]bool),
	}
	defer func() {
		if v := recover(); v != nil {
			s.badf("I19: the scenario does not end: %v", v)
		}
		out = Outcome{Calls: len(s.events), Executions: len(s.handed), Violations: s.violations, Trace: s.trace}
	}()
	synctest.Test(t, func(t *testing.T) { s.play(t) })
	return out
}

func (s *spread) badf(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

func (s *spread) trace() string {
	var text strings.Builder
	slices.SortFunc(s.events, func(a, b spreadEvent) int { return a.began.Compare(b.began) })
	for _, e := range s.events {
		fmt.Fprintf(&text, "%s..%s %s %s %s: %d %v\n", e.began.Format("05.000"), e.ended.Format("05.000"), e.id, e.tool, e.item, e.seq, e.err)
	}
	return text.String()
}

func (s *spread) play(t *testing.T) {
	s.quiet, s.names = s.dice.IntN(4) == 0, s.dice.IntN(2) == 0
	s.engine = newEngine(rand.New(rand.NewPCG(s.dice.Uint64(), 1)), s.quiet)
	tools := make(map[string]*middleware.Tool)
	for name, known := range map[string]annotation.Annotations{
		"get": annotation.ReadOnly(), "list": annotation.ReadOnly(), "put": annotation.Write(), "delete": annotation.Destructive(),
	} {
		tool, err := middleware.NewTool("ledger", &mcp.Tool{Name: name}, known)
		if err != nil {
			t.Fatal(err)
		}
		tools[name] = tool
	}
	replicas := make([]middleware.ToolCaller, spreadReplicas)
	for i := range replicas {
		replicas[i] = s.replica()
	}
	var calls []func() // all are planned before one begins: the dice and what is said are theirs from then on
	for i := range spreadCalls {
		at, id := time.Duration(s.dice.IntN(3000))*time.Millisecond+time.Duration(i), strconv.Itoa(i)
		name, item := "get", strconv.Itoa(s.dice.IntN(spreadItems))
		if at := s.dice.IntN(10); !s.quiet && at >= 6 {
			name = []string{"list", "put", "put", "delete"}[at-6]
		}
		if name == "delete" {
			s.said[id] = s.dice.IntN(3) > 0
		}
		deadline := spreadDeadline
		if s.dice.IntN(8) == 0 && !s.quiet {
			deadline = time.Duration(1+s.dice.IntN(200)) * time.Millisecond
		}
		calls = append(calls, func() {
			time.Sleep(at)
			s.call(replicas[i%spreadReplicas], tools[name], id, item, deadline)
		})
	}
	var running sync.WaitGroup
	for _, call := range calls {
		running.Go(call)
	}
	running.Wait()
	s.engine.rest()
	s.call(replicas[0], tools["get"], "rest 0", "0", spreadDeadline)
	before := len(s.handed)
	s.call(replicas[1], tools["get"], "rest 1", "0", spreadDeadline)
	if len(s.handed) != before {
		s.badf("I19: after all had come to rest a replica asks for what another knows")
	}
	s.judge()
}

// replica is a chain as one process has it.
func (s *spread) replica() middleware.ToolCaller {
	entities := map[string][]string{}
	if s.names {
		entities = map[string][]string{"ledger/get": {"id"}, "ledger/put": {"id"}, "ledger/delete": {"id"}}
	}
	return chain.Standard{
		Confirm: hitl.New(hitl.ConfirmerFunc(s.decide), hitl.Options{Store: s.engine}),
		Cache:   cache.New(cache.Options{Remote: (*lossyMemory)(s.engine), Entities: entities}),
		RateLimit: ratelimit.New(ratelimit.Options{
			PerMinute: spreadPerMin, Burst: spreadBurst, Shared: (*lossyLimiter)(s.engine), Replicas: spreadReplicas,
		}),
	}.Then(guard.New(middleware.ToolCallerFunc(s.execute), func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil }))
}

func (s *spread) decide(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	time.Sleep(time.Duration(len(r.CallID)) * 13 * time.Millisecond)
	if s.said[r.CallID] {
		return hitl.Decision{Verdict: hitl.Approved}, nil
	}
	return hitl.Decision{}, nil
}

func (s *spread) call(at middleware.ToolCaller, tool *middleware.Tool, id, item string, deadline time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	e := spreadEvent{id: id, tool: tool.Name(), item: item, began: time.Now()}
	if e.tool == "list" {
		e.item = ""
	}
	form, _ := json.Marshal(map[string]string{"id": e.item})
	if e.tool == "list" {
		form = []byte(`{}`)
	}
	res, err := at.CallTool(ctx, middleware.Call{ID: id, Tool: tool, Arguments: form, Meta: mcp.Meta{"id": id}})
	e.ended, e.err = time.Now(), err
	if err == nil {
		e.seq, _ = strconv.ParseInt(res.Content[0].(*mcp.TextContent).Text, 10, 64)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	late := opTimeout
	if e.tool == "delete" { // what came of a question is written down, whoever has gone
		late *= 3
	}
	if over := e.ended.Sub(e.began) - deadline; over > late {
		s.badf("I9: %s was back %v after its end", id, over)
	}
}

// execute is the server: its effect comes in the middle.
func (s *spread) execute(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	var arguments struct{ ID string }
	if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.handed = append(s.handed, time.Now())
	s.executed[call.ID]++
	before, after := time.Duration(s.dice.IntN(40))*time.Millisecond, time.Duration(s.dice.IntN(40))*time.Millisecond
	s.mu.Unlock()
	time.Sleep(before)
	s.mu.Lock()
	var seq int64
	switch call.Tool.Name() {
	case "get":
		seq = s.items[arguments.ID]
		s.fetched[arguments.ID]++
	case "list":
		seq = s.seq
	default:
		s.seq++
		seq = s.seq
		s.items[arguments.ID] = seq
	}
	s.mu.Unlock()
	time.Sleep(after)
	if call.Tool.Name() != "get" && seq%7 == 3 {
		return nil, errors.New("the answer was lost")
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strconv.FormatInt(seq, 10)}}}, nil
}

// judge looks for broken promises.
func (s *spread) judge() {
	for _, r := range s.events {
		switch {
		case r.tool == "get" || r.tool == "list":
			s.judgeRead(r)
		case s.executed[r.id] > 1:
			s.badf("I2: %s was executed %d times", r.id, s.executed[r.id])
		case s.executed[r.id] > 0 && (middleware.NotSent(r.err) || errors.Is(r.err, hitl.ErrDenied)):
			s.badf("I2: %s says that it was not made, and was: %v", r.id, r.err)
		case r.tool == "delete" && s.executed[r.id] > 0 && !s.said[r.id]:
			s.badf("I1: %s was executed without a yes", r.id)
		}
	}
	if s.quiet {
		for item, n := range s.fetched {
			if n > 1 {
				s.badf("I14: %s was fetched %d times", item, n)
			}
		}
	}
	slices.SortFunc(s.handed, time.Time.Compare)
	level, last, most := 0.0, time.Time{}, float64(spreadBurst*(1+s.engine.outages))
	for _, at := range s.handed {
		level = max(0, level-at.Sub(last).Seconds()*spreadPerMin/60) + 1
		last = at
		if level > most+1 {
			s.badf("I11: %.1f calls more than the rate gives, which is above %.0f", level, most)
			return
		}
	}
}

// judgeRead: I4. No read is older than a write that was over before it began.
func (s *spread) judgeRead(r spreadEvent) {
	if r.err != nil {
		return
	}
	for _, w := range s.events {
		if (w.tool == "put" || w.tool == "delete") && w.seq > r.seq && (r.item == "" || w.item == r.item) && w.ended.Before(r.began) {
			s.badf("I4: %s of %q is of write %d, and write %d by %s was over %v before it began", r.id, r.item, r.seq, w.seq, w.id, r.began.Sub(w.ended))
			return
		}
	}
}
