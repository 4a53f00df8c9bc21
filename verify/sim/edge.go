package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/catalog/pins"
	policyfile "github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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
	var calls sync.WaitGroup
	for _, a := range w.asks {
		later(&calls, a.at, func() { w.make(a) })
	}
	w.startChanges(&calls)
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
	a, swapAt := w.asks[r.IntN(len(w.asks))], w.settings.swapAt
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
		a = w.asks[r.IntN(len(w.asks))]
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
			time.Sleep(3 * time.Second) // a list may take so long
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

// A peer is a client. It writes bytes to the front, or makes calls of the SDK's.
type peer struct {
	w       *edges
	name    string
	wire    *wire        // over lines
	http    http.Handler // over HTTP
	session string
	modern  bool        // over HTTP without a session
	tasks   bool        // it takes them
	forms   bool        // it shows them
	gone    atomic.Bool // for a while; set under the mutex
	sdk     *mcp.ClientSession
	ready   chan struct{} // closed when the client was introduced
}

// An ask is a client's request to the front: a call, or a message that may be taken for one.
type ask struct {
	n           int
	client      *peer
	at          time.Duration
	cancelAfter time.Duration // 0 for never
	server      *backend
	tool        string
	arguments   string // with the ask's number, if the tool writes
	shape       shapeOfAsk
	swaps       bool // it comes back with a form and other arguments

	done                    chan struct{} // closed when it was answered
	began, ended, cancelled time.Time
	before                  int // the version of the server's notes when it began
	rule                    *ruling

	form            json.RawMessage // that came in place of an answer, nil for none
	question, state string          // that belong to it
	filled          string          // what the client makes of it
	task            string          // that came in place of an answer, "" for none
}

// A shapeOfAsk is how an ask is written. All but the first hide a second call, which deletes: the person
// must be shown the call that is executed.
type shapeOfAsk uint8

const (
	asIs shapeOfAsk = iota
	withoutID
	nullID
	twoNames
	foldedName
	twoArguments
	foldedArguments
	longS // ſ, which Go folds to s
	twoInArguments
	twoInMeta
	twoInMembers
	twoParams
	foldedParams
	foldedMethod
	inBatch
	moreMembers
	unknownTool
	lastShape
)

func (w *edges) planAsks() {
	r := w.dice(forEdges, 6, 0)
	for n := range 8 + r.IntN(12) {
		a := &ask{n: n, client: w.clients[r.IntN(len(w.clients))], server: w.servers[r.IntN(len(w.servers))], done: make(chan struct{}), at: span(r, 0, edgeLength), swaps: r.IntN(8) == 0}
		a.tool = toolSpecs[[...]int{0, 0, 0, 1, 2, 3, 3, 3, 4}[r.IntN(9)]].name
		a.arguments = fmt.Sprintf(`{"id":"%c","n":%d}`, 'a'+rune(r.IntN(2)), n)
		if a.tool == "get_note" {
			a.arguments = fmt.Sprintf(`{"id":"%c"}`, 'a'+rune(r.IntN(2)))
		}
		if r.IntN(10) == 0 {
			a.cancelAfter = span(r, time.Millisecond, 10*time.Second)
		}
		if w.settings.front < overClient && r.IntN(3) == 0 {
			a.shape = shapeOfAsk(r.IntN(int(lastShape)))
		}
		w.asks = append(w.asks, a)
	}
}

func (a *ask) id() string {
	if a.n%2 == 0 {
		return strconv.Itoa(a.n)
	}
	return strconv.Quote("call " + strconv.Itoa(a.n))
}

func (a *ask) text(r *rand.Rand) string {
	name := func(tool string) string { return strconv.Quote(a.server.nameOf(tool)) }
	pair := func(name, value string) string { return strconv.Quote(name) + ":" + value }
	// both puts the two in either order.
	both := func(one, other string) string {
		if r.IntN(2) == 0 {
			one, other = other, one
		}
		return one + "," + other
	}
	// either is both, or the other one alone.
	either := func(one, other string) string {
		if r.IntN(3) == 0 {
			return other
		}
		return both(one, other)
	}
	object := func(members ...string) string { return "{" + strings.Join(members, ",") + "}" }
	folded := func(name string) string {
		return []string{strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:], name[:len(name)-1] + strings.ToUpper(name[len(name)-1:])}[r.IntN(3)]
	}
	// twice adds a member to an object in two ways, of one name or of names that fold to each other.
	twice := func(object, name, one, other string) string {
		second := []string{name, folded(name)}[r.IntN(2)]
		return strings.Replace(strings.Replace(object, "{", "{"+both(pair(name, one), pair(second, other))+",", 1), ",}", "}", 1)
	}
	evil := fmt.Sprintf(`{"id":"all","n":%d}`, a.n)
	id, method := pair("id", a.id()), pair("method", `"tools/call"`)
	tool, arguments := pair("name", name(a.tool)), pair("arguments", a.arguments)
	meta := pair("_meta", a.client.meta())
	if a.filled != "" {
		meta += fmt.Sprintf(`,"requestState":%s,"inputResponses":{%q:%s}`, a.state, a.question, a.filled)
		if a.swaps {
			arguments = pair("arguments", evil)
		}
	}
	hidden := object(pair("name", name("delete_note")), pair("arguments", evil), meta)
	past := object(pair("name", `"delete_note"`), pair("arguments", evil), meta) // as the server itself names it
	switch a.shape {
	case withoutID:
		return object(method, pair("params", past))
	case nullID:
		return object(pair("id", "null"), method, pair("params", past))
	case twoNames:
		tool = both(tool, pair("name", name("delete_note")))
	case foldedName:
		tool = either(tool, pair(folded("name"), name("delete_note")))
	case twoArguments:
		arguments = both(arguments, pair("arguments", evil))
	case foldedArguments:
		arguments = either(arguments, pair(folded("arguments"), evil))
	case longS:
		arguments = either(arguments, pair("argument\u017f", evil))
	case twoInArguments:
		arguments = pair("arguments", twice(a.arguments, "what", `"one"`, `"all"`))
	case twoInMeta:
		meta = twice(meta, "tenant", `"a"`, `"b"`)
	case twoInMembers:
		tool += "," + pair("task", twice("{}", "ttl", "1", "60000"))
	case moreMembers:
		arguments = both(arguments, pair("task", `{"ttl":60000}`))
	case unknownTool:
		tool = pair("name", `"no_such_tool"`)
	}
	params := pair("params", object(tool, arguments, meta))
	switch a.shape {
	case twoParams:
		params = both(params, pair("params", hidden))
	case foldedParams:
		params = both(params, pair([]string{"Params", "param\u017f"}[r.IntN(2)], hidden))
	case foldedMethod:
		return object(pair("jsonrpc", `"2.0"`), id, both(pair("Method", `"tools/call"`), pair("method", `"ping"`)), pair("params", hidden))
	}
	call := object(pair("jsonrpc", `"2.0"`), id, method, params)
	if a.shape == inBatch {
		return "[" + both(call, object(method, pair("params", past))) + "]"
	}
	return call
}

// make asks for it, and returns when the client does not wait any more.
func (w *edges) make(a *ask) {
	<-a.client.ready
	ctx, cancel := context.WithTimeout(w.ctx, 2*edgePatience)
	defer cancel()
	if w.policy != nil {
		w.policy() // the policy that the proxy finds counts
	}
	w.mu.Lock()
	if a.began = time.Now(); a.client.gone.Load() {
		a.cancelled = a.began
		w.mu.Unlock()
		return
	}
	text := a.text(w.dice(forEdges, 7, uint64(a.n)))
	a.before, a.rule = a.server.version, w.rule
	w.say(a.client.name, "asks", text)
	w.mu.Unlock()
	if a.cancelAfter > 0 {
		timer := time.AfterFunc(a.cancelAfter, func() {
			w.mu.Lock()
			late := !a.ended.IsZero()
			if !late {
				a.cancelled = time.Now()
			}
			w.mu.Unlock()
			if !late && a.client.wire != nil {
				a.client.wire.give([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + a.id() + "}}\n"))
			}
			cancel()
		})
		defer timer.Stop()
	}
	if w.settings.annotated && a.n%3 == 0 {
		w.begin(a.client.list)
	}
	switch {
	case a.client.sdk != nil:
		res, err := a.client.sdk.CallTool(ctx, &mcp.CallToolParams{Name: a.tool, Arguments: json.RawMessage(a.arguments)})
		raw, _ := json.Marshal(res)
		w.answered(a, raw, err != nil)
	case a.client.wire != nil:
		a.client.wire.give([]byte(text + "\n"))
		select {
		case <-a.done:
		case <-ctx.Done():
		}
	default:
		w.send(ctx, a, text)
		if a.form == nil {
			return
		}
		if a.filled = a.client.fill(a.form); a.filled == "" { // for want of a person
			w.mu.Lock()
			defer w.mu.Unlock()
			a.cancelled = time.Now()
			return
		}
		w.send(ctx, a, a.text(w.dice(forEdges, 7, uint64(a.n))))
	}
}

// send posts a call. If it becomes a task, send asks for that until it has ended, or cancels it when ctx is done.
func (w *edges) send(ctx context.Context, a *ask, text string) {
	p := a.client
	p.post(ctx, text)
	about := func(ctx context.Context, verb string) {
		p.post(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":"task %d","method":"tasks/%s","params":{"taskId":%q,"_meta":%s}}`,
			a.n, verb, a.task, p.meta()))
	}
	for a.task != "" && a.ended.IsZero() {
		if world.Wait(ctx, 5*time.Second) != nil {
			about(w.ctx, "cancel")
			return
		}
		about(ctx, "get")
	}
}

// take reads a message of the front: an answer, or one that does not matter here.
func (p *peer) take(message []byte) {
	m := readers[0].read(message)
	if m.method == "elicitation/create" {
		p.w.begin(func() {
			if filled := p.fill(readers[0].member(message, "params")); filled != "" && !p.gone.Load() {
				p.send(p.w.ctx, `{"jsonrpc":"2.0","id":`+m.id+`,"result":`+filled+`}`)
			}
		})
	}
	if m.method != "" || m.id == "" {
		return
	}
	switch m.id {
	case `"hello"`:
		close(p.ready)
		return
	case `"list"`:
		p.w.listed(readers[0].member(message, "result"))
		return
	}
	for _, a := range p.w.asks {
		if a.id() == m.id && a.client == p {
			result := readers[0].member(message, "result")
			p.w.answered(a, result, result == nil)
		}
		if m.id == fmt.Sprintf(`"task %d"`, a.n) {
			task := readers[0].member(message, "result")
			switch status := text(readers[0].member(task, "status")); {
			case task == nil, status == "failed", status == "cancelled":
				p.w.answered(a, nil, true)
			case status == "completed":
				p.w.answered(a, readers[0].member(task, "result"), false)
			}
		}
	}
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` + protocol + `","capabilities":%[2]s,"clientInfo":{"name":%[1]q,"version":"1"}}}`

// meta is what each request of a client without a session has of that.
func (p *peer) meta() string {
	if !p.modern {
		return "{}"
	}
	return fmt.Sprintf(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}`,
		p.name, p.capabilities())
}

func (p *peer) capabilities() string {
	var all []string
	if p.forms {
		all = append(all, `"elicitation":{}`)
	}
	if p.tasks {
		all = append(all, `"extensions":{"io.modelcontextprotocol/tasks":{}}`)
	}
	return "{" + strings.Join(all, ",") + "}"
}

func (p *peer) enter() {
	p.gone.Store(false)
	if p.modern {
		close(p.ready)
		return
	}
	p.send(p.w.ctx, fmt.Sprintf(hello, p.name, p.capabilities()))
	<-p.ready
	p.send(p.w.ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// list asks for the tools.
func (p *peer) list() {
	if !p.gone.Load() {
		p.send(p.w.ctx, `{"jsonrpc":"2.0","id":"list","method":"tools/list","params":{"_meta":`+p.meta()+`}}`)
	}
}

func (p *peer) send(ctx context.Context, text string) {
	if p.wire != nil {
		p.wire.give([]byte(text + "\n"))
		return
	}
	p.post(ctx, text)
}

// post sends a message over HTTP and reads the response.
func (p *peer) post(ctx context.Context, text string) {
	p.w.mu.Lock()
	session := p.session
	p.w.mu.Unlock()
	res := &response{newWire(p.takeEvent), make(http.Header)}
	p.http.ServeHTTP(res, request(ctx, origin+"/mcp", text, "Content-Type", "application/json", headerSession, session))
	if s := res.header.Get(headerSession); s != "" {
		p.w.mu.Lock()
		p.session = s
		p.w.mu.Unlock()
	}
	p.takeEvent(res.came)
}

func (p *peer) takeEvent(line []byte) { p.take(bytes.TrimPrefix(line, []byte("data: "))) }

// request is one of HTTP, with a body as a POST.
func request(ctx context.Context, url, body string, header ...string) *http.Request {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req := httptest.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// A response is read while it is written.
type response struct {
	*wire

	header http.Header
}

func (r *response) Header() http.Header { return r.header }
func (r *response) WriteHeader(int)     {}
func (r *response) Flush()              {}

// quit has the client end its connection while it waits for answers.
func (p *peer) quit() {
	p.w.mu.Lock()
	p.gone.Store(true)
	for _, a := range p.w.asks {
		if a.client == p && !a.began.IsZero() && a.ended.IsZero() {
			a.cancelled = time.Now()
		}
	}
	session := p.session
	p.session = ""
	p.w.mu.Unlock()
	if p.http != nil {
		req := request(p.w.ctx, origin+"/mcp", "", headerSession, session)
		req.Method = http.MethodDelete
		p.http.ServeHTTP(httptest.NewRecorder(), req)
	}
	p.leave()
}

func (p *peer) leave() {
	if p.wire != nil {
		_ = p.wire.Close()
	}
	if p.sdk != nil {
		_ = p.sdk.Close()
	}
}

func (b *backend) leave() {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	for _, l := range b.links {
		_ = l.Close()
	}
}

type desk uint8

const (
	atHost  desk = iota // by the host itself
	inForms             // by forms that the clients show, or by the host where a client shows none
	onPage              // on the page of the inbox
)

func (w *edges) confirmer() hitl.Confirmer {
	switch w.settings.desk {
	case inForms:
		return proxy.Fallback(elicit.New(elicit.Options{}), w)
	case onPage:
		in := inbox.New(inbox.Options{})
		b := w.enters(in)
		return hitl.ConfirmerFunc(func(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
			w.begin(func() { b.decides(request.ID) })
			return in.Confirm(ctx, request)
		})
	}
	return w
}

var edgeManners = []manner{denies, silent, late, closes, leaves, approves, approves, approves, approves, approves, approves, approves}

// decide shows the person a question, and returns the answer: silent if the context ends before it, unless the
// person does not heed that. An approval counts if it is in time.
func (w *edges) decide(ctx context.Context, shown *approved) manner {
	how, wait := w.drawAnswer(shown)
	if how == late {
		ctx = w.ctx
	}
	if how == silent || world.Wait(ctx, wait) != nil {
		return silent
	}
	if how == approves {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.say("person", "approves", shown.String())
		w.approvals = append(w.approvals, shown)
	}
	return how
}

func (w *edges) drawAnswer(shown *approved) (how manner, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	dice := w.dice(forEdges, 2, uint64(w.numberIn(shown.arguments)))
	how, wait = edgeManners[dice.IntN(len(edgeManners))], span(dice, 10*time.Millisecond, 12*time.Second)
	w.say("person", "is asked", shown.String())
	if a := w.askOf(shown.arguments); a != nil && (a.rule.denied == shown.tool || a.rule.readOnly) && a.rule == w.rule {
		w.badf("I22", a, "is asked about and must be refused")
	}
	if w.settings.locked && shown.revision != 1 {
		w.badf("I7 pins", shown, "is asked about and was never accepted")
	}
	switch {
	case w.quiet:
		how, wait = approves, 0
	case how == late:
		wait = 2 * askTimeout
	}
	return how, wait
}

func (w *edges) Confirm(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
	shown := &approved{server: request.Tool.Server, tool: request.Tool.Name(), arguments: compact(request.Arguments), revision: revisionOf(request.Tool.Definition)}
	switch w.decide(ctx, shown) {
	case denies, closes:
		return hitl.Decision{Reason: "not today"}, nil
	case silent, leaves:
		<-ctx.Done()
		return hitl.Decision{}, ctx.Err()
	}
	return hitl.Decision{Verdict: hitl.Approved, By: "sim"}, nil
}

var (
	inForm = regexp.MustCompile(`(?s)\n    (\w+)/(\w+): .*Notes, revision (\d)\..*\nArguments:\n\n((?:    [^\n]*\n)+)`)
	inPage = regexp.MustCompile(`(?s)<h2 id="title"><bdi>(\w+)/(\w+)</bdi>.*Notes, revision (\d)\..*name="digest" value="(\w+)".*<textarea id="arguments"[^>]*>(.*?)</textarea>`)
)

func shownAs(server, tool, revision, arguments string) *approved {
	n, _ := strconv.Atoi(revision) // it is a digit
	return &approved{server: server, tool: tool, revision: n, arguments: compact([]byte(arguments))}
}

// fill returns a client's answer to a form, "" if the person is silent.
func (p *peer) fill(form json.RawMessage) string {
	m := inForm.FindStringSubmatch(text(readers[0].member(form, "message")))
	if m == nil {
		p.w.badf("harness", p.w.asks[0], "%s cannot read the form %s", p.name, form)
		return ""
	}
	switch p.w.decide(p.w.ctx, shownAs(m[1], m[2], m[3], m[4])) {
	case silent:
		return ""
	case denies:
		return `{"action":"accept","content":{"decision":"deny"}}`
	case closes:
		return `{"action":"cancel"}`
	case leaves:
		if p.modern { // it has nothing to end
			return ""
		}
		p.quit()
	}
	return `{"action":"accept","content":{"decision":"allow"}}`
}

// A browser shows a person the page of an inbox.
type browser struct {
	w      *edges
	page   http.Handler
	cookie string
}

const origin = "http://127.0.0.1"

// enters opens the page by its link.
func (w *edges) enters(in *inbox.Inbox) *browser {
	b := &browser{w: w, page: in}
	_, token, _ := strings.Cut(in.Link(origin, "sim"), "=")
	res := b.opens("/approvals/enter", url.Values{"token": {token}}.Encode())
	b.cookie, _, _ = strings.Cut(res.Header().Get("Set-Cookie"), ";")
	return b
}

func (b *browser) opens(path, form string) *httptest.ResponseRecorder {
	res := httptest.NewRecorder()
	b.page.ServeHTTP(res, request(b.w.ctx, origin+path, form, "Content-Type", "application/x-www-form-urlencoded", "Origin", origin, "Cookie", b.cookie))
	return res
}

// decides has the person read the page of a question and press a button.
func (b *browser) decides(id string) {
	time.Sleep(time.Millisecond) // until it is there
	path := "/approvals/question/" + id
	m := inPage.FindStringSubmatch(html.UnescapeString(b.opens(path, "").Body.String()))
	if m == nil {
		return // it is over already
	}
	shown := shownAs(m[1], m[2], m[3], m[5])
	press := "approve"
	switch b.w.decide(b.w.ctx, shown) {
	case silent, leaves:
		return
	case denies, closes:
		press = "deny"
	}
	if res := b.opens(path+"/decision", url.Values{"decision": {press}, "digest": {m[4]}}.Encode()); res.Code != http.StatusSeeOther {
		b.w.mu.Lock()
		defer b.w.mu.Unlock()
		shown.used = true // it came too late
	}
}
