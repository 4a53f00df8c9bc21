package catalog

import (
	"fmt"
	"log/slog"
	"reflect"
	"sync"

	"github.com/fairlead-go/fairlead/catalog/internal/listing"
	"github.com/fairlead-go/fairlead/middleware"
)

// An Event is a change of the catalog. Events come one at a time, in order. A slow listener delays nothing: beyond
// 50,000 waiting events the rest are dropped and counted.
type Event struct {
	Kind   EventKind
	Server string
	// Before and After are the tool as it was and as it is, or nil. Both are read-only.
	Before, After *middleware.Tool
	// Err is why a list failed, for EventRefreshFailed.
	Err error
	// Dropped is how many events were lost, for EventsDropped.
	Dropped int
}

// EventKind is the kind of an [Event].
type EventKind string

// The kinds.
const (
	EventDiscovered    EventKind = "tool discovered"
	EventChanged       EventKind = "tool changed" // its definition
	EventRemoved       EventKind = "tool removed"
	EventUpdated       EventKind = "annotations updated" // of the same definition: by trust, a rule, an override
	EventRefreshFailed EventKind = "refresh failed"      // the earlier list counts
	EventsDropped      EventKind = "events dropped"      // look at List
)

// String returns the event on one line.
func (e Event) String() string {
	switch {
	case e.Kind == EventRefreshFailed:
		return fmt.Sprintf("%s: %s: %s", e.Server, e.Kind, listing.Line(e.Err))
	case e.Kind == EventsDropped:
		return fmt.Sprintf("%s: %d", e.Kind, e.Dropped)
	case e.After == nil:
		return fmt.Sprintf("%s: %s", e.Before, e.Kind)
	case e.Before == nil || e.Before.Safety() == e.After.Safety():
		return fmt.Sprintf("%s: %s, %s", e.After, e.Kind, e.After.Safety())
	}
	return fmt.Sprintf("%s: %s, %s → %s", e.After, e.Kind, e.Before.Safety(), e.After.Safety())
}

// events are the events that wait for a listener. It gets them one by one, on goroutines of its own.
type events struct {
	listener func(Event) // nil for none
	log      *slog.Logger
	most     int // waiting events, after which one counts those that it drops

	mu      sync.Mutex
	waiting []Event
	running bool
	closed  bool
}

func (q *events) add(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.listener == nil || q.closed {
		return
	}
	if n := len(q.waiting); n >= q.most {
		if last := &q.waiting[n-1]; last.Kind == EventsDropped {
			last.Dropped++
			return
		}
		e = Event{Kind: EventsDropped, Dropped: 1}
	}
	q.waiting = append(q.waiting, e)
	if !q.running {
		q.running = true
		go q.run()
	}
}

// run passes one event and goes on with the next, even if the listener ends the goroutine.
func (q *events) run() {
	e, ok := q.take()
	if !ok {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			q.log.Error("catalog: Options.OnEvent panicked", slog.String("event", string(e.Kind)), slog.String("panic", fmt.Sprint(r)))
		}
		go q.run()
	}()
	q.listener(e)
}

// take returns the next event. Without one, running is false from then on.
func (q *events) take() (e Event, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting, q.running = nil, false
		return e, false
	}
	e, q.waiting = q.waiting[0], q.waiting[1:]
	return e, true
}

func (q *events) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.waiting = true, nil
}

// report adds the events that lead from one snapshot to the next; the caller holds the mutex.
func (c *Catalog) report(before, next *snapshot) {
	if c.events.listener == nil {
		return
	}
	for _, after := range next.list {
		was := before.tools[name{after.Server, after.Name()}].tool
		switch {
		case was == after:
		case was == nil:
			c.events.add(Event{Kind: EventDiscovered, Server: after.Server, After: after})
		case was.Digest != after.Digest:
			c.events.add(Event{Kind: EventChanged, Server: after.Server, Before: was, After: after})
		case !reflect.DeepEqual(was.Annotations, after.Annotations):
			c.events.add(Event{Kind: EventUpdated, Server: after.Server, Before: was, After: after})
		}
	}
	for _, was := range before.list {
		if _, there := next.tools[name{was.Server, was.Name()}]; !there {
			c.events.add(Event{Kind: EventRemoved, Server: was.Server, Before: was})
		}
	}
}
