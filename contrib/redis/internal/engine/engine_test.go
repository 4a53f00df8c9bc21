package engine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
)

// one starts a node of a cluster, or skips the test, loudly.
func one(t *testing.T) *Engine {
	t.Helper()
	e, err := New(t.Context(), t.TempDir(), "--cluster-enabled", "yes")
	if errors.Is(err, ErrNone) {
		fmt.Fprintf(os.Stderr, "SKIPPED, NOT TESTED: %s: %v\n", t.Name(), err)
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Kill)
	return e
}

// Where another listens no engine is said to listen, and New takes the next port; a
// node's second port may be another's as well.
func TestPortsOfOthersAreLeft(t *testing.T) {
	for _, further := range []int64{0, 10_000} {
		taken := 10_000 + (first+given.Load()+1)%10_000
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", taken+further))
		if err == nil { // or somebody has it already, which serves as well
			defer l.Close()
		}
		if e := one(t); e.Port == int(taken) {
			t.Errorf("it says that it listens on port %d, and %d is another's", taken, taken+further)
		}
	}
}

// Each of many has a port of its own, also while it is killed and will be back.
func TestNoTwoHaveOnePort(t *testing.T) {
	var seen sync.Map
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			e := one(t)
			e.Kill()
			if _, twice := seen.LoadOrStore(e.Port, true); twice {
				t.Errorf("two had port %d", e.Port)
			}
			if err := e.Start(); err != nil {
				t.Error(err)
			}
		})
	}
}
