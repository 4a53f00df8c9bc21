package hook_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/hook"
	"github.com/fairlead-go/fairlead/retry/doubt"
)

// A clock that was set back leaves what is in doubt in doubt.
func TestClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	ledger := doubt.NewLedger(doubt.LedgerOptions{})
	ledger.Add(doubt.Call{ID: "1", Scope: "claude-code/s", Server: "claude-code", Tool: "Bash", Time: time.Now().Add(30 * 24 * time.Hour)})
	g := guard(t, hook.Options{Doubt: ledger})
	t.Run("B361 a call in doubt from a later day", func(t *testing.T) {
		for i, want := range []string{"deny", "ask"} {
			if got, why := decided(t, g, "claude-code", event("Bash", `{"command":"rm a"}`, withID(fmt.Sprint(i+2)))); got != want {
				t.Errorf("got %s (%s), want %s", got, why, want)
			}
		}
	})
}

// A dialog may be answered after its call was given up: that was made, so it was not denied, and once its result has come
// it is not in doubt any more.
func TestDialogThatIsAnsweredTooLate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reported bool
		want     []string
	}{
		"B368 answered after two days": {true, []string{"ask"}},
		"B369 never answered":          {false, []string{"deny", "ask"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var tr trail
				g := guard(t, hook.Options{Audit: &tr})
				e := event("Bash", `{"command":"rm a"}`, withID("1"))
				if got, why := decided(t, g, "claude-code", e); got != "ask" {
					t.Fatalf("got %s (%s)", got, why)
				}
				time.Sleep(23 * time.Hour)
				if got := tr.ends(); len(got) > 0 {
					t.Errorf("after 23 hours: recorded %q", got)
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				if got, want := tr.ends(), []string{"1 dangerous unknown"}; !slices.Equal(got, want) {
					t.Errorf("recorded %q, want %q", got, want)
				}
				time.Sleep(23*time.Hour - time.Minute) // a call is in doubt for a day
				if tt.reported {
					send(t, g, used(e, "done"))
				}
				for i, want := range tt.want {
					if got, why := decided(t, g, "claude-code", event("Bash", `{"command":"rm a"}`, withID(fmt.Sprint(i+2)))); got != want {
						t.Errorf("again: got %s (%s), want %s", got, why, want)
					}
				}
				g.Close()
			})
		})
	}
}

// Events with one ID are decided each, and what the agent reports of that ID is the result of one of them.
func TestEventsAtOnceWithOneID(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{"rm a": "ask", "ls": "allow"} {
		t.Run("B365 "+command, func(t *testing.T) {
			t.Parallel()
			var tr trail
			g := guard(t, hook.Options{Audit: &tr})
			e := event("Bash", fmt.Sprintf(`{"command":%q}`, command), withID("1"))
			var all sync.WaitGroup
			for range 6 {
				all.Go(func() {
					if got, why := decided(t, g, "claude-code", e); got != want {
						t.Errorf("got %s (%s), want %s", got, why, want)
					}
				})
			}
			all.Wait()
			send(t, g, used(e, "done"))
			send(t, g, `{"session_id":"s","hook_event_name":"Stop"}`)
			made := 0
			for _, end := range tr.ends() {
				if strings.Contains(end, " ok") {
					made++
				}
			}
			if n := len(tr.ends()); n != 6 || made != 1 {
				t.Errorf("%d ends, %d of them made; want 6 and 1: %q", n, made, tr.ends())
			}
		})
	}
}
