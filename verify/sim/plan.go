package sim

// What is drawn before a scenario begins: its settings, its calls, and when definitions and policies change.

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
)

// arguments by what they mean: the texts of one row mean the same in different bytes.
var arguments = [][]string{
	{`{"id":9007199254740992}`, ` {"id" : 9007199254740992}`},
	{`{"id":9007199254740993}`, `{"\u0069d":9007199254740993}`}, // a float64 cannot hold it
	{`{"a":1,"b":{"d":2,"c":3}}`, `{"b":{"c":3,"d":2},"a":1}`, `{ "b":{"c":3,"d":2}, "a":1 }`},
	{``, `{}`},
	{`{"id":"x"}`},
	{`{"id":"x","mode":"read"}`, `{"mode":"read", "id":"x"}`},
	{`{"id":"x","mode":"purge"}`},
	{`{"id":"x","to":"` + stranger + `"}`},   // only where arguments are traced
	{`{"id":"x","to":"` + accomplice + `"}`}, // and from here on, where values are endorsed
	{`{"id":"x","account":"` + number + `"}`},
	{`{"id":"x","to":"` + number + `"}`},
}

const (
	ordinary = 7 // the first of arguments, which any scenario uses
	moded    = 6 // the last of those: two with a mode, and before them one without
)

// Arguments that have no row.
const (
	ambiguous   = `{"id":1,"id":2}`                // two parsers read them differently; they must never be sent
	edited      = `{"id":"edited"}`                // by an approver
	editedWorse = `{"id":"edited","mode":"purge"}` // by an approver, so that the call needs an approval
	tampered    = `{"id":"tampered"}`              // by a middleware of the host, after the approval
)

type settings struct {
	slots

	nested     nesting
	perMinute  float64
	burst      int
	hinted     bool // liar/get_note declares a limit of 30 calls a minute
	attempts   int
	lifetime   time.Duration
	maxPending int
	remembered bool // declared idempotent writes may be answered from the cache
}

// A nesting is the chains in front of the catalog.
type nesting uint8

const (
	single  nesting = iota
	twoAsk          // a chain that asks around a chain that asks
	guarded         // the same with a guard of the catalog in between
)

const (
	ttl            = 20 * time.Second // of the cache
	attemptTimeout = 8 * time.Second
	askTimeout     = 25 * time.Second
	hintPerMinute  = 30.0
)

// Kinds of dice.
const (
	forSettings = iota
	forPlan
	forFault
	forApprover
	forBackoff
	forHost
	forSlots
	forSink
	forResolver
	forEdges
	forFlow
	forConditions
)

// span draws a duration with a part of nanoseconds, so that no two events share an instant.
func span(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)))
}

func drawSettings(r *rand.Rand) settings {
	s := settings{
		attempts:   2 + r.IntN(3),
		lifetime:   5 * time.Minute,
		maxPending: 100,
		hinted:     r.IntN(3) == 0,
		remembered: r.IntN(4) == 0,
		nested:     []nesting{twoAsk, guarded, single, single, single, single}[r.IntN(6)],
	}
	limit := r.IntN(4) // none is the first
	s.perMinute, s.burst = []float64{0, 30, 120, 600}[limit], []int{0, 3, 1, 5}[limit]
	if r.IntN(4) == 0 {
		s.lifetime = span(r, time.Second, 4*time.Second)
	}
	if r.IntN(4) == 0 {
		s.maxPending = 2
	}
	return s
}

// shape is the pattern of the calls of a scenario.
type shape uint8

const (
	mixed     shape = iota
	same            // a burst of one read, identical
	distinct        // a burst of one server, all different
	sameAsked       // a burst of one dangerous call
	around          // one read again and again, with writes to its server in between
	insistent       // one write, again and again
)

func (w *scenario) plan() []*record {
	r := w.dice(forPlan, 0, 0)
	kind := shape(max(0, r.IntN(14)-9)) // mixed, most of the time
	calls := make([]*record, 0, 48)
	for range 10 + r.IntN(22) {
		c := w.draw(r, len(calls), mixed)
		if dice := w.dice(forConditions, uint64(c.n), 0); dice.IntN(8) == 0 && !c.bad {
			c.tool = toolSpecs[unconditional]
			c.says(dice, moded-dice.IntN(3))
		}
		calls = append(calls, c)
	}
	if w.settings.doubted && r.IntN(3) == 0 {
		kind = insistent
	}
	if w.alike != nil { // no burst: any of the calls that wait for one person may be the next
		kind = mixed
	}
	if kind != mixed {
		first := w.draw(r, len(calls), kind)
		if kind == around && w.settings.remembered { // then the writes that may be left out, and not reads
			first.server, first.tool = trusty, spec("set_note")
		}
		meaning := r.IntN(ordinary)
		for range 8 + r.IntN(10) {
			c := w.draw(r, len(calls), kind)
			c.server, c.scope = first.server, first.scope
			if kind != distinct {
				c.tool = first.tool
				c.says(r, meaning)
				c.bad = false
			}
			c.at = first.at + time.Duration(r.IntN(40))*time.Millisecond + time.Duration(c.n)
			if kind == insistent {
				c.at = first.at + span(r, 0, time.Minute)
			}
			if kind == around {
				c.at = first.at + span(r, 0, 15*time.Second)
				if r.IntN(4) == 0 {
					c.tool = toolSpecs[1+r.IntN(2)]
				}
			}
			calls = append(calls, c)
		}
	}
	for _, c := range calls {
		switch dice := w.dice(forFlow, uint64(c.n), 0); {
		case !w.settings.traced || c.bad:
		case w.settings.endorses && dice.IntN(2) == 0:
			c.scope = scopes[0]
			c.says(dice, ordinary+dice.IntN(len(strange)))
		case !w.settings.endorses && dice.IntN(3) == 0:
			c.says(dice, ordinary)
		}
	}
	return calls
}

func (w *scenario) draw(r *rand.Rand, n int, kind shape) *record {
	c := &record{n: n, id: callID(n)}
	c.server = servers[r.IntN(len(servers))]
	c.tool = toolSpecs[[...]int{0, 0, 0, 1, 1, 2, 2, 3, 3, 4}[r.IntN(10)]]
	c.scope = scopes[r.IntN(len(scopes))]
	c.at = span(r, 0, 60*time.Second)
	if r.IntN(3) == 0 {
		c.at = span(r, 0, 6*time.Second)
	}
	switch kind {
	case same, around:
		c.tool = spec("get_note")
	case distinct:
		c.tool = toolSpecs[r.IntN(3)]
	case sameAsked:
		c.tool = spec("delete_note")
	case insistent:
		c.tool = spec([]string{"create_note", "delete_note"}[n%2])
	}
	if r.IntN(8) > 0 {
		c.timeout = span(r, time.Second, 50*time.Second)
	}
	if kind == distinct {
		c.timeout = span(r, time.Second, 5*time.Second)
	}
	if r.IntN(4) == 0 || kind == same && r.IntN(2) == 0 {
		c.cancelAfter = span(r, time.Millisecond, 12*time.Second)
	}
	c.bad = r.IntN(60) == 0
	c.scribbles = r.IntN(3) == 0
	c.smears = r.IntN(4) == 0
	if r.IntN(3) == 0 {
		c.rogue = rogues[r.IntN(len(rogues))]
	}
	c.says(r, r.IntN(ordinary))
	switch {
	case c.bad:
		c.text, c.meaning = ambiguous, -1
	case kind == distinct:
		c.text, c.meaning = `{"n":`+callID(n)[1:]+`}`, distinctMeanings+n
	}
	return c
}

// distinctMeanings is where the meanings begin that only one call has.
const distinctMeanings = 1000

// says gives the call arguments of that meaning.
func (r *record) says(dice *rand.Rand, meaning int) {
	texts := arguments[meaning]
	r.meaning, r.text = meaning, texts[dice.IntN(len(texts))]
}

// startChanges draws and starts rug pulls, acceptances and swaps of the host's policy.
func (w *scenario) startChanges(group *sync.WaitGroup) {
	r := w.dice(forPlan, 1, 0)
	start := func(at time.Duration, text string, do func()) {
		later(group, at, func() {
			w.say("**", text, "")
			do()
		})
	}
	for range r.IntN(4) {
		server, tool := servers[r.IntN(len(servers))], toolSpecs[r.IntN(unconditional)]
		revision := r.IntN(lastRevision + 1)
		at := span(r, 0, 50*time.Second)
		start(at, "rug pull of "+server+"/"+tool.name, func() { w.revise(server, tool.name, revision) })
		if r.IntN(3) > 0 {
			at += span(r, 0, 8*time.Second)
			start(at, "listed "+server, func() { w.refresh(server) })
		}
		if w.settings.locked && r.IntN(2) == 0 {
			start(at+span(r, 0, 8*time.Second), "accepted", w.accept)
		}
		if w.settings.pooled && r.IntN(2) == 0 {
			id := []string{first, losesAnswers, second}[r.IntN(3)]
			start(at+span(r, 0, 8*time.Second), "replica "+id+" of another version", func() {
				w.revise(id, tool.name, revision)
				w.refresh(trusty)
			})
		}
	}
	for _, c := range w.order {
		if c.rogue == freshens && c.tool.byName == asks { // as one does where definitions change
			at := c.at + span(r, 0, 6*time.Second)
			start(at, "rug pull of "+c.server+"/"+c.tool.name, func() {
				w.revise(c.server, c.tool.name, 2)
				w.refresh(c.server)
			})
		}
	}
	w.endEndorsements(start)
	if r.IntN(3) == 0 {
		swap := swaps[r.IntN(len(swaps))]
		start(span(r, 0, 50*time.Second), swap.text, func() { swap.do(w) })
	}
}

// swaps are the changes of policy that a host may make while it runs.
var swaps = []struct {
	text string
	do   func(w *scenario)
}{
	{text: "trust " + replica, do: func(w *scenario) {
		w.swap(func(p *policy) { p.trusted[replica] = true }, func() error { w.tools.Trust(replica); return nil })
	}},
	{text: "ask before " + trusty + "/get_note", do: func(w *scenario) {
		w.override(trusty, "get_note", asks, annotation.Annotations{RequiresConfirmation: annotation.Yes})
	}},
	{text: liar + "/frobnicate reads", do: func(w *scenario) { w.override(liar, "frobnicate", reads, annotation.ReadOnly()) }},
	{text: replica + "/delete_note only adds", do: func(w *scenario) { w.override(replica, "delete_note", writes, annotation.Write()) }},
	{text: liar + "/create_note destroys", do: func(w *scenario) { w.override(liar, "create_note", asks, annotation.Destructive()) }},
	{text: liar + "/* are updates", do: func(w *scenario) {
		w.swap(func(p *policy) { p.rule = true }, func() error {
			_, err := w.tools.OverrideMatching(liar+"/*", annotation.Update())
			return err
		})
	}},
}
