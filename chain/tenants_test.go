package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var mixed = flag.Int("calls", 20_000, "how many mixed calls of several tenants are made")

const (
	tenants = 8
	notes   = 40
)

// notebook is a server of every tenant's notes. It counts the writes to each, and identifies each
// write.
type notebook struct {
	mu      sync.Mutex
	rng     *rand.Rand
	written [tenants][notes + 1]int   // the last one counts all of a tenant's
	by      map[string][notes + 1]int // what a call has written, by its ID

	executed atomic.Int64
}

type refusedError struct{ error }

func (refusedError) Refused() bool { return true }

func (b *notebook) CallTool(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	runtime.Gosched()
	b.mu.Lock()
	defer runtime.Gosched()
	defer b.mu.Unlock()
	fate := b.rng.IntN(100)
	if fate < 3 {
		return nil, refusedError{errors.New("busy")}
	}
	b.executed.Add(1)
	var tenant int
	if _, err := fmt.Sscan(call.Scope, &tenant); err != nil {
		return nil, err
	}
	var a struct{ ID, Note *int }
	if err := json.Unmarshal(call.Arguments, &a); err != nil {
		return nil, err
	}
	of := &b.written[tenant]
	seen := notes // a list sees all
	switch {
	case a.ID != nil:
		seen = *a.ID
	case a.Note != nil:
		of[*a.Note]++
		of[notes]++
		b.by[call.ID] = *of
	case strings.HasPrefix(call.Tool.Name(), "delete"):
		for i := range of {
			of[i]++
		}
		b.by[call.ID] = *of
	}
	if fate < 6 {
		return nil, errors.New("the answer was lost")
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("%d %d %d", tenant, seen, of[seen])}}}, nil
}

// No answer crosses a tenant, and no read is older than what its tenant's own
// finished writes wrote, whatever is remembered, shared, lost and repeated.
func TestTenantsAndTheirWrites(t *testing.T) {
	get, list := named(t, "get_note"), named(t, "list_notes")
	update, remove := named(t, "update_note"), named(t, "delete_notes")
	book := &notebook{rng: rand.New(rand.NewPCG(7, 7)), by: make(map[string][notes + 1]int)}
	store, person := cache.NewStore(cache.StoreOptions{}), new(agreeable)
	caller := everyLink(store, person, map[string][]string{"server/get_note": {"id"}, "server/update_note": {"note"}}).Then(chain.Guard(book))

	var mu sync.Mutex // guards what follows
	var finished [tenants][notes + 1]int
	var reads, writes, errs, crossed, stale atomic.Int64
	each(64, *mixed, func(n int) {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		tenant, note, dice := n%tenants, rng.IntN(notes), rng.IntN(1000)
		call := middleware.Call{ID: fmt.Sprint(n), Scope: fmt.Sprint(tenant)}
		seen := note
		switch {
		case dice < 750:
			call.Tool, call.Arguments = get, json.RawMessage(fmt.Sprintf(`{"id":%d}`, note))
		case dice < 950:
			call.Tool, call.Arguments, seen = list, json.RawMessage(`{}`), notes
		case dice < 998:
			call.Tool, call.Arguments, seen = update, json.RawMessage(fmt.Sprintf(`{"note":%d,"n":%d}`, note, n)), -1
		default:
			call.Tool, call.Arguments, seen = remove, json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)), -1
		}
		mu.Lock()
		least := finished[tenant]
		mu.Unlock()
		res, err := caller.CallTool(t.Context(), call)
		if err != nil {
			errs.Add(1)
		}
		if seen < 0 { // a write is over, whether it is known to have happened or not
			writes.Add(1)
			book.mu.Lock()
			wrote := book.by[call.ID]
			book.mu.Unlock()
			mu.Lock()
			for i, w := range wrote {
				finished[tenant][i] = max(finished[tenant][i], w)
			}
			mu.Unlock()
			return
		}
		reads.Add(1)
		if err != nil {
			return
		}
		var gotTenant, gotSeen, version int
		if _, err := fmt.Sscan(res.Content[0].(*mcp.TextContent).Text, &gotTenant, &gotSeen, &version); err != nil {
			t.Error(err)
		}
		if gotTenant != tenant || gotSeen != seen {
			crossed.Add(1)
			t.Errorf("call %d of tenant %d about %d was answered for tenant %d about %d", n, tenant, seen, gotTenant, gotSeen)
		}
		if version < least[seen] {
			stale.Add(1)
			t.Errorf("call %d of tenant %d saw version %d of %d, %d had been written before it began", n, tenant, version, seen, least[seen])
		}
	})
	s := store.Stats()
	t.Logf("calls=%d tenants=%d reads=%d writes=%d executions=%d hits=%d joined=%d errors=%d crossed=%d stale=%d",
		*mixed, tenants, reads.Load(), writes.Load(), book.executed.Load(), s.Hits, s.Joined, errs.Load(), crossed.Load(), stale.Load())
	if s.Hits == 0 || errs.Load() == 0 || writes.Load() == 0 {
		t.Error("the run has tried nothing")
	}
}

// A thousand ask the same at the same time: it is asked once, also when the caller of that call
// leaves half way.
func TestIdenticalReadsAreOneExecution(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		t.Run(fmt.Sprintf("the first one leaves: %t", leaves), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var executed atomic.Int64
				slow := middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
					executed.Add(1)
					select {
					case <-time.After(time.Second):
						return answer, nil
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				})
				store := cache.NewStore(cache.StoreOptions{})
				caller := everyLink(store, new(agreeable), nil).Then(chain.Guard(slow))
				call := middleware.Call{Scope: "ann", Tool: named(t, "list_notes")}
				gone := errors.New("the first one has gone")
				ctx, leave := context.WithCancelCause(t.Context())
				var wg sync.WaitGroup
				wg.Go(func() {
					res, err := caller.CallTool(ctx, call)
					if leaves && !errors.Is(err, gone) || !leaves && (err != nil || len(res.Content) != 1) {
						t.Errorf("the first one got %v, %v", res, err)
					}
				})
				synctest.Wait()
				var answered atomic.Int64
				for range 999 {
					wg.Go(func() {
						if res, err := caller.CallTool(t.Context(), call); err == nil && len(res.Content) == 1 {
							answered.Add(1)
						} else {
							t.Errorf("got %v, %v", res, err)
						}
					})
				}
				time.Sleep(time.Second / 2)
				if leaves {
					leave(gone)
				}
				wg.Wait()
				leave(nil)
				t.Logf("1000 identical reads: executions=%d answered=%d joined=%d", executed.Load(), answered.Load(), store.Stats().Joined)
				if executed.Load() != 1 || answered.Load() != 999 {
					t.Errorf("got %d executions and %d answers, want 1 and 999", executed.Load(), answered.Load())
				}
			})
		})
	}
}
