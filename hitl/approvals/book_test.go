package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// stores are those that the contract holds for.
func stores(t *testing.T, test func(t *testing.T, s approvals.Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { test(t, approvals.NewMemory()) })
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		name := filepath.Join(t.TempDir(), "approvals.jsonl")
		synctest.Test(t, func(t *testing.T) {
			f, err := approvals.OpenFile(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			test(t, f)
		})
	})
}

func pending(id string) approvals.Approval {
	return approvals.Approval{ID: id, State: approvals.Pending, Server: "files", Tool: "delete", Scope: "ann", Until: time.Now().Add(time.Minute)}
}

func to(s approvals.State) approvals.Change {
	return approvals.Change{To: s, By: "ann", Until: time.Now().Add(time.Minute)}
}

// follow takes an approval through states and returns the last error.
func follow(t *testing.T, s approvals.Store, id string, path ...approvals.State) error {
	t.Helper()
	var err error
	for _, state := range path {
		err = s.Advance(t.Context(), id, to(state))
	}
	return err
}

func TestStepsAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	ways := map[approvals.State][]approvals.State{
		approvals.Pending: nil, approvals.Approved: {approvals.Approved}, approvals.Denied: {approvals.Denied}, approvals.Void: {approvals.Void},
		approvals.Spent: {approvals.Approved, approvals.Spent}, approvals.Done: {approvals.Approved, approvals.Spent, approvals.Done},
	}
	allowed := map[string]bool{
		"pending approved": true, "pending denied": true, "pending void": true, "approved spent": true, "approved void": true,
		"spent done": true, "spent void": true,
	}
	stores(t, func(t *testing.T, s approvals.Store) {
		n := 0
		for from, way := range ways {
			for next := range ways {
				n++
				id := fmt.Sprint(n)
				if err := s.Add(t.Context(), pending(id)); err != nil {
					t.Fatal(err)
				}
				if err := follow(t, s, id, way...); err != nil {
					t.Fatalf("to %s: %v", from, err)
				}
				err := s.Advance(t.Context(), id, to(next))
				if want := allowed[string(from)+" "+string(next)]; (err == nil) != want || err != nil && !errors.Is(err, approvals.ErrNoEffect) {
					t.Errorf("%s to %s: got error %v, want it to go: %t", from, next, err, want)
				}
				if from.CanBecome(next) != allowed[string(from)+" "+string(next)] {
					t.Errorf("CanBecome of %s and %s is %t", from, next, from.CanBecome(next))
				}
			}
		}
	})
}

func TestForeignAnswerHasNoEffect(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s approvals.Store) {
		if err := s.Add(t.Context(), pending("a")); err != nil {
			t.Fatal(err)
		}
		if err := s.Advance(t.Context(), "b", to(approvals.Approved)); !errors.Is(err, approvals.ErrNoEffect) || !strings.Contains(err.Error(), "not known") {
			t.Errorf("got error %v", err)
		}
		if err := s.Advance(t.Context(), "a", to(approvals.Spent)); !errors.Is(err, approvals.ErrNoEffect) {
			t.Errorf("the other approval has changed: %v", err)
		}
	})
}

func TestOneOfSimultaneousAnswersWins(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s approvals.Store) {
		for i := range 20 {
			id := fmt.Sprint(i)
			if err := s.Add(t.Context(), pending(id)); err != nil {
				t.Fatal(err)
			}
			var won atomic.Int64
			var wg sync.WaitGroup
			for n := range 8 {
				wg.Go(func() {
					state := []approvals.State{approvals.Approved, approvals.Denied}[n%2]
					if s.Advance(context.Background(), id, to(state)) == nil {
						won.Add(1)
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 {
				t.Errorf("%d answers counted, want 1", won.Load())
			}
		}
	})
}

func TestTimeIsKept(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s approvals.Store) {
		if err := errors.Join(s.Add(t.Context(), pending("silent")), s.Add(t.Context(), pending("unused")), s.Add(t.Context(), pending("used"))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute - 1)
		if err := errors.Join(follow(t, s, "unused", approvals.Approved), follow(t, s, "used", approvals.Approved)); err != nil {
			t.Error(err)
		}
		time.Sleep(1)
		for _, state := range []approvals.State{approvals.Approved} {
			if err := s.Advance(t.Context(), "silent", to(state)); !errors.Is(err, approvals.ErrNoEffect) || !strings.Contains(err.Error(), "time") {
				t.Errorf("an answer after the time: got error %v", err)
			}
		}
		if err := s.Advance(t.Context(), "silent", to(approvals.Void)); err != nil {
			t.Errorf("the end of a question that is over: %v", err)
		}
		time.Sleep(time.Minute - 2)
		if err := s.Advance(t.Context(), "used", to(approvals.Spent)); err != nil {
			t.Error(err)
		}
		time.Sleep(1)
		if err := s.Advance(t.Context(), "unused", to(approvals.Spent)); !errors.Is(err, approvals.ErrNoEffect) {
			t.Errorf("a yes that has expired: got error %v", err)
		}
		time.Sleep(time.Hour)
		if err := s.Advance(t.Context(), "used", to(approvals.Done)); err != nil {
			t.Errorf("a call that took long: %v", err)
		}
	})
}

func TestApprovalBeginsPendingOrStanding(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s approvals.Store) {
		err := s.Remember(t.Context(), approvals.Standing{ID: "x", Tool: "t", Definition: "d", Class: "dangerous", Arguments: "h", Until: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			a    approvals.Approval
			want string
		}{
			{approvals.Approval{ID: "1", State: approvals.Approved, Standing: "none"}, "no effect"},
			{approvals.Approval{ID: "1", State: approvals.Pending}, ""},
			{approvals.Approval{ID: "1", State: approvals.Pending}, "known already"},
			{approvals.Approval{State: approvals.Pending}, "needs an ID"},
			{approvals.Approval{ID: "2", State: approvals.Approved}, "cannot begin"},
			{approvals.Approval{ID: "3", State: approvals.Approved, Standing: "x"}, ""},
			{approvals.Approval{ID: "4", State: approvals.Spent}, "cannot begin"},
			{approvals.Approval{ID: "5"}, "cannot begin"},
			{approvals.Approval{ID: "6", State: approvals.Pending, Standing: "x"}, "cannot begin"},
		} {
			err := s.Add(t.Context(), tt.a)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: got error %v, want %q", tt.a, err, tt.want)
			}
		}
		if err := s.Add(t.Context(), pending("7")); err != nil {
			t.Fatal(err)
		}
		if err := s.Advance(t.Context(), "7", approvals.Change{To: approvals.Approved}); err == nil {
			t.Error("a yes without a time when it expires was taken")
		}
	})
}

func TestStandingApprovalsAreKeptByScopeAndTool(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s approvals.Store) {
		add := func(id, scope, tool string, d time.Duration) {
			err := s.Remember(t.Context(), approvals.Standing{ID: id, Scope: scope, Server: "files", Tool: tool, Definition: "d", Class: "dangerous", Arguments: "x", Until: time.Now().Add(d)})
			if err != nil {
				t.Fatal(err)
			}
		}
		want := func(scope, server, tool, want string) {
			t.Helper()
			found, err := s.Remembered(t.Context(), scope, server, tool)
			var got []string
			for _, f := range found {
				got = append(got, f.ID)
			}
			if strings.Join(got, " ") != want || err != nil {
				t.Errorf("%s %s/%s: got %v and error %v, want %q", scope, server, tool, got, err, want)
			}
		}
		add("1", "ann", "delete", time.Minute)
		add("2", "ann", "delete", time.Hour)
		add("3", "ann", "move", 2*time.Hour)
		add("4", "bob", "delete", time.Hour)
		want("ann", "files", "delete", "1 2")
		want("ann", "", "", "1 2 3")
		want("bob", "files", "delete", "4")
		want("", "files", "delete", "")
		want("ann", "mail", "delete", "")
		if err := errors.Join(s.Forget(t.Context(), "bob", "2"), s.Forget(t.Context(), "ann", "no such")); err != nil {
			t.Error(err)
		}
		want("ann", "files", "delete", "1 2")
		if err := s.Forget(t.Context(), "ann", "2"); err != nil {
			t.Error(err)
		}
		want("ann", "files", "delete", "1")
		time.Sleep(time.Minute)
		want("ann", "", "", "3")
		for _, bad := range []approvals.Standing{
			{}, {ID: "9", Tool: "t", Definition: "d", Class: "c"},
			{ID: "9", Tool: "t", Definition: "d", Class: "c", Arguments: "x", Pattern: approvals.Pattern{{Name: "a", Glob: "*"}}},
			{ID: "9", Tool: "t", Definition: "d", Class: "c", Pattern: approvals.Pattern{}},
			{ID: "9", Tool: "t", Definition: "d", Class: "c", Pattern: approvals.Pattern{{Name: "a", Glob: "["}}},
			{ID: "9", Tool: "t", Class: "c", Arguments: "x"},
		} {
			if err := s.Remember(t.Context(), bad); err == nil {
				t.Errorf("%+v was remembered", bad)
			}
		}
	})
}

func TestWhatIsOverIsForgottenInTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := approvals.NewMemory()
		for i := range approvals.MaxEnded + 1 {
			id := fmt.Sprint(i)
			if err := errors.Join(s.Add(t.Context(), pending(id)), s.Advance(t.Context(), id, to(approvals.Denied))); err != nil {
				t.Fatal(err)
			}
		}
		for id, want := range map[string]string{"0": "not known", "1": "is denied"} {
			err := s.Advance(t.Context(), id, to(approvals.Approved))
			if !errors.Is(err, approvals.ErrNoEffect) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got error %v, want %q", id, err, want)
			}
		}
	})
}
