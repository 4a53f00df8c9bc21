package lifecycle_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
)

func TestTableHasOneRowForAStateAndAnEvent(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, row := range lifecycle.Life {
		for _, from := range row.From {
			key := fmt.Sprintf("%s while %s", row.On, from)
			if seen[key] {
				t.Errorf("two rows for %s", key)
			}
			seen[key] = true
			if from.Final() != (row.On == lifecycle.Late) || row.On == lifecycle.Late && row.To != from {
				t.Errorf("%s leaves a final state, or answers late in another", key)
			}
		}
		if (len(row.Before) > 0) != (row.Else != "") {
			t.Errorf("%s: Else is %q with %d writes before", row.On, row.Else, len(row.Before))
		}
	}
}

// Each state that is not final has a way to a final one, and is reached.
func TestEveryStateEnds(t *testing.T) {
	t.Parallel()
	reached := []lifecycle.State{lifecycle.New}
	for i := 0; i < len(reached); i++ {
		for _, row := range lifecycle.Life {
			if slices.Contains(row.From, reached[i]) && !slices.Contains(reached, row.To) {
				reached = append(reached, row.To)
			}
		}
	}
	if len(reached) != 16 {
		t.Errorf("reached %d states, want 16: %v", len(reached), reached)
	}
	ends := func(s lifecycle.State) bool {
		return s.Final() || slices.ContainsFunc(lifecycle.Life, func(r lifecycle.Row) bool { return slices.Contains(r.From, s) && r.To != s })
	}
	for _, s := range reached {
		if !ends(s) {
			t.Errorf("%s does not end", s)
		}
	}
}

// What a row stores is a step of the store's own table, and each of its steps is one that a row may cause.
func TestTableFitsTheStore(t *testing.T) {
	t.Parallel()
	stores := map[lifecycle.Write]approvals.State{
		lifecycle.StoreApproved: approvals.Approved, lifecycle.StoreDenied: approvals.Denied, lifecycle.StoreVoid: approvals.Void,
		lifecycle.StoreSpent: approvals.Spent, lifecycle.StoreDone: approvals.Done,
	}
	has := map[lifecycle.State]approvals.State{
		lifecycle.Asked: approvals.Pending, lifecycle.Shown: approvals.Pending, lifecycle.Waiting: approvals.Pending, lifecycle.Returned: approvals.Pending,
		lifecycle.Approved: approvals.Approved, lifecycle.Edited: approvals.Approved, lifecycle.Remembered: approvals.Approved, lifecycle.Kept: approvals.Approved,
		lifecycle.Taken: approvals.Spent,
	}
	caused := make(map[[2]approvals.State]bool)
	for _, row := range lifecycle.Life {
		for _, from := range row.From {
			for _, w := range slices.Concat(row.Before, row.After) {
				if to := stores[w]; to != "" {
					caused[[2]approvals.State{has[from], to}] = true
					if !has[from].CanBecome(to) {
						t.Errorf("%s while %s: the store has no step from %q to %q", row.On, from, has[from], to)
					}
				}
			}
		}
	}
	for _, from := range []approvals.State{approvals.Pending, approvals.Approved, approvals.Spent} {
		for _, to := range []approvals.State{approvals.Approved, approvals.Denied, approvals.Spent, approvals.Done, approvals.Void} {
			interrupted := from == approvals.Spent && to == approvals.Void // by the end of the process: the file does it
			if from.CanBecome(to) && !caused[[2]approvals.State{from, to}] && !interrupted {
				t.Errorf("no row causes the store's step from %q to %q", from, to)
			}
		}
	}
}
