package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
	time.Sleep(time.Minute) // a write that may go on at its server counts as in flight for a while
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
