package catalog

import (
	"fmt"
	"reflect"

	"github.com/fairlead-go/fairlead/catalog/internal/listing"
	"github.com/fairlead-go/fairlead/middleware"
)

// An Event says what changed in the catalogue. Events come one at a time, in the order in which
// things happened. A listener that is slow or panics delays nobody: it falls behind, and if more than
// 50,000 wait, what comes then is dropped and counted.
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

const maxEvents = 50_000

// report reports what is different in the next snapshot.
func (c *Catalog) report(before, next *snapshot) {
	if c.events.Listener == nil {
		return
	}
	for _, after := range next.list {
		was := before.tools[name{after.Server, after.Name()}].tool
		switch {
		case was == after:
		case was == nil:
			c.events.Add(Event{Kind: EventDiscovered, Server: after.Server, After: after})
		case was.Digest != after.Digest:
			c.events.Add(Event{Kind: EventChanged, Server: after.Server, Before: was, After: after})
		case !reflect.DeepEqual(was.Annotations, after.Annotations):
			c.events.Add(Event{Kind: EventUpdated, Server: after.Server, Before: was, After: after})
		}
	}
	for _, was := range before.list {
		if _, there := next.tools[name{was.Server, was.Name()}]; !there {
			c.events.Add(Event{Kind: EventRemoved, Server: was.Server, Before: was})
		}
	}
}
