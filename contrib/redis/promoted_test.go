package redis_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
)

// A virtual address leads to the primary, whichever that is.
type virtual struct {
	listener net.Listener
	to       atomic.Int64 // the port

	mu    sync.Mutex
	conns []net.Conn
}

func newVirtual(t *testing.T, e *redistest.Server) *virtual {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := &virtual{listener: l}
	v.to.Store(int64(e.Port))
	t.Cleanup(func() { _ = l.Close(); v.hangUp() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := new(net.Dialer).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", v.to.Load()))
			if err != nil {
				_ = from.Close()
				continue
			}
			v.mu.Lock()
			v.conns = append(v.conns, from, to)
			v.mu.Unlock()
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
			go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
		}
	}()
	return v
}

func (v *virtual) hangUp() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.conns {
		_ = c.Close()
	}
	v.conns = nil
}

// move leads to another engine from now on.
func (v *virtual) move(e *redistest.Server) { v.to.Store(int64(e.Port)); v.hangUp() }

func (v *virtual) url() string { return "redis://" + v.listener.Addr().String() + "/0" }

// A copy that becomes the primary may lack the last writes: tokens with its predecessor's id are
// not trusted, even those that this replica used before.
func TestPromotedCopyIsNotTrusted(t *testing.T) {
	t.Parallel()
	primary, second := redistest.New(t), redistest.New(t)
	address := newVirtual(t, primary)
	o := redis.Options{Key: key, Timeout: patient}
	reads, writes := open(t, address.url(), o), open(t, address.url(), o)
	cached := reads.Cache()

	copied := raw(t, second)
	if err := copied.ReplicaOf(t.Context(), "127.0.0.1", fmt.Sprint(primary.Port)).Err(); err != nil {
		t.Fatal(err)
	}
	keep(t, cached, "who", "before the write")
	eventually(t, "it is found", func() bool { return find(t, cached, "who") == "before the write" })
	eventually(t, "the copy has it", func() bool {
		return strings.Contains(copied.Info(t.Context(), "replication").Val(), "master_link_status:up") &&
			copied.DBSize(t.Context()).Val() >= raw(t, primary).DBSize(t.Context()).Val()
	})
	if err := copied.ReplicaOf(t.Context(), "NO", "ONE").Err(); err != nil { // it lags from here on
		t.Fatal(err)
	}
	w := cache.Write{ID: "w", Server: "crm", Until: time.Now().Add(time.Minute)}
	if err := writes.Cache().Begin(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if err := ended(t.Context(), writes.Cache(), w); err != nil {
		t.Fatal(err)
	}
	address.move(second)
	deadline := time.Now().Add(3 * time.Second)
	for time.Now().Before(deadline) {
		if f, err := cached.Look(t.Context(), question("who")); err == nil && f.Value != nil {
			t.Fatalf("after a write and a change of the primary it still finds %q", f.Value)
		} else if err == nil && f.Ticket != "" {
			cached.Drop(t.Context(), question("who"), f.Ticket)
			return // it is trusted again, and is empty
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("nothing can be kept at the new primary")
}

// The successor of a former master may lack its last writes.
func TestFormerMasterIsNotTrusted(t *testing.T) {
	t.Parallel()
	const run = "0123456789abcdef"
	s := open(t, cluster(t), redis.Options{Key: key, Timeout: patient})
	s.Believes(run)
	eventually(t, "a former master is not trusted", func() bool { return !s.Live(run) })
	eventually(t, "the present ones are", func() bool {
		keep(t, s.Cache(), "who", "somebody")
		return find(t, s.Cache(), "who") == "somebody"
	})
}

// Nor does a copy that lags give a burst where it takes its primary's address.
func TestPromotedCopyGivesNoBurst(t *testing.T) {
	t.Parallel()
	const burst = 5
	primary, second := redistest.New(t), redistest.New(t)
	address := newVirtual(t, primary)
	l := open(t, address.url(), redis.Options{Timeout: patient}).Limiter()
	if got := passes(t, l, "before", burst); got != burst {
		t.Fatalf("%d passed, want the burst of %d", got, burst)
	}
	address.move(second) // where the bucket is full
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		if got := passes(t, l, "after", burst); got > 0 {
			t.Fatalf("%d passed at the copy", got)
		}
	}
}
