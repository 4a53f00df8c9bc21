package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/catalog/pins"
	policyfile "github.com/fairlead-go/fairlead/cmd/fairlead/policy"
)

// An edges is a scenario at the edges of the chain: two clients, one or two servers and a person
// around the proxy or a mount. The scenario judges the bytes that reached a server.
type edges struct {
	journal

	settings edgeSettings
	trust    policy
	file     string // of the policy
	policy   func() *policyfile.Policy
	attach   func(*peer) // connects a client to the front
	engine   *engine
	lock     *pins.Lock
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup // goroutines of servers, clients and people
	released chan struct{}  // closed when blocked parts go on

	// The journal's mutex guards what follows, and the fields of servers and asks.
	rule       *ruling
	written    *ruling // in the policy's file
	servers    []*backend
	clients    []*peer
	asks       []*ask
	planned    int // of them, before their repetitions
	deliveries []*delivery
	approvals  []*approved
	intended   map[string]int // records of intents, by the call
	ends       map[string]int // records of the end, likewise
	recorded   int            // ends of all calls
	quiet      bool           // nothing fails any more, and the person approves at once
}

// A front is what lies between the clients and the servers.
type front uint8

const (
	overLines  front = iota // the proxy, with a client on each of two pairs of streams
	overHTTP                // the proxy, with two sessions over HTTP
	overModern              // the proxy, with two clients over HTTP that have no session
	overClient              // mount.Client under two clients of the SDK
	overServer              // serve.ToolHandler in a server of the SDK with two sessions
)

// A trouble is how a part that the chain depends on fails.
type trouble uint8

const (
	well   trouble = iota
	fails          // now and then
	blocks         // from some instant on
)

type edgeSettings struct {
	front       front
	desk        desk
	several     bool // servers
	locked      bool // to the first definitions
	filed       bool // the policy is in a file
	sink, store trouble
	from        time.Duration // when they begin to block
	rulings     [2]int        // the policy at first, and after swapAt
	swapAt      time.Duration
	annotated   bool // lists
	observed    bool // nothing is asked, and nothing refused but by the policy
}

const (
	edgeLength   = 40 * time.Second
	edgePatience = 3 * time.Minute // for the answer to any call
	// storePatience is after what time a store that is away returns an error, by its contract.
	storePatience = 5 * time.Second
)

func runEdges(t *testing.T, seed uint64) Outcome {
	w := &edges{
		journal: journal{seed: seed}, trust: policy{trusted: map[string]bool{trusty: true}},
		intended: make(map[string]int), ends: make(map[string]int),
	}
	w.journal.play(t, w.play)
	return Outcome{len(w.asks), len(w.deliveries), w.violations, func() string { return w.print(w.settings) }}
}

func drawEdgeSettings(r *rand.Rand) edgeSettings {
	s := edgeSettings{
		front:   []front{overLines, overLines, overLines, overHTTP, overHTTP, overModern, overModern, overClient, overServer}[r.IntN(9)],
		desk:    []desk{atHost, atHost, inForms, onPage}[r.IntN(4)],
		locked:  r.IntN(4) == 0,
		filed:   r.IntN(4) == 0,
		several: r.IntN(3) == 0,
		from:    span(r, 0, edgeLength),
		swapAt:  span(r, 0, edgeLength),
	}
	s.sink, s.store = trouble(max(0, r.IntN(6)-3)), trouble(max(0, r.IntN(6)-3))
	if r.IntN(2) == 0 {
		s.rulings[0] = r.IntN(len(rulings))
	}
	s.rulings[1] = s.rulings[0]
	if r.IntN(3) == 0 {
		s.rulings[1] = r.IntN(len(rulings))
	}
	if s.front >= overClient { // mounts have neither a policy file nor several servers here
		s.rulings, s.several, s.filed = [2]int{}, false, false
	}
	if s.front < overClient {
		s.annotated, s.observed = r.IntN(3) == 0, r.IntN(8) == 0 && !s.locked
	}
	if s.desk == inForms && s.front == overClient { // its clients call no server of ours
		s.desk = atHost
	}
	return s
}

func (w *edges) play(t *testing.T) {
	w.settings = drawEdgeSettings(w.dice(forEdges, 0, 0))
	w.ctx, w.stop = context.WithCancel(t.Context())
	w.released = make(chan struct{})
	w.rule = &rulings[w.settings.rulings[0]]
	w.build(t)
	w.planAsks()
	w.planRepetitions()
	var calls sync.WaitGroup
	for _, a := range w.asks[:w.planned] {
		later(&calls, a.at, func() { w.make(a) })
	}
	w.startChanges(&calls)
	w.startEnds(&calls)
	w.startMeddling(&calls)
	time.Sleep(edgeLength + edgePatience + time.Second)
	w.checkAnswered()
	close(w.released)
	calls.Wait()
	time.Sleep(5 * time.Minute) // less than an idle session lasts
	w.engine.rest()
	w.rest()
	time.Sleep(2 * time.Hour) // late answers have come by then
	w.checkRecords()
	w.mu.Lock()
	w.stop() // so that nothing begins that would not be waited for
	w.mu.Unlock()
	for _, p := range w.clients {
		p.leave()
	}
	for _, b := range w.servers {
		b.leave()
	}
	w.running.Wait()
}

// begin does something beside the calls, unless the scenario is over.
func (w *edges) begin(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() == nil {
		w.running.Go(do)
	}
}

// startChanges draws and starts redefinitions, many of them while a person reads, and the change of the policy.
func (w *edges) startChanges(group *sync.WaitGroup) {
	r := w.dice(forEdges, 1, 0)
	if w.settings.front == overServer {
		later(group, w.settings.swapAt, w.swapPolicy)
		return
	}
	a, swapAt := w.asks[r.IntN(w.planned)], w.settings.swapAt
	if r.IntN(2) == 0 { // while a person reads
		swapAt = a.at + span(r, 0, 6*time.Second)
	}
	later(group, swapAt, w.swapPolicy)
	for range 1 + r.IntN(5) {
		server, tool := a.server, a.tool
		revision := []int{0, 2, 2, 3}[r.IntN(4)]
		tells := revision != 2 || r.IntN(4) > 0
		at := a.at + span(r, 0, 8*time.Second)
		later(group, at, func() { server.change(tool, revision, tells) })
		if r.IntN(2) == 0 { // and soon once more
			second := []int{1, 3, 1, 2}[revision]
			later(group, at+span(r, 0, 4*time.Second), func() { server.change(tool, second, true) })
		}
		a = w.asks[r.IntN(w.planned)]
	}
}

func (w *edges) Write(_ context.Context, record audit.Record) error {
	w.mu.Lock()
	entry := w.entry(record.Call, record.Server, record.Tool)
	blocked := w.settings.sink == blocks && !w.quiet && w.now() >= w.settings.from
	broken := blocked || w.settings.sink == fails && !w.quiet && w.dice(forEdges, 3, uint64(w.recorded)).IntN(6) == 0
	if record.Kind == audit.End {
		w.ends[entry]++
		w.recorded++
	} else if record.Kind == audit.Intent && !broken {
		w.intended[entry]++
	}
	w.say("record", string(record.Kind), record.Call+" "+record.Tool+" "+string(record.Outcome))
	w.mu.Unlock()
	if blocked {
		<-w.released
	}
	if broken {
		return errDisk
	}
	return nil
}

func (w *edges) mute(b *backend) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.quiet && b.muteAt > 0 && w.now() > b.muteAt && w.now() < b.muteAt+20*time.Second
}

// drawEdgeFault draws how a server treats a call, and whether its effect is late.
func (w *edges) drawEdgeFault(b *backend, d *delivery) (f fault, latency time.Duration, late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	dice := w.dice(forEdges, 5, uint64(d.n))
	latency = span(dice, time.Millisecond, 1500*time.Millisecond)
	if w.quiet {
		return none, latency, false
	}
	f = []fault{none, none, none, none, none, none, none, failed, dropped, stubborn, slow, invalid, isError}[dice.IntN(13)]
	if (f == failed || f == dropped) && w.settings.front == overClient { // its client has one connection
		f = none
	}
	if f == slow {
		latency = span(dice, 2*time.Second, 14*time.Second)
	}
	return f, latency, f == none && dice.IntN(2) == 0
}

// rest makes a few more calls when everything is well again.
func (w *edges) rest() {
	w.mu.Lock()
	w.quiet = true
	w.mu.Unlock()
	for _, b := range w.servers {
		for _, t := range toolSpecs {
			b.change(t.name, 1, true)
		}
	}
	time.Sleep(time.Minute)
	for _, p := range w.clients {
		if p.gone.Load() {
			p.ready = make(chan struct{})
			w.attach(p)
			p.enter()
		}
		if p.modern { // it has subscribed to no announcements, and lists the tools instead
			p.list()
		}
		for _, tool := range []string{"set_note", "get_note", "delete_note"} { // the first may have to wait for a list
			a := &ask{n: len(w.asks), client: p, done: make(chan struct{}), server: w.servers[0], tool: tool, arguments: fmt.Sprintf(`{"id":"rest of %s"}`, p.name)}
			if tool != "get_note" {
				a.arguments = fmt.Sprintf(`{"id":"rest","n":%d}`, a.n)
			}
			w.asks = append(w.asks, a)
			w.make(a)
			time.Sleep(5 * time.Second) // two pages of a list may take so long
			w.mu.Lock()
			refused := a.rule.readOnly && tool == "delete_note" || tool == "set_note"
			if got := w.deliveriesOf(a); got == 0 && !refused || a.ended.IsZero() {
				w.badf("I19", a, "was delivered %d times after all had come to rest, and answered at %v", got, a.ended)
			}
			w.mu.Unlock()
		}
	}
}

func (a *ask) String() string {
	return "ask " + strconv.Itoa(a.n) + " of " + a.client.name + " " + a.server.name + "/" + a.tool + " " + a.arguments
}
