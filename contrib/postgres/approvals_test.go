package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/postgres"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/jackc/pgx/v5"
)

// answered asks for an approval by a remembered one.
func answered(ctx context.Context, s *postgres.Store, id, by string) error {
	return s.Add(ctx, approvals.Approval{
		ID: id, State: approvals.Approved, Standing: by, Scope: "ann", Server: "bank", Tool: "pay", Until: time.Now().Add(time.Minute),
	})
}

// Steps that wait for the same row see each other's changes: one answer wins, and each use is counted.
func TestStepsThatWaitForARow(t *testing.T) {
	t.Parallel()
	s, in, ctx := server(t), schema(), t.Context()
	both := []*postgres.Store{open(t, s, postgres.Options{Schema: in}), open(t, s, postgres.Options{Schema: in})}
	pool := connect(t, s)
	must(t, both[0].Remember(ctx, standing("S")))
	until := time.Now().Add(time.Hour)
	must(t, both[0].Add(ctx, approvals.Approval{ID: "1", State: approvals.Pending, Scope: "ann", Until: until}))
	tx, err := pool.Begin(ctx)
	must(t, err)
	_, err = tx.Exec(ctx, `SELECT FROM `+in+`.approvals, `+in+`.standing FOR UPDATE`)
	must(t, err)
	var won, used atomic.Int64
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if both[i%2].Advance(ctx, "1", approvals.Change{To: []approvals.State{approvals.Approved, approvals.Denied}[i/2], Until: until}) == nil {
				won.Add(1)
			}
		})
		all.Go(func() {
			if answered(ctx, both[i%2], fmt.Sprint("by ", i), "S") == nil {
				used.Add(1)
			}
		})
	}
	eventually(t, "they do not wait", func() bool {
		var n int
		must(t, pool.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"`+in+`"%'`).Scan(&n))
		return n == 8
	})
	must(t, tx.Rollback(ctx))
	all.Wait()
	got, err := both[0].List(ctx)
	must(t, err)
	if won.Load() != 1 || used.Load() != 4 || len(got) != 1 || got[0].Uses != 4 {
		t.Errorf("%d answers won, want 1; %d of 4 uses had an effect: %+v", won.Load(), used.Load(), got)
	}
}

// Each step is in the history, also one without effect, and no text of arguments.
func TestHistory(t *testing.T) {
	t.Parallel()
	s, o, ctx := server(t), postgres.Options{Schema: schema()}, t.Context()
	store := open(t, s, o)
	y := standing("S")
	y.Arguments, y.Pattern = "", approvals.Pattern{{Name: "to", Value: []byte(`"secret"`)}}
	must(t, store.Remember(ctx, y))
	must(t, store.Add(ctx, approvals.Approval{ID: "1", State: approvals.Pending, Scope: "ann", Server: "bank", Tool: "pay", Arguments: "h", Until: time.Now().Add(time.Minute)}))
	must(t, store.Advance(ctx, "1", approvals.Change{To: approvals.Denied, By: "bob"}))
	_ = store.Advance(ctx, "1", approvals.Change{To: approvals.Approved, By: "eve", Until: time.Now().Add(time.Minute)})
	must(t, answered(ctx, store, "2", "S"))
	must(t, store.Forget(ctx, "ann", "S"))
	must(t, store.Forget(ctx, "ann", "S"))
	_ = answered(ctx, store, "3", "S")
	rows, err := connect(t, s).Query(ctx, `SELECT concat_ws(' ', id, step, CASE WHEN NOT effect THEN 'without effect' END, 'by', by, 'of', scope, server, tool, details->>'arguments'),
		details::text LIKE '%secret%' FROM `+o.Schema+`.history ORDER BY at`)
	must(t, err)
	var got []string
	var row string
	var text *bool
	_, err = pgx.ForEachRow(rows, []any{&row, &text}, func() error {
		if got = append(got, row); text != nil && *text {
			t.Errorf("%s has the text of an argument", row)
		}
		return nil
	})
	must(t, err)
	want := []string{
		"S remembered by ann of ann bank pay", "1 pending by  of ann bank pay h", "1 denied by bob of ann bank pay",
		"1 approved without effect by eve of ann bank pay", "2 approved by  of ann bank pay ", "S revoked by  of ann bank pay",
		"3 approved without effect by  of ann bank pay ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A scope has so many remembered approvals and no more, whatever the others have, and what has expired makes room.
func TestRememberedAreBoundedByScope(t *testing.T) {
	t.Parallel()
	s, o, ctx := server(t), postgres.Options{Schema: schema()}, t.Context()
	store, pool := open(t, s, o), connect(t, s)
	execute(t, pool, `INSERT INTO `+o.Schema+`.standing SELECT 'ann', n, 'bank', 'pay', now() + interval '1 day', 0, '{}' FROM generate_series(1, 10000) n`)
	if err := store.Remember(ctx, standing("more")); err == nil || !strings.Contains(err.Error(), "forget some") {
		t.Errorf("got %v", err)
	}
	bob := standing("bob")
	bob.Scope = "bob"
	must(t, store.Remember(ctx, bob))
	execute(t, pool, `UPDATE `+o.Schema+`.standing SET until = now() - interval '1 second', origin = DEFAULT WHERE id = '7'`)
	must(t, store.Remember(ctx, standing("more")))
	execute(t, pool, `UPDATE `+o.Schema+`.standing SET until = now() - interval '1 second', origin = DEFAULT WHERE scope = 'ann'`)
	_ = open(t, s, o) // which sweeps
	var left int
	must(t, pool.QueryRow(ctx, `SELECT count(*) FROM `+o.Schema+`.standing`).Scan(&left))
	if left != 1 {
		t.Errorf("%d are left, want bob's", left)
	}
}
