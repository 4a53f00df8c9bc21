package hook

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A pending is a call between the event before it and its result.
type pending struct {
	event   *event
	key     string // of the call among those of its session
	reached chan stage
	result  chan *mcp.CallToolResult // nil for a call that was not made
	done    chan struct{}            // closed when the chain is through
	stop    context.CancelFunc       // ends the chain
	waits   atomic.Bool              // for the result
	silent  atomic.Bool              // the agent decides by its own rules
	allowed atomic.Bool              // by the chain, without the agent's dialog
	lost    atomic.Bool              // whether it was made will not be reported
}

// wait returns the result that the agent reports, nil if the call was not made.
func (p *pending) wait(ctx context.Context) (*mcp.CallToolResult, error) {
	p.waits.Store(true)
	select {
	case res := <-p.result:
		return res, nil
	case <-ctx.Done():
	}
	select {
	case res := <-p.result: // it came first
		return res, nil
	default:
		return nil, ctx.Err()
	}
}

// add keeps a call until its result comes, and reports whether an identical one of its session waits.
func (g *Guard) add(p *pending) (again bool) {
	g.mu.Lock()
	for _, other := range g.open {
		again = again || other.event.scope() == p.event.scope() && other.event.what() == p.event.what()
	}
	g.open, g.seen = append(g.open, p), time.Now()
	var lost *pending
	if len(g.open) > maxOpen {
		lost = g.open[0]
	}
	g.mu.Unlock()
	if lost != nil {
		g.lose(lost.is)
	}
	return again
}

func (g *Guard) remove(p *pending) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = slices.DeleteFunc(g.open, p.is)
}

// is reports whether another call is this one.
func (p *pending) is(other *pending) bool { return other == p }

// drop ends calls whose result will not come, and waits until they have ended.
func (g *Guard) drop(which func(*pending) bool) {
	g.mu.Lock()
	var lost []*pending
	for _, p := range g.open {
		if which(p) {
			lost = append(lost, p)
		}
	}
	g.mu.Unlock()
	for _, p := range lost {
		select {
		case p.result <- nil:
		default: // it has come
		}
		if !p.waits.Load() { // but for a person here, or for its turn
			p.stop()
		}
		<-p.done
	}
}

// lose ends calls whose results will not be reported: each may have been made.
func (g *Guard) lose(which func(*pending) bool) {
	g.drop(func(p *pending) bool {
		if !which(p) {
			return false
		}
		p.lost.Store(true)
		return true
	})
}

// key names a call among those of its session: by its ID, or by what it is.
func (e *event) key() string {
	if e.call != "" {
		return "id " + e.call
	}
	return e.what()
}

// what names what a call does.
func (e *event) what() string { return e.tool + " " + string(e.input) }
