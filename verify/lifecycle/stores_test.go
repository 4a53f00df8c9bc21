package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/postgres"
	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/google/go-cmp/cmp"
)

// series is how many series of steps each store is compared by, and steps how long they are.
const (
	series = 60
	steps  = 16
)

// The explorer's store is a model. Drawn series of steps have the same results on it and on each real store.
func TestStoresKeepTheContract(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) approvals.Store{
		"memory": func(*testing.T) approvals.Store { return approvals.NewMemory() },
		"file": func(t *testing.T) approvals.Store {
			t.Helper()
			file, err := approvals.OpenFile(filepath.Join(t.TempDir(), "approvals.jsonl"), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = file.Close() })
			return file
		},
		"redis": func(t *testing.T) approvals.Store {
			t.Helper()
			s, err := redis.Open(t.Context(), redistest.New(t).URL(), redis.Options{Key: make([]byte, 32), Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s.Approvals()
		},
		"postgres": func(t *testing.T) approvals.Store {
			t.Helper()
			s, err := postgres.Open(t.Context(), postgrestest.New(t).URL(), postgres.Options{Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			for seed := range uint64(series) {
				model := &contract{}
				want, got := drawn(t.Context(), model, seed), drawn(t.Context(), store, seed)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("series %d (-contract +%s)\n%s", seed, name, diff)
				}
			}
		})
	}
}

// drawn makes a series of steps on a store, and returns each with its result. IDs are those of the series, so that
// one store takes several.
func drawn(ctx context.Context, s approvals.Store, seed uint64) (results []string) {
	dice := rand.New(rand.NewPCG(seed, 0))
	until := time.Now().Add(time.Hour)
	scope := fmt.Sprint("scope ", seed)
	name := func(of ...string) string { return fmt.Sprintf("%d-%s", seed, of[dice.IntN(len(of))]) }
	// The calls a, b and c are asked about, and the decision about a may be kept; d and e are answered by the rules x and y.
	rule := func(call string) string {
		return map[string]string{"d": fmt.Sprintf("%d-x", seed), "e": fmt.Sprintf("%d-y", seed)}[call[len(call)-1:]]
	}
	known := make(map[string]bool)
	states := []approvals.State{approvals.Approved, approvals.Denied, approvals.Void, approvals.Spent}
	for range steps {
		var step string
		var err error
		switch dice.IntN(6) {
		case 0:
			q := name("a", "b", "c")
			step = "asked " + q
			err = s.Add(ctx, approvals.Approval{ID: q, State: approvals.Pending, Scope: scope, Server: "bank", Tool: "pay", Until: until})
		case 1:
			q := name("d", "e")
			step = "answered " + q
			err = s.Add(ctx, approvals.Approval{ID: q, State: approvals.Approved, Standing: rule(q), Scope: scope, Server: "bank", Tool: "pay", Until: until})
			if known[q] && err != nil { // with or without its rule, which is not there any more
				step, err = step+": it is known", nil
			}
			known[q] = known[q] || err == nil
		case 2, 3:
			q, to := name("a", "b", "c", "d", "e"), states[dice.IntN(len(states))]
			step = fmt.Sprintf("%s to %s", q, to)
			change := approvals.Change{To: to, By: "ann"}
			if to == approvals.Approved {
				change.Until = until
			}
			if change.Standing = rule(q); change.Standing != "" {
				change.Scope = scope
			}
			err = s.Advance(ctx, q, change)
		case 4:
			rule := name("x", "y", "a")
			step = "remembered " + rule
			err = s.Remember(ctx, approvals.Standing{
				ID: rule, Scope: scope, Server: "bank", Tool: "pay", Definition: "d", Class: "dangerous", Arguments: "x", Once: strings.HasSuffix(rule, "a"), Until: until,
			})
		case 5:
			rule := name("x", "y", "a")
			step = "forgotten " + rule
			err = s.Forget(ctx, scope, rule)
		}
		switch {
		case errors.Is(err, approvals.ErrNoEffect):
			step += ": no effect"
		case err != nil:
			step += ": an error"
		}
		all, err := s.Remembered(ctx, scope, "bank", "pay")
		if err != nil {
			step += ": the remembered ones cannot be read"
		}
		var names []string
		for _, one := range all {
			names = append(names, one.ID)
		}
		slices.Sort(names)
		results = append(results, fmt.Sprintf("%s; remembered: %v", step, names))
	}
	return results
}
