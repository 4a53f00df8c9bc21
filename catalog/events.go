package catalog

import (
	"fmt"
	"log/slog"
	"reflect"
	"sync"

	"github.com/fairlead-go/fairlead/middleware"
)

// An Event says what changed in the catalogue. Events come in the order of what they
// tell, one at a time. A listener that is slow or panics harms nobody: it falls
// behind, and where more than 50,000 wait, what comes then is dropped and counted.
type Event struct {
	Kind   EventKind
	Server string
	// Before is the tool as it was, nil where there was none; After is the tool as it
	// is, nil where it is gone. Both are shared and read-only.
	Before, After *middleware.Tool
	// Err is why a list failed, for EventRefreshFailed.
	Err error
	// Dropped is how many events were lost, for EventsDropped.
	Dropped int
}

// EventKind is what an [Event] tells.
type EventKind string

// The kinds.
const (
	EventDiscovered    EventKind = "tool discovered"
	EventChanged       EventKind = "tool changed" // its definition
	EventRemoved       EventKind = "tool removed"
	EventUpdated       EventKind = "annotations updated" // of the same definition: by trust, a rule, an override
	EventRefreshFailed EventKind = "refresh failed"      // what was known before counts
	EventsDropped      EventKind = "events dropped"      // look at List
)

// String returns the event on one line.
func (e Event) String() string {
	switch {
	case e.Kind == EventRefreshFailed:
		return fmt.Sprintf("%s: %s: %s", e.Server, e.Kind, line(e.Err))
	case e.Kind == EventsDropped:
		return fmt.Sprintf("%s: %d", e.Kind, e.Dropped)
	case e.After == nil:
		return fmt.Sprintf("%s: %s", e.Before, e.Kind)
	case e.Before == nil || e.Before.Safety() == e.After.Safety():
		return fmt.Sprintf("%s: %s, %s", e.After, e.Kind, e.After.Safety())
	}
	return fmt.Sprintf("%s: %s, %s → %s", e.After, e.Kind, e.Before.Safety(), e.After.Safety())
}

const maxEvents = 50_000

// events is the queue before the listener. Its goroutine is there while the queue is
// not empty.
type events struct {
	listener func(Event) // nil for none
	most     int         // how many may wait
	log      *slog.Logger

	mu      sync.Mutex
	queue   []Event
	dropped int
	running bool
	closed  bool
}

// diff tells what is different in the next snapshot.
func (e *events) diff(before, next *snapshot) {
	if e.listener == nil {
		return
	}
	for _, after := range next.list {
		was := before.tools[name{after.Server, after.Name()}].tool
		switch {
		case was == after:
		case was == nil:
			e.add(Event{Kind: EventDiscovered, Server: after.Server, After: after})
		case was.Digest != after.Digest:
			e.add(Event{Kind: EventChanged, Server: after.Server, Before: was, After: after})
		case !reflect.DeepEqual(was.Annotations, after.Annotations):
			e.add(Event{Kind: EventUpdated, Server: after.Server, Before: was, After: after})
		}
	}
	for _, was := range before.list {
		if _, there := next.tools[name{was.Server, was.Name()}]; !there {
			e.add(Event{Kind: EventRemoved, Server: was.Server, Before: was})
		}
	}
}

func (e *events) add(event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.listener == nil || e.closed:
		return
	case len(e.queue) >= e.most: // one more where it tells of what was dropped
		e.dropped++
		return
	}
	if e.dropped > 0 {
		e.queue = append(e.queue, Event{Kind: EventsDropped, Dropped: e.dropped})
		e.dropped = 0
	}
	e.queue = append(e.queue, event)
	if !e.running {
		e.running = true
		go e.run()
	}
}

// run tells the listener one event after the other until there is none.
func (e *events) run() {
	ended := false
	defer func() {
		if !ended { // the listener ended the goroutine
			go e.run()
		}
	}()
	for {
		event, ok := e.take()
		if !ok {
			break
		}
		e.tell(event)
	}
	ended = true
}

// take returns the next event. Once there is none, running is false.
func (e *events) take() (event Event, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case len(e.queue) > 0:
		event, e.queue = e.queue[0], e.queue[1:]
		return event, true
	case e.dropped > 0:
		event, e.dropped = Event{Kind: EventsDropped, Dropped: e.dropped}, 0
		return event, true
	}
	e.queue, e.running = nil, false
	return Event{}, false
}

func (e *events) tell(event Event) {
	defer func() {
		if r := recover(); r != nil {
			e.log.Error("catalog: Options.OnEvent panicked", slog.String("event", string(event.Kind)), slog.String("panic", fmt.Sprint(r)))
		}
	}()
	e.listener(event)
}

func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed, e.queue, e.dropped = true, nil, 0
}
