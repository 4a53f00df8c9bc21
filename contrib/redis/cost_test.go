package redis_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry/doubt"
)

// A costed call is one whose cost docs/reference/capacity.md states: the commands, each a round trip, and at
// most how many bytes both ways.
type costed struct {
	name, want string
	bytes      int
	do         func(id string)
}

func costedCalls(t *testing.T, s *redis.Store) []costed {
	t.Helper()
	ctx, a, soon := t.Context(), s.Approvals(), func() time.Time { return time.Now().Add(time.Minute) }
	finder, ok := a.(approvals.Finder)
	if !ok {
		t.Fatal("the store does not find by arguments")
	}
	finds := func(tool string, want int) {
		if found, err := finder.Find(ctx, "ann", "bank", tool, "these"); err != nil || len(found) != want {
			t.Errorf("found %v, %v, want %d", found, err, want)
		}
	}
	must(t, a.Remember(ctx, standingOf("standing", "ann", "pay", "these")))
	return []costed{
		{"safe, from the cache", "MGET", 500, func(string) { knows(t, s.Cache(), "hit", "v") }},
		{"safe", "EVALSHA EVALSHA", 1500, func(id string) { keep(t, s.Cache(), id, "v") }},
		{"a write, for the cache", "EVALSHA EVALSHA", 1200, func(id string) {
			must(t, s.Cache().Begin(ctx, cache.Write{ID: id, Server: "mail"}))
			must(t, ended(ctx, s.Cache(), cache.Write{ID: id, Server: "mail"}))
		}},
		{"not harmless to repeat", "HGETALL EVALSHA EVALSHA", 1500, func(id string) {
			e := doubt.Entry{Call: doubt.Call{ID: id, Scope: "ann", Server: "bank", Tool: "pay", Time: time.Now()}, Key: id, Until: soon()}
			_, err := s.Doubt().Find(ctx, "ann", "bank", "pay")
			must(t, err)
			must(t, s.Doubt().Put(ctx, e))
			_, err = s.Doubt().Remove(ctx, e)
			must(t, err)
		}},
		{"limited", "EVALSHA", 700, func(id string) {
			_, err := s.Limiter().Take(ctx, ratelimit.Waiter{ID: id, Buckets: []ratelimit.Bucket{{Server: "crm", PerSecond: 1e6, Burst: 1e6}}})
			must(t, err)
		}},
		{"asked", "EVALSHA EVALSHA EVALSHA EVALSHA EVALSHA", 2000, func(id string) {
			finds("ask", 0)
			must(t, a.Add(ctx, approvals.Approval{ID: id, State: approvals.Pending, Until: soon()}))
			must(t, a.Advance(ctx, id, approvals.Change{To: approvals.Approved, Until: soon()}))
			must(t, a.Advance(ctx, id, approvals.Change{To: approvals.Spent}))
			must(t, a.Advance(ctx, id, approvals.Change{To: approvals.Done}))
		}},
		{"remembered", "EVALSHA MGET EVALSHA EVALSHA MGET EVALSHA", 4500, func(id string) {
			finds("pay", 1)
			must(t, answersBy(ctx, a, id, "standing"))
			must(t, a.Advance(ctx, id, approvals.Change{To: approvals.Done, Scope: "ann", Standing: "standing"}))
		}},
	}
}

func standingOf(id, scope, tool, arguments string) approvals.Standing {
	y := yes(id)
	y.Scope, y.Tool, y.Arguments, y.Pattern = scope, tool, arguments, nil
	return y
}

// manyApprovals remembers approvals: half for the tool and the scope of the calls, of other arguments, the others for as
// many agents, each with a scope of its own.
func manyApprovals(t *testing.T, s *redis.Store, from, to int) {
	t.Helper()
	var all sync.WaitGroup
	const writers = 16
	for w := range writers {
		all.Go(func() {
			for i := from + w; i < to; i += writers {
				y := standingOf(fmt.Sprint(i), "ann", "pay", fmt.Sprint("others ", i))
				if i%2 == 0 {
					y.Scope = fmt.Sprint("agent ", i)
				}
				must(t, s.Approvals().Remember(t.Context(), y))
			}
		})
	}
	all.Wait()
}

// costs measures a call until no heartbeat falls into it, at most so often.
func costs(w *wire, c costed, about string) (said string, bytes int) {
	for try := range 20 {
		w.trips()
		read, sent := w.bytes(), w.sends()
		c.do(fmt.Sprint(c.name, about, try))
		said, bytes = w.trips(), w.bytes()-read+w.sends()-sent
		if said == c.want && bytes <= c.bytes {
			break
		}
	}
	return said, bytes
}

// A call costs Redis the same commands and bytes, however many agents there are and approvals are remembered, also for
// its own tool and scope.
func TestCostOfACall(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	w := newWire(t, e.Port)
	o := redis.Options{Key: key, Timeout: patient}
	s, other := open(t, w.url, o), open(t, e.URL(), o) // the other one is not counted
	all := costedCalls(t, s)
	keep(t, s.Cache(), "hit", "v")
	had := 1
	for _, n := range []int{1, 100, 10_000} {
		manyApprovals(t, other, had, n)
		had = n
		for _, c := range all {
			c.do("before " + fmt.Sprint(n)) // the script is known
			got, bytes := costs(w, c, fmt.Sprint(" of ", n))
			t.Logf("%6d remembered: %s: %d commands, %d bytes", n, c.name, len(strings.Fields(got)), bytes)
			if got != c.want || bytes > c.bytes {
				t.Errorf("%d remembered: %s: got %s and %d bytes, want %s and at most %d", n, c.name, got, bytes, c.want, c.bytes)
			}
		}
	}
}

// The calls of many agents at many replicas are spread over the masters of a cluster, and cost as much as those of few.
func TestCostInACluster(t *testing.T) {
	t.Parallel()
	url, nodes := clusterOf(t)
	o := redis.Options{Key: key, Timeout: patient}
	var replicas []*redis.Store
	for range 10 { // a hundredth of 1,000
		replicas = append(replicas, open(t, url, o))
	}
	asks := func(agent int) {
		s, id := replicas[agent%len(replicas)], fmt.Sprint("of agent ", agent)
		must(t, s.Approvals().Add(t.Context(), approvals.Approval{ID: id, State: approvals.Pending, Until: time.Now().Add(time.Minute)}))
		must(t, s.Approvals().Advance(t.Context(), id, approvals.Change{To: approvals.Approved, Until: time.Now().Add(time.Minute)}))
		must(t, s.Approvals().Advance(t.Context(), id, approvals.Change{To: approvals.Spent}))
	}
	var most int
	had := 0
	for _, agents := range []int{100, 1000} { // the last a hundredth of 100,000
		before := commandsOf(t, nodes, "hset")
		var all sync.WaitGroup
		for w := range replicas {
			all.Go(func() {
				for i := had + w; i < agents; i += len(replicas) {
					asks(i)
				}
			})
		}
		all.Wait()
		after, sum := commandsOf(t, nodes, "hset"), 0
		most = 0
		for i := range nodes {
			n := after[i] - before[i]
			sum, most = sum+n, max(most, n)
		}
		calls := agents - had
		t.Logf("%d agents: %d changes of approvals, %.2f for each call; the busiest master has %d", agents, sum, float64(sum)/float64(calls), most)
		if want := 4 * calls; sum != want { // two of them for the approved
			t.Errorf("%d calls made %d changes, want %d", calls, sum, want)
		}
		if most > sum*45/100 {
			t.Errorf("one of three masters has %d of %d changes", most, sum)
		}
		had = agents
	}
}

// commandsOf returns how often each node has run a command, also in scripts.
func commandsOf(t *testing.T, nodes []*redistest.Server, name string) (all []int) {
	t.Helper()
	for _, e := range nodes {
		info, err := raw(t, e).Info(t.Context(), "commandstats").Result()
		must(t, err)
		_, rest, _ := strings.Cut(info, "cmdstat_"+name+":calls=")
		number, _, _ := strings.Cut(rest, ",")
		n, _ := strconv.Atoi(number)
		all = append(all, n)
	}
	return all
}
