package redis_test

import (
	"os"
	"testing"

	"github.com/fairlead-go/fairlead/contrib/redis/internal/enginetest"
	"github.com/fairlead-go/fairlead/contrib/redis/internal/fleet"
)

func TestMain(m *testing.M) {
	fleet.Main()
	os.Exit(m.Run())
}

// Four processes, one Redis, one server with a ledger, 20,000 calls.
func TestFourReplicas(t *testing.T) {
	var r *fleet.Result
	for range 3 {
		var err error
		if r, err = fleet.Run(t.Context(), enginetest.Of(t), fleet.Options{Patience: patient}); err != nil {
			t.Fatal(err)
		}
		if r.Twice == 0 || len(r.Broken) > 0 {
			break
		}
		// Who stands still for a second fetches by itself: that is no promise that was broken.
		t.Logf("%d cold keys were fetched more than once; once more", r.Twice)
	}
	t.Logf("%d calls, %d of them at the server, %d failed (%d denied), p50 %v, p99 %v, max %v, in %v; over the quota by %.0f; %d cold keys twice",
		r.Calls, r.Server, r.Failed, r.Denied, r.P50, r.P99, r.Max, r.Took, r.Over, r.Twice)
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

// What happens to Redis in the middle costs time, memory and refusals, and breaks
// no promise.
func TestTroubles(t *testing.T) {
	for _, trouble := range fleet.Troubles {
		t.Run(trouble.Name, func(t *testing.T) {
			r, err := fleet.Run(t.Context(), enginetest.Of(t), fleet.Options{Calls: 12_000, Cold: 1, PerMinute: 90_000, Burst: 100, Trouble: trouble, After: fleet.InTheMiddle})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%-42s %5d calls %5d at the server %4d failed (%d denied) p50 %v p99 %v max %v in %v; quota +%.0f", trouble.Name,
				r.Calls, r.Server, r.Failed, r.Denied, r.P50, r.P99, r.Max, r.Took, r.Over)
			for _, broken := range r.Broken {
				t.Error(broken)
			}
			if t.Failed() || testing.Verbose() {
				t.Log(r.Log)
			}
		})
	}
}
