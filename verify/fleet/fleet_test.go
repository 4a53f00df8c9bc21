//go:build unix

package fleet_test

import (
	"os"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/verify/fleet"
)

func TestMain(m *testing.M) {
	fleet.Main()
	os.Exit(m.Run())
}

// plays plays a fleet. If a process did not run for a while, as on a busy machine, violations that
// this may have caused do not count, and the fleet is played again.
func plays(t *testing.T, o fleet.Options) *fleet.Result {
	t.Helper()
	const tolerable = 50 * time.Millisecond
	for try := 1; ; try++ {
		r, err := fleet.Run(t.Context(), redistest.New(t), o)
		if err != nil {
			t.Fatal(err)
		}
		held := len(r.Broken) == 0 && (r.Twice == 0 || o.Patience == 0) // a late answer is a second fetch
		if held || try == 5 || r.Excused < len(r.Broken) || r.Stood < tolerable {
			return r
		}
		t.Logf("a process did not run for %v; once more: %d cold keys twice, %q", r.Stood, r.Twice, r.Broken)
	}
}

// Four processes, one Redis, one server with a ledger, 20,000 calls.
func TestFourReplicas(t *testing.T) {
	r := plays(t, fleet.Options{Calls: 20_000, Cold: 100, PerMinute: 60_000, Patience: patient})
	t.Logf("%d calls, %d of them at the server, %d failed (%d denied), p50 %v, p99 %v, max %v, in %v; over the quota by %.0f; %d cold keys twice; not running for %v",
		r.Calls, r.Server, r.Failed, r.Denied, r.P50, r.P99, r.Max, r.Took, r.Over, r.Twice, r.Stood)
	if r.Twice > 0 {
		t.Errorf("%d cold keys were fetched more than once", r.Twice)
	}
	for _, broken := range r.Broken {
		t.Error(broken)
	}
	if t.Failed() {
		t.Log(r.Log)
	}
}

// A trouble of Redis costs time, memory and refusals, and breaks no promise.
func TestTroubles(t *testing.T) {
	for _, trouble := range fleet.Troubles {
		t.Run(trouble.Name, func(t *testing.T) {
			r := plays(t, fleet.Options{Calls: 12_000, Cold: 1, PerMinute: 90_000, Trouble: trouble})
			t.Logf("%-42s %5d calls %5d at the server %4d failed (%d denied) p50 %v p99 %v max %v in %v; quota +%.0f; not running for %v", trouble.Name,
				r.Calls, r.Server, r.Failed, r.Denied, r.P50, r.P99, r.Max, r.Took, r.Over, r.Stood)
			for _, broken := range r.Broken {
				t.Error(broken)
			}
			if t.Failed() || testing.Verbose() {
				t.Log(r.Log)
			}
		})
	}
}
