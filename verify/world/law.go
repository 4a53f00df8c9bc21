package world

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Event is a call of the items' tools, as its caller saw it.
type Event struct {
	Call         string
	Kind         Kind
	Item         string // empty for all
	Version      int64
	Began, Ended time.Time
	Denied       bool   `json:",omitempty"`
	NotSent      bool   `json:",omitempty"`
	Err          string `json:",omitempty"`
}

// Reads reports the reads that are older than a write that was over before they began.
func Reads(events []Event) (broken []string) {
	var writes []*Event
	for i := range events {
		if e := &events[i]; e.Version > 0 && e.Kind != Read {
			writes = append(writes, e)
		}
	}
	for _, e := range events {
		if e.Err != "" || e.Kind != Read {
			continue
		}
		newest := &e
		for _, w := range writes {
			if (e.Item == "" || w.Item == e.Item) && w.Ended.Before(e.Began) && w.Version > newest.Version {
				newest = w
			}
		}
		if newest != &e {
			broken = append(broken, fmt.Sprintf("I4: the read %s of %q is of write %d, and %d was over %v before it began", e.Call, e.Item, e.Version, newest.Version, e.Began.Sub(newest.Ended)))
		}
	}
	return broken
}

// Writes reports executions that were twice, unapproved, or denied by their error.
func Writes(events []Event, ledger []Execution) (broken []string) {
	bad := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	times := make(map[string]int)
	for _, x := range ledger {
		if x.Kind == Read {
			continue
		}
		if times[x.Call]++; times[x.Call] == 2 {
			bad("I2: %s, which %v, was executed twice", x.Call, x.Kind)
		}
		if denied(x.Call) {
			bad("I1: %s was executed, which was denied", x.Call)
		}
	}
	for _, e := range events {
		if (e.Denied || e.NotSent) && times[e.Call] > 0 {
			bad("I2: %s was executed, and its error reports that it was not: %s", e.Call, e.Err)
		}
		if e.Kind == Delete && e.Err == "" && times[e.Call] != 1 {
			bad("I6: %s succeeded and was executed %d times", e.Call, times[e.Call])
		}
	}
	return broken
}

// Again returns how many of the items that begin with a prefix were fetched more than once.
func Again(ledger []Execution, prefix string) (n int) {
	times := make(map[string]int)
	for _, x := range ledger {
		if x.Kind == Read && len(x.Things) == 1 && strings.HasPrefix(x.Things[0], prefix) {
			if times[x.Things[0]]++; times[x.Things[0]] == 2 {
				n++
			}
		}
	}
	return n
}

// Peak returns the most calls that any stretch of time has beyond the rate, as a leaky bucket.
func Peak(ledger []Execution, perMinute float64) (most float64) {
	ledger = slices.SortedFunc(slices.Values(ledger), func(a, b Execution) int { return a.Began.Compare(b.Began) })
	level, last := 0.0, time.Time{}
	for _, x := range ledger {
		level = max(0, level-x.Began.Sub(last).Seconds()*perMinute/60) + 1
		most, last = max(most, level), x.Began
	}
	return most
}
