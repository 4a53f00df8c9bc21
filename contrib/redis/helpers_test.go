package redis_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/storetest"
	"github.com/fairlead-go/fairlead/ratelimit"
	goredis "github.com/redis/go-redis/v9"
)

// answers is a server that answers each command with the func's result, and not at all for "".
func answers(t *testing.T, answer func(command string) string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go func() {
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					line := strings.ToUpper(lines.Text())
					if line == "" || strings.ContainsAny(line[:1], "*$") {
						continue
					}
					if text := answer(line); text != "" {
						fmt.Fprint(conn, text)
					}
				}
			}()
		}
	}()
	return "redis://" + listener.Addr().String()
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

func raw(t testing.TB, e *redistest.Server) *goredis.Client {
	t.Helper()
	o, err := goredis.ParseURL(e.URL())
	if err != nil {
		t.Fatal(err)
	}
	c := goredis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// stranger opens a store with another key, which is refused unless the mark of the others is gone.
func stranger(t *testing.T, e *redistest.Server) *redis.Store {
	t.Helper()
	must(t, raw(t, e).Del(t.Context(), "fairlead:fleet:{mark}").Err())
	return open(t, e.URL(), redis.Options{Key: bytes.Repeat([]byte("x"), 32), Timeout: patient})
}

func question(text string) cache.Read {
	return cache.Read{Server: "crm", ID: sha256.Sum256([]byte(text))}
}

func ended(ctx context.Context, c cache.Remote, w cache.Write) error {
	_, err := c.End(ctx, w)
	return err
}

// keep keeps a value. A store that was delayed returns no ticket, as it should, and is asked
// again.
func keep(t *testing.T, c cache.Remote, text, value string) {
	t.Helper()
	keepFor(t, c, text, value, time.Minute)
}

func keepFor(t *testing.T, c cache.Remote, text, value string, ttl time.Duration) {
	t.Helper()
	eventually(t, "nothing can be kept", func() bool {
		f, err := c.Look(t.Context(), question(text))
		return err == nil && f.Ticket != "" && c.Keep(t.Context(), question(text), f.Ticket, []byte(value), ttl) == nil
	})
}

// find returns the present value; a late answer counts as none.
func find(t *testing.T, c cache.Remote, text string) string {
	t.Helper()
	f, err := c.Look(t.Context(), question(text))
	if err == nil && f.Value == nil && !f.Busy {
		c.Drop(t.Context(), question(text), f.Ticket)
	}
	return string(f.Value)
}

// knows waits until a value is found. It may be missed where the store was held up.
func knows(t *testing.T, c cache.Remote, text, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q is not found", want), func() bool {
		got := find(t, c, text)
		if got != "" && got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		return got == want
	})
}

type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

var errMissed = errors.New("nothing is known")

// passes is how many calls the limiter lets through now.
func passes(t *testing.T, l ratelimit.Limiter, name string, burst int) (passed int) {
	t.Helper()
	for i := range 4 * burst {
		w := ratelimit.Waiter{ID: fmt.Sprint(name, i), Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: 0.01, Burst: burst}}, Most: 10}
		if wait, err := l.Take(t.Context(), w); err == nil && wait == 0 {
			passed++
		}
	}
	return passed
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

var key = bytes.Repeat([]byte("k"), 32)

// open connects to a Redis as one replica does, and tries again where an answer was late.
func open(t testing.TB, url string, o redis.Options) (s *redis.Store) {
	t.Helper()
	eventually(t, "it cannot be opened", func() bool {
		var err error
		if s, err = redis.Open(t.Context(), url, o); err != nil {
			t.Log(err)
		}
		return err == nil
	})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// patient is for machines with much else to do.
const patient = 5 * time.Second

func stores(s *redis.Store) storetest.Stores {
	return storetest.Stores{Cache: s.Cache(), Limiter: s.Limiter(), Approvals: s.Approvals(), Board: s.Board(), Doubt: s.Doubt()}
}

func logTo(l *lines) *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
