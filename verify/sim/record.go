package sim

// The journal of a scenario: each call with its plan and its outcome, each execution, and what happened in between, which
// is printed if a check fails. Chance is drawn by event (dice), so that one seed always plays the same scenario.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/middleware"
)

// A record is one call: its plan, and its outcome, which the journal's mutex guards.
type record struct {
	n           int
	id          string
	at          time.Duration // from the start of the scenario
	server      string
	tool        *toolSpec
	scope       string
	meaning     int    // of the arguments; -1 if they must not be sent
	text        string // the arguments
	timeout     time.Duration
	cancelAfter time.Duration
	bad         bool // the arguments are ambiguous
	scribbles   bool // overwrites its arguments and result, once it has returned
	smears      bool // overwrites its arguments while a person looks at them
	rogue       rogue
	narrow      bool      // may not see everything
	turn        []*record // the calls that a model asks for with it, nil for none

	sent      []byte // the arguments, as the caller passed them
	begun     time.Time
	ended     time.Time // zero while it runs
	revision  int       // of the definition that it was made for
	digest    middleware.Digest
	static    law          // of the tool, when it began
	trusted   bool         // its server was, when it began
	judged    law          // of the tool with these arguments, when it began
	law       law          // of the call, when it began or its arguments were traced
	endorsed  map[int]bool // which of strange were, when its arguments were traced
	epoch     int          // writes that had been handed over to the server when it began
	deadline  time.Time    // zero for none
	cancelled time.Time    // when it was cancelled
	entered   time.Time    // when it last came to the cache
	passes    int          // how often it came there
	overlaps  bool         // a write to the server was under way then
	touched   bool         // and one that may change what the call reads
	attempts  int          // how often it came through the rate limit
	asked     int
	mild      bool   // the first question was about a call that needs no approval
	told      bool   // a person was told that the same call may have happened
	worse     string // the arguments after an edit that makes it need another approval
	yes       *approval
	execs     []*exec
	edge      *edge // what the chain returned, before package output
	counts    bool  // it has used up one of its session's calls
	records   int   // in the trail
	intents   int
	intended  bool // one of them was kept
	ends      int
	outcome   audit.Outcome
}

type approval struct {
	at    time.Time
	bytes string // of the arguments that were approved
}

// An exec is one hand-over to a server.
type exec struct {
	n        int
	lot      int // that decides between two ways of one fault
	call     *record
	server   string
	replica  string // "" where the server has none
	scope    string
	digest   middleware.Digest // of the definition that it was sent for
	start    time.Time
	end      time.Time // zero while it runs
	fault    fault
	law      law // when it was handed over
	epoch    int // writes that had been handed over to the server, this one included
	revision int
	meaning  int
	text     string        // of the answer
	after    time.Duration // the server asked not to be called again for as long
}

// delivered reports whether the server may have carried it out, by the error that the caller got.
func (e *exec) delivered() bool {
	return e.fault != notSent && e.fault != refused && e.fault != refusedTie
}

// delivered returns the first execution that a server may have carried out, nil for none.
func (r *record) delivered() *exec {
	if i := slices.IndexFunc(r.execs, (*exec).delivered); i >= 0 {
		return r.execs[i]
	}
	return nil
}

// live reports whether the call was under way at the time.
func (r *record) live(at time.Time) bool {
	return !r.begun.IsZero() && r.begun.Before(at) && (r.ended.IsZero() || r.ended.After(at))
}

// limit is when the call had to be back, zero for never.
func (r *record) limit() time.Time {
	if !r.cancelled.IsZero() && (r.deadline.IsZero() || r.cancelled.Before(r.deadline)) {
		return r.cancelled
	}
	return r.deadline
}

// last returns the last hand-over of the call, nil for none.
func (r *record) last() *exec {
	if len(r.execs) == 0 {
		return nil
	}
	return r.execs[len(r.execs)-1]
}

func (r *record) String() string {
	return fmt.Sprintf("%s %q %s/%s", r.id, r.scope, r.server, r.tool.name)
}

// traceKey is the member of _meta with a call's ID. As the transport's, it prevents no caching.
const traceKey = "traceparent"

func callID(n int) string { return "c" + strconv.Itoa(n) }

// An event is a line of the trace, formatted only when it is printed.
type event struct {
	at    time.Duration
	who   string
	what  string
	extra string
}

// A journal is the trace of a scenario and its violations.
type journal struct {
	seed  uint64
	start time.Time
	mu    sync.Mutex // guards what the scenario's own fields say

	lines      sync.Mutex // guards what follows
	trace      []event
	violations []string
}

// say adds to the trace.
func (j *journal) say(who, what, extra string) {
	j.lines.Lock()
	defer j.lines.Unlock()
	j.trace = append(j.trace, event{j.now(), who, what, extra})
}

// badf reports a broken invariant.
func (j *journal) badf(invariant string, who any, format string, args ...any) {
	text := fmt.Sprintf("%s: %v: %s", invariant, who, fmt.Sprintf(format, args...))
	j.say("!!", text, "")
	j.lines.Lock()
	defer j.lines.Unlock()
	j.violations = append(j.violations, text)
}

func (j *journal) now() time.Duration { return time.Since(j.start) }

// print returns what happened, in order, after the scenario's settings.
func (j *journal) print(settings any) string {
	j.lines.Lock()
	defer j.lines.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "settings %+v\n", settings)
	slices.SortStableFunc(j.trace, func(a, b event) int { return int(a.at - b.at) })
	for _, e := range j.trace {
		fmt.Fprintf(&b, "%15.9f  %-4s %s %s\n", e.at.Seconds(), e.who, e.what, e.extra)
	}
	return b.String()
}

// later does something after a while, as one of a group.
func later(group *sync.WaitGroup, after time.Duration, do func()) {
	group.Go(func() {
		time.Sleep(after)
		do()
	})
}

// dice returns numbers that depend on the seed and the two parts alone, in whatever order.
func (j *journal) dice(kind, n, m uint64) *rand.Rand {
	return rand.New(rand.NewPCG(j.seed*0x9e3779b97f4a7c15+kind, n<<20|m))
}

// play runs a scenario in a bubble of its own. One that cannot end is a violation.
func (j *journal) play(t *testing.T, scenario func(*testing.T)) {
	defer func() {
		if v := recover(); v != nil { // a bubble that cannot end panics
			j.badf("I19", "the scenario", "does not end: %v", v)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		j.start = time.Now()
		scenario(t)
	})
}
