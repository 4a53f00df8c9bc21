package redistest_test

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
)

// New takes the next port if another process listens on the port or on a cluster node's
// second port.
func TestNewAvoidsPortsInUse(t *testing.T) {
	for _, further := range []int{0, 10_000} {
		taken := redistest.NextPort()
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", taken+further))
		if err == nil { // or it is taken already, which serves as well
			defer l.Close()
		}
		if e := redistest.New(t, "--cluster-enabled", "yes"); e.Port == taken {
			t.Errorf("it reports port %d, and another listens on %d", taken, taken+further)
		}
	}
}

// Each of many has a port of its own, also while it is killed and will be back.
func TestEachServerHasItsOwnPort(t *testing.T) {
	var seen sync.Map
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			e := redistest.New(t, "--cluster-enabled", "yes")
			e.Kill()
			if _, twice := seen.LoadOrStore(e.Port, true); twice {
				t.Errorf("two servers had port %d", e.Port)
			}
			if err := e.Start(); err != nil {
				t.Error(err)
			}
		})
	}
}
