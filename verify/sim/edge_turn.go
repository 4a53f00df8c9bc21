package sim

// A server over HTTP, or what is in front of it, turns some calls away by a status that is given before anything reads
// them, and ends sessions. Neither leaves a doubt: the call may be sent again, at once if only its session was over. A
// status that proves nothing, such as one of a gateway whose server died, leaves one.

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A turning is how a server turns requests away.
type turning struct {
	statuses bool            // of calls
	ends     []time.Duration // when it ends all sessions
	text     bool            // a session that it has ended has 400 and a text, in place of 404
	gateway  bool            // in front of it answers when it dies
	protocol protocolOf      // by which requests reach it, see edge_reset.go
}

func (w *edges) drawTurning(i int) (t turning) {
	r := w.dice(forEdges, 11, uint64(i))
	t.statuses, t.text, t.gateway = r.IntN(2) == 0, r.IntN(3) == 0, r.IntN(2) == 0
	if r.IntN(2) == 0 {
		for range 1 + r.IntN(3) {
			t.ends = append(t.ends, span(r, time.Second, edgeLength))
		}
	}
	t.protocol = protocolOf(w.dice(forEdges, 18, uint64(i)).IntN(3))
	return t
}

// startEnds has the servers end their sessions.
func (w *edges) startEnds(group *sync.WaitGroup) {
	for _, b := range w.servers {
		for _, at := range b.turns.ends {
			later(group, at, b.endSessions)
		}
	}
}

// endSessions ends all sessions. What is executed in them goes on.
func (b *backend) endSessions() {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	b.w.say(b.name, "ends", "its sessions")
	for _, l := range b.links {
		l.over = true
		_ = l.Close()
	}
}

func (b *backend) isOver(l *link) bool {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	return l.over
}

// turnsAway returns the status by which a request is turned away, and a body; 0 for none.
func (b *backend) turnsAway(l *link, named bool, body []byte) (status int, reason string) {
	m := b.reader.read(body)
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	a := b.w.askOf(m.arguments)
	if m.method != "tools/call" {
		a = nil
	}
	switch {
	case named && l != nil && l.over && b.turns.text:
		status, reason = http.StatusBadRequest, "Bad Request: unknown session"
	case named && l != nil && l.over:
		status, reason = http.StatusNotFound, "no such session"
	case a != nil && b.turns.statuses && !b.w.quiet:
		dice := b.w.dice(forEdges, 12, uint64(a.n)<<4|uint64(a.turned&15))
		all := []int{401, 403, 405, 410, 413, 415, 421, 431}
		if status = all[dice.IntN(len(all))]; dice.IntN(3) > 0 {
			status = 0
		}
		reason = "the request is not for this server"
	}
	if a != nil && status == 0 {
		a.reached++
	} else if a != nil {
		a.turned++
		b.w.say(b.name, "turns away", a.String()+": "+http.StatusText(status))
	}
	return status, reason
}

// died answers for a server that died: the connection breaks, or a gateway returns its own status.
func (b *backend) died(respond func(int, io.ReadCloser, ...string) (*http.Response, error)) (*http.Response, error) {
	if !b.turns.gateway {
		return nil, errDied
	}
	return respond(http.StatusBadGateway, io.NopCloser(bytes.NewReader([]byte("the server behind does not answer"))))
}

// repeats returns the call that the client makes once more since the first was turned away, nil for none.
func (w *edges) repeats(a *ask) *ask {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.again == nil || !a.wasTurnedAway() || a.ended.IsZero() || !a.cancelled.IsZero() || w.now() > edgeLength {
		return nil
	}
	return a.again
}

// wasTurnedAway reports whether every request of the call was.
func (a *ask) wasTurnedAway() bool { return a.turned > 0 && a.reached == 0 }

// planRepetitions plans, for each write to a server that turns calls away, the same call once more.
func (w *edges) planRepetitions() {
	for _, a := range w.asks[:w.planned] {
		if a.server.turns.statuses && a.shape == asIs && a.tool != "get_note" {
			a.again = &ask{n: len(w.asks), client: a.client, server: a.server, tool: a.tool, arguments: a.arguments, done: make(chan struct{}), repeats: true}
			w.asks = append(w.asks, a.again)
		}
	}
}

// checkTurned: I35. Of a call that was turned away no client reads that it may have happened, of one that reached its server
// none reads that nothing has happened, whatever became of its last attempt, and the same call as one that was turned away is
// not held.
func (w *edges) checkTurned(a *ask, result []byte) {
	if a.wasTurnedAway() && strings.Contains(string(result), "may or may not have happened") {
		w.badf("I35", a, "was turned away, and its client reads %s", result)
	}
	if a.repeats && strings.Contains(string(result), "an earlier call with the same effect") {
		w.badf("I35", a, "was held, and the one before was turned away: %s", result)
	}
	if i := slices.IndexFunc(w.deliveries, func(d *delivery) bool { return d.ask == a }); i >= 0 && strings.Contains(string(result), "Nothing has happened") {
		w.badf("I35", a, "reached its server as %v, and its client reads %s", w.deliveries[i], result)
	}
}
