package callstate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Record is what has happened to a call so far.
type Record struct {
	// Tool is the tool as it was classified furthest in, nil if nothing classified it.
	Tool     *middleware.Tool
	Approval Approval
	// InDoubt is when a call with the same effect was made that may have happened, zero for none.
	InDoubt time.Time
	// Flight is the key under which a store of replicas has the call as one that is being made, "" for none.
	Flight string
	// By names the person who decided last, and Via the way on which the person was asked, both as the confirmer
	// reports them.
	By, Via string
	// Edited are the arguments as a person edited them, nil if they are unchanged.
	Edited []byte
	// Asked are the arguments that a person was to be asked about, a copy that the caller cannot change.
	Asked []byte
	// Attempts is how often the call was handed on by retry, 0 without one.
	Attempts int
	// Waited is how long the call waited for people.
	Waited time.Duration
	// Replica is the one that was called last, "" without routing.
	Replica string
	// Cached is true if the result is an earlier one, or that of another caller.
	Cached bool
	// Age is how old a cached result is, 0 for that of a call in flight, and Freshness how long it stays true.
	Age       time.Duration
	Freshness annotation.Freshness
	// Sources are where the arguments came from, nil unless package flow traced them.
	Sources []middleware.Source
	// Undo is the call that takes this one back, the zero value for none.
	Undo Undo
	// Decisions are in the order of time.
	Decisions []Decision
}

// An Undo is a call that takes another one back.
type Undo struct {
	Server, Tool string
	Arguments    []byte
}

// An Approval is how a call was approved; the zero value is not approved.
type Approval struct {
	ID       string // of the question, under which the store of approvals has it
	By       string // who approved, as the confirmer named the person
	Standing bool   // by a remembered approval
}

// A Decision is one decision about the call.
type Decision struct {
	Stage string // the kind of the middleware: "cache", "retry"
	What  string // one of few words, fit for a metric: "hit", "miss"
	Why   string // for people; "" if What is enough
}

// Memory returns in words what a decision about a hit of the cache leaves out, and why a call was observed, "" for
// others: words are made only for a reader.
func (r *Record) Memory(d Decision) string {
	if d.Stage == "observe" {
		return d.Why
	}
	if d.Stage != "cache" || d.What != "hit" {
		return ""
	}
	return fmt.Sprintf("from the cache, %v old, %s", r.Age.Round(time.Millisecond), cmp.Or(r.Freshness, annotation.Volatile))
}

// Decide adds a decision.
func (s *State) Decide(stage, what, why string) {
	if s.live() {
		s.call.mu.Lock()
		defer s.call.mu.Unlock()
		s.call.decisions = append(s.call.decisions, Decision{stage, what, why})
	}
}

// Classify records the tool as it is classified now.
func (s *State) Classify(tool *middleware.Tool) {
	if s.live() {
		s.call.mu.Lock()
		defer s.call.mu.Unlock()
		s.call.tool = tool
	}
}

// Attempted counts an attempt.
func (s *State) Attempted() {
	if s.live() {
		s.call.attempts.Add(1)
	}
}

// Remembered records that the result is an earlier one, or that of another caller.
func (s *State) Remembered(age time.Duration, freshness annotation.Freshness) {
	if s.live() {
		s.call.mu.Lock()
		defer s.call.mu.Unlock()
		s.call.cached, s.call.age, s.call.freshness = true, age, freshness
	}
}

// Write changes the record by f, but for the number of attempts.
func (s *State) Write(f func(*Record)) {
	if !s.live() {
		return
	}
	c := s.call
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.whole()
	f(&r)
	c.tool, c.cached, c.age, c.freshness, c.decisions = r.Tool, r.Cached, r.Age, r.Freshness, r.Decisions
	c.waited.Store(int64(r.Waited))
	if c.rest == nil {
		c.rest = new(Record)
	}
	*c.rest = r
}

// whole returns the record as it is. The lock is held.
func (c *Call) whole() (r Record) {
	if c.rest != nil {
		r = *c.rest
	}
	r.Tool, r.Attempts, r.Cached, r.Age, r.Freshness, r.Decisions = c.tool, int(c.attempts.Load()), c.cached, c.age, c.freshness, c.decisions
	return r
}

// Record returns what has happened so far. Its decisions are read-only.
func (s *State) Record() (r Record) {
	if s.live() {
		s.call.mu.Lock()
		defer s.call.mu.Unlock()
		r = s.call.whole()
		r.Decisions = slices.Clip(r.Decisions) // later ones are written behind these
	}
	return r
}

// Waited returns how long the call has waited for people so far, without a copy of the record.
func (s *State) Waited() time.Duration {
	if s.live() {
		return time.Duration(s.call.waited.Load())
	}
	return 0
}

// Tool returns the tool as it was classified furthest in, and tool if nothing did.
func (s *State) Tool(tool *middleware.Tool) *middleware.Tool {
	if s.live() {
		s.call.mu.Lock()
		defer s.call.mu.Unlock()
		return cmp.Or(s.call.tool, tool)
	}
	return tool
}

// Last returns the last decision of a stage, the zero value without one.
func (r *Record) Last(stage string) Decision {
	for _, d := range slices.Backward(r.Decisions) {
		if d.Stage == stage {
			return d
		}
	}
	return Decision{}
}

// Raised reports whether a rule about the source of an argument asks about the call, or
// whether the same call may have happened already.
func (r *Record) Raised() bool {
	if !r.InDoubt.IsZero() {
		return true
	}
	return slices.ContainsFunc(r.Sources, func(s middleware.Source) bool { return s.Rule != "" })
}
