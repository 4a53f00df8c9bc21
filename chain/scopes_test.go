package chain_test

import (
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/retry/doubt"
)

// Of 50,000 users with one call each, none is refused because of the others, and the state that
// they leave is bounded.
func TestFiftyThousandScopes(t *testing.T) {
	caller := chain.Standard{
		Budget:    budget.New(budget.Options{Session: budget.Limit{Calls: 100}}),
		Flow:      flow.New(flow.Options{}),
		Doubt:     doubt.New(doubt.Options{}),
		Confirm:   hitl.New(nil, hitl.Options{}),
		Cache:     cache.New(cache.Options{}),
		Retry:     retry.New(retry.Options{}),
		RateLimit: ratelimit.New(ratelimit.Options{PerMinute: 60}),
	}.Then(accepting())
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	read, write := tool(t, "get_note", annotation.ReadOnly()), tool(t, "update_note", annotation.Update())
	before := heap()
	var callers sync.WaitGroup
	for first := range 8 {
		callers.Go(func() {
			for scope := first; scope < 50_000; scope += 8 {
				call := middleware.Call{Scope: strconv.Itoa(scope), Tool: read, Arguments: []byte(`{"id":"` + strconv.Itoa(scope) + `"}`)}
				if scope%10 == 0 {
					call.Tool = write
				}
				if _, err := caller.CallTool(t.Context(), call); err != nil {
					t.Errorf("scope %d: %v", scope, err)
				}
			}
		})
	}
	callers.Wait()
	grown := (int64(heap()) - int64(before)) >> 20
	runtime.KeepAlive(caller)
	t.Logf("50,000 scopes, 0 refused: the heap grew by %d MB", grown)
	if grown > 64 {
		t.Errorf("the heap grew by %d MB, want at most 64", grown)
	}
}
