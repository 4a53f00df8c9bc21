package redis_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	goredis "github.com/redis/go-redis/v9"
)

// sentinel starts a sentinel of the primary, whose name is main, and returns its address.
func sentinel(t *testing.T, primary *redistest.Server) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	address := l.Addr().String()
	must(t, l.Close())
	_, port, _ := strings.Cut(address, ":")
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	must(t, os.WriteFile(file, fmt.Appendf(nil, "port %s\nbind 127.0.0.1\nsentinel monitor main 127.0.0.1 %d 1\nsentinel down-after-milliseconds main 300\n", port, primary.Port), 0o600))
	cmd := exec.CommandContext(t.Context(), "redis-server", file, "--sentinel")
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	c := goredis.NewSentinelClient(&goredis.Options{Addr: address})
	t.Cleanup(func() { _ = c.Close() })
	eventually(t, "the sentinel does not know the copy", func() bool {
		copies, err := c.Replicas(t.Context(), "main").Result()
		return err == nil && len(copies) == 1
	})
	return address
}

// A store that Sentinel leads to the primary goes on with the copy that is promoted, and uses nothing that
// the primary before it had cached.
func TestSentinel(t *testing.T) {
	t.Parallel()
	primary := redistest.New(t)
	second := redistest.New(t, "--replicaof", fmt.Sprint("127.0.0.1 ", primary.Port))
	cached := open(t, "redis://"+sentinel(t, primary)+"?master_name=main", redis.Options{Key: key, Timeout: patient}).Cache()
	keep(t, cached, "who", "before")
	eventually(t, "it is found", func() bool { return find(t, cached, "who") == "before" })
	eventually(t, "the copy has it", func() bool {
		return raw(t, second).DBSize(t.Context()).Val() >= raw(t, primary).DBSize(t.Context()).Val()
	})
	primary.Kill()
	eventually(t, "nothing can be kept at the new primary", func() bool {
		f, err := cached.Look(t.Context(), question("who"))
		if err == nil && f.Value != nil {
			t.Fatalf("it finds %q after a change of the primary", f.Value)
		}
		time.Sleep(10 * time.Millisecond)
		return err == nil && f.Ticket != ""
	})
}

// The host's own options of go-redis reach the server, such as a provider of credentials.
func TestNewTakesCredentials(t *testing.T) {
	t.Parallel()
	e := redistest.New(t, "--requirepass", "right")
	met := false
	s, err := redis.New(t.Context(), &goredis.UniversalOptions{
		Addrs:               []string{fmt.Sprint("127.0.0.1:", e.Port)},
		CredentialsProvider: func() (user, password string) { return "", "right" },
		OnConnect:           func(context.Context, *goredis.Conn) error { met = true; return nil },
	}, redis.Options{Plain: true, Timeout: patient})
	if err != nil || !met {
		t.Fatalf("it cannot be opened (its OnConnect was called: %v): %v", met, err)
	}
	must(t, s.Close())
}
