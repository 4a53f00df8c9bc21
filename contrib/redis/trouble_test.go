package redis_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"
)

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

func TestReplicaWithAnotherKeyIsRefused(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	open(t, e.URL(), redis.Options{Key: key, Timeout: patient})
	open(t, e.URL(), redis.Options{Key: key, Timeout: patient})
	other := redis.Options{Key: bytes.Repeat([]byte("x"), 32), Timeout: patient}
	if _, err := redis.Open(t.Context(), e.URL(), other); err == nil || !strings.Contains(err.Error(), "replicas with another Options.Key") {
		t.Errorf("another key: got %v", err)
	}
	other.Prefix = "other"
	open(t, e.URL(), other)
}

func question(text string) cache.Question {
	return cache.Question{Server: "crm", ID: sha256.Sum256([]byte(text))}
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

// A value that others wrote into Redis is not found: rubbish, another version, a value from
// another place, one of another host's key.
func TestPoisonIsAMiss(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		poison func(t *testing.T, c *goredis.Client, keys []string)
		plain  bool // whether it can be detected without a key
	}{
		"rubbish": {func(t *testing.T, c *goredis.Client, keys []string) {
			t.Helper()
			for _, k := range keys {
				c.Set(t.Context(), k, "rubbish", 0)
			}
		}, true},
		"another version": {func(t *testing.T, c *goredis.Client, keys []string) {
			t.Helper()
			for _, k := range keys {
				c.Set(t.Context(), k, "2"+c.Get(t.Context(), k).Val()[1:], 0)
			}
		}, true},
		"another kind of key": {func(t *testing.T, c *goredis.Client, keys []string) {
			t.Helper()
			for _, k := range keys {
				c.Del(t.Context(), k)
				c.RPush(t.Context(), k, "x")
			}
		}, true},
		"swapped": {func(t *testing.T, c *goredis.Client, keys []string) {
			t.Helper()
			a, b := c.Get(t.Context(), keys[0]).Val(), c.Get(t.Context(), keys[1]).Val()
			c.Set(t.Context(), keys[0], b, 0)
			c.Set(t.Context(), keys[1], a, 0)
		}, false},
		"one byte": {func(t *testing.T, c *goredis.Client, keys []string) {
			t.Helper()
			for _, k := range keys {
				v := []byte(c.Get(t.Context(), k).Val())
				v[len(v)-1] ^= 1
				c.Set(t.Context(), k, v, 0)
			}
		}, false},
		"not sealed": {func(t *testing.T, c *goredis.Client, keys []string) {
			t.Helper()
			for _, k := range keys {
				head, _, _ := strings.Cut(c.Get(t.Context(), k).Val(), "\n")
				c.Set(t.Context(), k, head+"\npevil", 0)
			}
		}, false},
	} {
		for _, sealed := range []bool{true, false} {
			if !sealed && !c.plain {
				continue
			}
			t.Run(fmt.Sprint(name, ", sealed ", sealed), func(t *testing.T) {
				t.Parallel()
				e, o := redistest.New(t), redis.Options{Plain: true, Timeout: patient}
				if sealed {
					o = redis.Options{Key: key, Timeout: patient}
				}
				a, b := open(t, e.URL(), o).Cache(), open(t, e.URL(), o).Cache()
				keep(t, a, "one", "first")
				keep(t, a, "two", "second")
				knows(t, b, "one", "first")
				client := raw(t, e)
				keys, err := client.Keys(t.Context(), "fairlead:c:*").Result()
				if err != nil || len(keys) != 2 {
					t.Fatal(keys, err)
				}
				c.poison(t, client, keys)
				for _, remote := range []cache.Remote{a, b} { // by the plain read, and by the script
					f, err := remote.Look(t.Context(), question("one"))
					if f.Value != nil || err != nil && name != "another kind of key" {
						t.Errorf("got %q, %v", f.Value, err)
					}
				}
			})
		}
	}
}

// With another key nothing is found, and Redis has none of the contents or names in clear.
func TestSealed(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	ours := open(t, e.URL(), redis.Options{Key: key, Timeout: patient})
	theirs := stranger(t, e)
	keep(t, ours.Cache(), "one", "secret answer")
	if got := find(t, theirs.Cache(), "one"); got != "" {
		t.Errorf("another host reads %q", got)
	}
	n := approvals.Notice{ID: "Q", Until: time.Now().Add(time.Minute), Question: []byte("secret question")}
	if err := ours.Board().Post(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if got, err := theirs.Board().Open(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("another host is shown %v, %v", got, err)
	}
	client := raw(t, e)
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		dump := client.Dump(t.Context(), k).Val()
		if strings.Contains(dump, "secret") || strings.Contains(k, "crm") || client.TTL(t.Context(), k).Val() == -1 && !strings.HasPrefix(k, "fairlead:l:") {
			t.Errorf("%s lives %v and holds %q", k, client.TTL(t.Context(), k).Val(), dump)
		}
	}
}

// An answer that was forged in Redis denies.
func TestForgedAnswerIsADenial(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	s := open(t, e.URL(), redis.Options{Key: key, Timeout: patient})
	if err := s.Board().Post(t.Context(), approvals.Notice{ID: "Q", Until: time.Now().Add(time.Minute), Question: []byte("may I?")}); err != nil {
		t.Fatal(err)
	}
	client := raw(t, e)
	keys, _ := client.Keys(t.Context(), "fairlead:q:*").Result()
	client.HSet(t.Context(), keys[0], "a", `p{"v":1,"decision":{"Verdict":1}}`)
	if got, err := s.Board().Wait(t.Context(), "Q"); err == nil {
		t.Errorf("got %q", got)
	}
}

// A bucket that holds rubbish is empty, and one from a time to come gives nothing
// for it.
func TestPoisonedBucketIsEmpty(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]func() string{
		"rubbish":        func() string { return "rubbish" },
		"another kind":   func() string { return "2 5 5" },
		"a clock jumped": func() string { return fmt.Sprintf("1 0 %d", time.Now().Add(time.Hour).UnixMicro()) },
		"too many":       func() string { return fmt.Sprintf("1 1e300 %d", time.Now().UnixMicro()) },
		"no number":      func() string { return fmt.Sprintf("1 nan %d", time.Now().UnixMicro()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := redistest.New(t)
			l := open(t, e.URL(), redis.Options{Timeout: patient}).Limiter()
			w := ratelimit.Waiter{ID: "1", Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: 1, Burst: 5}}, Longest: time.Hour, Most: 10}
			if _, err := l.Take(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			client := raw(t, e)
			keys, _ := client.Keys(t.Context(), "fairlead:r:*").Result()
			began := time.Now()
			client.Set(t.Context(), keys[0], value(), 0)
			passed := 0
			for i := range 20 {
				w.ID = fmt.Sprint("w", i)
				w.Longest = 0
				wait, err := l.Take(t.Context(), w)
				if err != nil || wait > 10*time.Second {
					t.Errorf("got %v, %v", wait, err)
				}
				if wait == 0 {
					passed++
				}
			}
			if most := 5 + int(time.Since(began).Seconds()); passed > most { // one for each second
				t.Errorf("%d passed, more than the burst of 5 and its rate", passed)
			}
		})
	}
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

// While Redis is gone a call costs next to nothing, the log has a line for each
// change, and its return is noticed.
func TestBreaker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ away, back func(*redistest.Server) error }{
		"killed": {func(e *redistest.Server) error { e.Kill(); return nil }, (*redistest.Server).Start},
		"paused": {(*redistest.Server).Pause, (*redistest.Server).Resume},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, log := redistest.New(t), new(lines)
			s := open(t, e.URL(), redis.Options{Key: key, Timeout: 2 * time.Second, Logger: slog.New(slog.NewTextHandler(log, nil))})
			remote, limiter := s.Cache(), s.Limiter()
			keep(t, remote, "one", "v")
			if err := c.away(e); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2500 * time.Millisecond) // it is noticed, by heartbeats if by nothing else
			began := time.Now()
			for range 1000 {
				if _, err := remote.Look(t.Context(), question("one")); err == nil {
					t.Fatal("somebody answers")
				}
				if _, err := limiter.Take(t.Context(), ratelimit.Waiter{ID: "1"}); err == nil {
					t.Fatal("somebody answers")
				}
			}
			if took := time.Since(began); took > time.Minute { // each would wait for two seconds
				t.Errorf("2000 calls took %v", took)
			}
			if err := c.back(e); err != nil {
				t.Fatal(err)
			}
			eventually(t, "its return is not noticed", func() bool {
				f, err := remote.Look(t.Context(), question("two"))
				return err == nil && f.Ticket != ""
			})
			if name == "killed" && find(t, remote, "one") != "" {
				t.Error("the test knows its loss")
			}
			if got := log.count("does not work"); got < 1 || got > 20 { // each call would have one
				t.Errorf("%d lines say that something does not work:\n%s", got, log.text.String())
			}
		})
	}
}

var errMissed = errors.New("nothing is known")

// A call never hangs on Redis past its own deadline.
func TestNothingHangsPastItsDeadline(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	s := open(t, e.URL(), redis.Options{Key: key, Timeout: time.Minute})
	if err := s.Board().Post(t.Context(), approvals.Notice{ID: "Q", Until: time.Now().Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if err := e.Pause(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Resume() }()
	for name, f := range map[string]func(ctx context.Context) error{
		"look": func(ctx context.Context) error {
			f, err := s.Cache().Look(ctx, question("x"))
			if f.Value == nil && f.Ticket == "" { // it may have noticed already that a write's end was lost
				return errors.Join(err, errMissed)
			}
			return err
		},
		"keep": func(ctx context.Context) error {
			return s.Cache().Keep(ctx, question("x"), "1x", []byte("v"), time.Minute)
		},
		"begin": func(ctx context.Context) error { return s.Cache().Begin(ctx, cache.Write{ID: "w", Server: "crm"}) },
		"end":   func(ctx context.Context) error { return ended(ctx, s.Cache(), cache.Write{ID: "w", Server: "crm"}) },
		"take": func(ctx context.Context) error {
			_, err := s.Limiter().Take(ctx, ratelimit.Waiter{ID: "1"})
			return err
		},
		"add": func(ctx context.Context) error {
			return s.Approvals().Add(ctx, approvals.Approval{ID: "1", State: approvals.Pending})
		},
		"wait":   func(ctx context.Context) error { _, err := s.Board().Wait(ctx, "Q"); return err },
		"answer": func(ctx context.Context) error { return s.Board().Answer(ctx, "Q", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			if err := f(ctx); err == nil {
				t.Error("got no error")
			}
			if took := time.Since(began); took > 30*time.Second { // half of the timeout
				t.Errorf("it took %v", took)
			}
		})
	}
}

// With Redis gone, full or without its memory a dangerous call is denied, and not
// made.
func TestApprovalsWithoutRedisAreDenied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, asked func(t *testing.T, e *redistest.Server)
	}{
		"gone before":                {func(_ *testing.T, e *redistest.Server) { e.Kill() }, nil},
		"gone while a person thinks": {nil, func(_ *testing.T, e *redistest.Server) { e.Kill() }},
		"emptied while a person thinks": {nil, func(t *testing.T, e *redistest.Server) {
			t.Helper()
			raw(t, e).FlushAll(t.Context())
		}},
		"full": {func(t *testing.T, e *redistest.Server) {
			t.Helper()
			raw(t, e).ConfigSet(t.Context(), "maxmemory", "1")
		}, nil},
		"restarted with what it knew": {nil, func(t *testing.T, e *redistest.Server) {
			t.Helper()
			raw(t, e).Save(t.Context())
			e.Kill()
			if err := e.Start(); err != nil {
				t.Error(err)
			}
			time.Sleep(1500 * time.Millisecond) // for it to be known again
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := redistest.New(t)
			s, made := open(t, e.URL(), redis.Options{}), 0
			tools := catalog.New(catalog.Options{})
			t.Cleanup(func() { _ = tools.Close() })
			if err := tools.AddTools("bank", middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				made++
				return &mcp.CallToolResult{}, nil
			}), annotation.Declare(&mcp.Tool{Name: "pay", InputSchema: map[string]any{"type": "object"}}, annotation.Destructive())); err != nil {
				t.Fatal(err)
			}
			tool, _ := tools.Lookup("bank", "pay")
			yes := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				if c.asked != nil {
					c.asked(t, e)
				}
				return hitl.Decision{Verdict: hitl.Approved}, nil
			})
			caller := hitl.New(yes, hitl.Options{Store: s.Approvals()})(chain.Guard(
				middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
					made++
					return &mcp.CallToolResult{}, nil
				}),
			))
			if c.before != nil {
				c.before(t, e)
			}
			if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool}); !errors.Is(err, hitl.ErrDenied) || made != 0 {
				t.Errorf("made %d times, got %v", made, err)
			}
		})
	}
}

// passes is how many calls the limiter lets through now.
func passes(t *testing.T, l ratelimit.Shared, name string, burst int) (passed int) {
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

// After an outage a bucket is shut until all replicas have noticed, and then it is empty: they had
// their shares. Nor does a restarted Redis with a full bucket give a token.
func TestBucketIsEmptyAfterAnOutage(t *testing.T) {
	t.Parallel()
	away := func(t *testing.T, l ratelimit.Shared, e *redistest.Server) {
		t.Helper()
		eventually(t, "it is not noticed", func() bool { return !answered(t, l) })
		time.Sleep(500 * time.Millisecond)
	}
	for name, trouble := range map[string]func(t *testing.T, l ratelimit.Shared, e *redistest.Server){
		"killed": func(t *testing.T, l ratelimit.Shared, e *redistest.Server) {
			t.Helper()
			e.Kill()
			away(t, l, e)
			if err := e.Start(); err != nil {
				t.Error(err)
			}
		},
		"paused": func(t *testing.T, l ratelimit.Shared, e *redistest.Server) {
			t.Helper()
			if err := e.Pause(); err != nil {
				t.Error(err)
			}
			away(t, l, e)
			if err := e.Resume(); err != nil {
				t.Error(err)
			}
		},
		"restarted at once with what it knew": func(t *testing.T, _ ratelimit.Shared, e *redistest.Server) {
			t.Helper()
			e.Kill()
			if err := e.Start(); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const burst = 5
			e := redistest.New(t)
			o := redis.Options{Timeout: 2 * time.Second} // a bucket is shut for somewhat longer
			a, b := open(t, e.URL(), o).Limiter(), open(t, e.URL(), o).Limiter()
			eventually(t, "it does not answer", func() bool { return answered(t, a) })
			raw(t, e).Save(t.Context()) // the bucket is full
			trouble(t, a, e)
			// Calls do not stop for an outage; some come when its end is known and not yet said.
			shut, end := 0, time.Now().Add(6*time.Second)
			for i := 0; time.Now().Before(end); i++ {
				for _, l := range []ratelimit.Shared{a, b} {
					w := ratelimit.Waiter{ID: fmt.Sprint(i), Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: 0.01, Burst: burst}}, Most: 10}
					switch wait, err := l.Take(t.Context(), w); {
					case err != nil && strings.Contains(err.Error(), "just come back"):
						shut++
					case err == nil && wait == 0:
						t.Fatalf("call %d passes", i)
					}
				}
			}
			if shut == 0 {
				t.Error("it is never shut")
			}
			eventually(t, "it is not open again", func() bool { return answered(t, a) && answered(t, b) })
		})
	}
}

// answered reports whether the limiter answers, by a bucket that nothing else uses.
func answered(t *testing.T, l ratelimit.Shared) bool {
	t.Helper()
	_, err := l.Take(t.Context(), ratelimit.Waiter{ID: "probe", Buckets: []ratelimit.Bucket{{Server: "probe", PerSecond: 1e6, Burst: 1e6}}})
	return err == nil
}

// A loss of memory that no replica can notice gives one burst.
func TestLossOfMemoryGivesOneBurst(t *testing.T) {
	t.Parallel()
	const burst = 5
	e := redistest.New(t)
	a, b := open(t, e.URL(), redis.Options{Timeout: patient}).Limiter(), open(t, e.URL(), redis.Options{Timeout: patient}).Limiter()
	for loss := range 3 {
		if got := passes(t, a, "a", burst) + passes(t, b, "b", burst); got != burst {
			t.Errorf("%d passed after %d losses, want %d", got, loss, burst)
		}
		raw(t, e).FlushAll(t.Context())
	}
}

// A clock that was set back costs what is missing, and no more.
func TestClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	l := open(t, e.URL(), redis.Options{Timeout: patient}).Limiter()
	w := ratelimit.Waiter{ID: "1", Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: 50, Burst: 5}}, Longest: time.Hour, Most: 10}
	if _, err := l.Take(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	client := raw(t, e)
	keys, _ := client.Keys(t.Context(), "fairlead:r:*").Result()
	client.Set(t.Context(), keys[0], fmt.Sprintf("1 0 %d", time.Now().Add(time.Hour).UnixMicro()), 0)
	eventually(t, "nothing passes any more", func() bool { wait, err := l.Take(t.Context(), w); return err == nil && wait == 0 })
}
