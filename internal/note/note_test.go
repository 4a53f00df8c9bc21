package note_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/internal/note"
	"github.com/fairlead-go/fairlead/middleware"
)

func ExampleBegin() {
	ctx, n := note.Begin(context.Background())
	note.Of(ctx).Classed(&middleware.Tool{Server: "files"})
	note.Of(ctx).Approved("q1")
	note.Of(ctx).Attempt()
	note.Of(ctx).Say("cache", "miss", "")
	r := n.Read()
	fmt.Println(r.Tool.Server, r.Approval, r.Attempts, r.Facts)
	// Output: files q1 1 [{cache miss }]
}

func TestWithoutANoteNothingIsKeptAndNothingCosts(t *testing.T) {
	ctx := context.Background()
	if got := testing.AllocsPerRun(100, func() {
		note.Of(ctx).Attempt()
		note.Of(ctx).Say("cache", "hit", "")
		ctx = note.End(ctx)
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
	if r := note.Of(ctx).Read(); r.Attempts != 0 || r.Facts != nil {
		t.Errorf("nobody's note holds %+v", r)
	}
}

func TestANoteIsTheCallsOwn(t *testing.T) {
	t.Parallel()
	ctx, outer := note.Begin(context.Background())
	inner, n := note.Begin(ctx)
	note.Of(inner).Say("route", "a", "")
	note.Of(note.End(ctx)).Say("route", "b", "")
	if got := len(outer.Read().Facts); got != 0 {
		t.Errorf("the outer call's note has %d facts of others", got)
	}
	if got := len(n.Read().Facts); got != 1 {
		t.Errorf("the note has %d facts, want 1", got)
	}
}

func TestAReadingDoesNotChange(t *testing.T) {
	t.Parallel()
	_, n := note.Begin(context.Background())
	n.Say("cache", "miss", "")
	r := n.Read()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { n.Say("retry", "again", ""); n.Attempt(); n.Read() })
	}
	all.Wait()
	if len(r.Facts) != 1 || r.Facts[0].What != "miss" {
		t.Errorf("the reading became %+v", r)
	}
	if after := n.Read(); after.Attempts != 8 || len(after.Facts) != 9 {
		t.Errorf("after: %+v", after)
	}
}

// Two who read of one call share its note; a call inside it has one of its own,
// whoever reads there.
func TestReadersOfOneCallShareItsNote(t *testing.T) {
	t.Parallel()
	ctx, telemetry := note.Join(context.Background(), "telemetry")
	ctx, record := note.Join(ctx, "record")
	if telemetry != record {
		t.Error("the second reader has a note of its own")
	}
	if _, inner := note.Join(ctx, "record"); inner == record {
		t.Error("a call inside has the note of the one around it")
	}
	if _, after := note.Join(note.End(ctx), "other"); after == record {
		t.Error("the note of a call that has ended is found")
	}
}

// A call that is made again ends its note once more, in a context of its own.
func TestANoteEndsForEachAttempt(t *testing.T) {
	t.Parallel()
	type name struct{}
	ctx, _ := note.Begin(context.Background())
	first := note.End(context.WithValue(ctx, name{}, 1))
	second := note.End(context.WithValue(ctx, name{}, 2))
	if first.Value(name{}) != 1 || second.Value(name{}) != 2 {
		t.Errorf("the attempts have the contexts %v and %v", first.Value(name{}), second.Value(name{}))
	}
	if note.Of(first) != nil || note.Of(second) != nil {
		t.Error("an attempt has the note of its call")
	}
}

func TestANoteCostsOneAllocation(t *testing.T) {
	outer := context.Background()
	if got := testing.AllocsPerRun(100, func() {
		ctx, _ := note.Join(outer, "record")
		note.End(ctx)
		note.Of(ctx).Attempt()
		note.Of(ctx).Say("cache", "miss", "")
		note.Of(ctx).Say("retry", "again", "")
	}); got != 1 {
		t.Errorf("%v allocations, want 1", got)
	}
}
