package agent

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/internal/agent/screen"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A line is what is noted of one call while it is under way. The host's own
// middleware puts it into the context, and what stands further in writes on it.
type line struct {
	token string // of its progress
	why   string

	mu       sync.Mutex
	sent     json.RawMessage // the arguments as they were sent; a person may have edited them
	tries    int             // that reached the executor
	retries  int
	memory   bool
	waited   time.Duration
	asked    int
	approved int
	by       string
	since    time.Time     // of the question that waits
	thought  time.Duration // how long a person took to answer

	came *came // for the one who made the call, nil while nothing has
}

// came is how a call ended further in, before output made it fit for a model.
type came struct {
	res *mcp.CallToolResult
	err error
}

type lineKey struct{}

func lineOf(ctx context.Context) *line {
	l, _ := ctx.Value(lineKey{}).(*line)
	return l
}

// write runs f while nobody else reads or writes the line.
func (l *line) write(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// lines are those of the calls of one turn. They are shown in the order of the calls,
// whichever ends first.
type lines struct {
	mu    sync.Mutex
	byID  map[string]*line
	all   []*line
	shown []*screen.Call // nil for what has not ended
	next  int            // of all, to be shown
	count int            // of all turns
}

func (s *lines) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID, s.all, s.shown, s.next = make(map[string]*line), nil, nil, 0
}

// begin adds the line of a call.
func (s *lines) begin(id, token string, request plan.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &line{token: token, why: request.Why, sent: request.Arguments}
	if _, twice := s.byID[id]; !twice { // of which only the first is made
		s.byID[id] = l
	}
	s.all, s.shown = append(s.all, l), append(s.shown, nil)
}

// find returns the line of a call, nil for none.
func (s *lines) find(id string) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

func (s *lines) ofTurn(n int) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[n]
}

// waits reports whether a call with this token is under way.
func (s *lines) waits(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.all {
		if l.token == token {
			return s.shown[i] == nil
		}
	}
	return false
}

// show hands on every line that has its turn.
func (s *lines) show(l *line, call screen.Call, to func(screen.Call)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.all {
		if s.all[i] == l {
			s.shown[i] = &call
		}
	}
	for ; s.next < len(s.shown) && s.shown[s.next] != nil; s.next++ {
		s.count++
		s.shown[s.next].N = s.count
		to(*s.shown[s.next])
	}
}
