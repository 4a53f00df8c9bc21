package callstate_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
)

func TestWithoutACallNothingIsKept(t *testing.T) {
	ctx := context.Background()
	if got := testing.AllocsPerRun(100, func() {
		callstate.Of(ctx).Write(wait)
		callstate.Of(ctx).Attempted()
		callstate.Of(ctx).Decide("cache", "hit", "")
		ctx = callstate.Leave(ctx)
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
	if r := callstate.Of(ctx).Record(); r.Attempts != 0 || r.Decisions != nil {
		t.Errorf("without a call: %+v", r)
	}
}

func TestRecordIsACopy(t *testing.T) {
	t.Parallel()
	n := callstate.Begin(context.Background())
	n.Decide("cache", "miss", "")
	r := n.Record()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { n.Decide("retry", "again", ""); n.Write(wait); n.Attempted(); n.Record() })
	}
	all.Wait()
	if len(r.Decisions) != 1 || r.Decisions[0].What != "miss" {
		t.Errorf("the reading became %+v", r)
	}
	if after := n.Record(); after.Attempts != 8 || after.Waited != 8 || n.Waited() != 8 || len(after.Decisions) != 9 {
		t.Errorf("after: %+v", after)
	}
}

func TestStateCostsOneAllocation(t *testing.T) {
	outer := context.Background()
	if got := testing.AllocsPerRun(100, func() {
		ctx, _ := callstate.Ensure(outer)
		callstate.Leave(ctx)
		callstate.Of(ctx).Attempted()
		callstate.Of(ctx).Remembered(time.Second, annotation.Stable)
		callstate.Of(ctx).Decide("cache", "hit", "")
	}); got != 1 {
		t.Errorf("%v allocations, want 1", got)
	}
}

func wait(r *callstate.Record) { r.Waited++ }
