// Package storetest checks what replicas of a host share: a cache (cache.Remote), a limiter (ratelimit.Shared), a record
// of approvals (approvals.Store) and a board of questions (approvals.Board). Call [Run] in the test of another engine.
package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
)

// Stores are what one replica has of a shared engine. A nil one is not tested.
type Stores struct {
	Cache     cache.Remote
	Limiter   ratelimit.Shared
	Approvals approvals.Store
	Board     approvals.Board
}

// Run runs all cases. open returns two replicas of one engine without anything of other calls of open.
func Run(t *testing.T, open func(t *testing.T) (a, b Stores)) {
	t.Helper()
	play(t, open, func(t *testing.T, one func(t *testing.T)) { one(t) })
}

type replicas struct{ a, b Stores }

type testCase struct {
	name string
	run  func(t *testing.T, r replicas)
}

func play(t *testing.T, open func(t *testing.T) (a, b Stores), in func(t *testing.T, one func(t *testing.T))) {
	t.Helper()
	for _, part := range []struct {
		name  string
		has   func(Stores) bool
		cases []testCase
	}{
		{"cache", func(s Stores) bool { return s.Cache != nil }, cacheCases},
		{"limiter", func(s Stores) bool { return s.Limiter != nil }, limiterCases},
		{"approvals", func(s Stores) bool { return s.Approvals != nil }, approvalCases},
		{"board", func(s Stores) bool { return s.Board != nil }, boardCases},
	} {
		for _, c := range part.cases {
			t.Run(part.name+": "+c.name, func(t *testing.T) {
				t.Parallel()
				in(t, func(t *testing.T) {
					a, b := open(t)
					if !part.has(a) || !part.has(b) {
						t.Skip("there is none")
					}
					c.run(t, replicas{a, b})
				})
			})
		}
	}
}

// patience is how long a case waits for what must come, on a busy machine too.
const patience = time.Minute

// soon is the time of what is to end within a case.
const soon = time.Second

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// undisturbed runs a part whose steps must be within a time, and again, with new things, if the machine paused.
func undisturbed(t *testing.T, within time.Duration, part func(try string) (wrong string)) {
	t.Helper()
	for i := range 10 {
		began := time.Now()
		wrong := part(fmt.Sprint(i))
		if wrong == "" {
			return
		}
		if took := time.Since(began); took < within {
			t.Error(wrong)
			return
		}
	}
	t.Errorf("ten times in a row it took more than %v", within)
}

// race calls f n times at once, one half at each replica, and returns how many had an effect.
func race(t *testing.T, r replicas, n int, f func(s Stores, i int) error) int {
	t.Helper()
	begin := make(chan struct{})
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-begin
			switch err := f([]Stores{r.a, r.b}[i%2], i); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, approvals.ErrNoEffect):
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
	return int(won.Load())
}

func done() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// slow is a bucket that gets no token within a case.
func slow(burst int) ratelimit.Bucket {
	return ratelimit.Bucket{Server: "crm", PerSecond: 0.01, Burst: burst}
}

func waiter(id string, buckets ...ratelimit.Bucket) ratelimit.Waiter {
	return ratelimit.Waiter{ID: id, Scope: "ann", Buckets: buckets, Longest: time.Hour, Most: 100}
}

func take(t *testing.T, l ratelimit.Shared, w ratelimit.Waiter) time.Duration {
	t.Helper()
	wait, err := l.Take(t.Context(), w)
	must(t, err)
	return wait
}

func took(t *testing.T, l ratelimit.Shared, w ratelimit.Waiter) {
	t.Helper()
	if wait := take(t, l, w); wait != 0 {
		t.Errorf("%s has to wait for %v, want none", w.ID, wait)
	}
}

func waits(t *testing.T, l ratelimit.Shared, w ratelimit.Waiter, least, most time.Duration) {
	t.Helper()
	if wait := take(t, l, w); wait < least || wait > most {
		t.Errorf("%s has to wait for %v, want %v to %v", w.ID, wait, least, most)
	}
}

var limiterCases = []testCase{
	{name: "all replicas together get the burst", run: func(t *testing.T, r replicas) {
		got := race(t, r, 50, func(s Stores, i int) error {
			w := waiter(fmt.Sprint(i), slow(5))
			w.Longest = 0
			wait, err := s.Limiter.Take(t.Context(), w)
			if wait > 0 {
				return approvals.ErrNoEffect
			}
			return err
		})
		if got != 5 {
			t.Errorf("%d passed, want the burst of 5", got)
		}
	}},
	{name: "the rate is kept, and it says when", run: func(t *testing.T, r replicas) {
		undisturbed(t, 500*time.Millisecond, func(try string) string {
			b := ratelimit.Bucket{Server: "crm " + try, PerSecond: 2, Burst: 1}
			took(t, r.a.Limiter, waiter("1", b))
			second := waiter("2", b)
			wait := take(t, r.b.Limiter, second)
			if wait <= 0 || wait > 500*time.Millisecond {
				return fmt.Sprintf("the second waits for %v, want at most 500ms", wait)
			}
			time.Sleep(wait + time.Millisecond)
			took(t, r.b.Limiter, second)
			return ""
		})
	}},
	{name: "who came first goes first", run: func(t *testing.T, r replicas) {
		undisturbed(t, 1300*time.Millisecond, func(try string) (wrong string) {
			b := ratelimit.Bucket{Server: "crm " + try, PerSecond: 2, Burst: 1}
			waits := func(l ratelimit.Shared, id string, least, most time.Duration) {
				if wait := take(t, l, waiter(id, b)); wrong == "" && (wait < least || wait > most) {
					wrong = fmt.Sprintf("%s has to wait for %v, want %v to %v", id, wait, least, most)
				}
			}
			took(t, r.a.Limiter, waiter("0", b))
			waits(r.a.Limiter, "first", 1, 500*time.Millisecond)
			waits(r.b.Limiter, "second", 500*time.Millisecond, time.Second)
			time.Sleep(600 * time.Millisecond)
			waits(r.a.Limiter, "third", 1, 1500*time.Millisecond) // a token is there, and not for this one
			waits(r.b.Limiter, "second", 1, time.Second)
			waits(r.a.Limiter, "first", 0, 0)
			time.Sleep(600 * time.Millisecond)
			waits(r.a.Limiter, "third", 1, time.Second)
			waits(r.b.Limiter, "second", 0, 0)
			return wrong
		})
	}},
	{name: "who leaves has cost nothing", run: func(t *testing.T, r replicas) {
		took(t, r.a.Limiter, waiter("0", slow(1)))
		for i := range 10 {
			w := waiter(fmt.Sprint("gone ", i), slow(1))
			waits(t, r.a.Limiter, w, 1, 110*time.Second)
			r.a.Limiter.Leave(t.Context(), w)
		}
		waits(t, r.b.Limiter, waiter("next", slow(1)), 90*time.Second, 100*time.Second)
	}},
	{name: "who leaves when its time is over has cost nothing", run: func(t *testing.T, r replicas) {
		took(t, r.a.Limiter, waiter("0", slow(1)))
		w := waiter("gone", slow(1))
		waits(t, r.a.Limiter, w, 1, 110*time.Second)
		r.a.Limiter.Leave(done(), w)
		next := waiter("next", slow(1))
		eventually(t, patience, "the next is the first", func() bool { return take(t, r.b.Limiter, next) <= 100*time.Second })
	}},
	{name: "who asks no more is forgotten", run: func(t *testing.T, r replicas) {
		took(t, r.a.Limiter, waiter("0", slow(1)))
		waits(t, r.a.Limiter, waiter("silent", slow(1)), 1, 110*time.Second)
		next := waiter("next", slow(1))
		waits(t, r.b.Limiter, next, 110*time.Second, 200*time.Second)
		eventually(t, patience, "the next is the first", func() bool { return take(t, r.b.Limiter, next) <= 100*time.Second })
	}},
	{name: "a call that would wait too long does not join the queue", run: func(t *testing.T, r replicas) {
		took(t, r.a.Limiter, waiter("0", slow(1)))
		hasty := waiter("hasty", slow(1))
		hasty.Longest = time.Second
		for range 3 {
			if wait := take(t, r.a.Limiter, hasty); wait <= hasty.Longest {
				t.Fatalf("got %v, which is not longer than %v", wait, hasty.Longest)
			}
		}
		waits(t, r.b.Limiter, waiter("next", slow(1)), 90*time.Second, 100*time.Second)
	}},
	{name: "a line that is full takes no one more", run: func(t *testing.T, r replicas) {
		took(t, r.a.Limiter, waiter("0", slow(1)))
		for i := range 3 {
			w := waiter(fmt.Sprint("waits ", i), slow(1))
			w.Most = 2
			if wait := take(t, r.a.Limiter, w); (wait > w.Longest) != (i == 2) {
				t.Errorf("number %d of at most 2: got %v", i+1, wait)
			}
		}
	}},
	{name: "both tokens or none", run: func(t *testing.T, r replicas) {
		tool := ratelimit.Bucket{Server: "crm", Tool: "search", PerSecond: 0.01, Burst: 2}
		server := slow(3)
		for i := range 2 {
			took(t, r.a.Limiter, waiter(fmt.Sprint("both ", i), tool, server))
		}
		w := waiter("no tool's", tool, server)
		waits(t, r.b.Limiter, w, 90*time.Second, 100*time.Second)
		took(t, r.b.Limiter, waiter("server's alone", server)) // the last, which the one before did not take
		waits(t, r.a.Limiter, waiter("none", server), 90*time.Second, 100*time.Second)
	}},
	{name: "a slow tool does not hold up its server", run: func(t *testing.T, r replicas) {
		tool := ratelimit.Bucket{Server: "crm", Tool: "search", PerSecond: 0.01, Burst: 1}
		took(t, r.a.Limiter, waiter("0", tool, slow(5)))
		waits(t, r.a.Limiter, waiter("slow", tool, slow(5)), 90*time.Second, 100*time.Second)
		took(t, r.b.Limiter, waiter("other", slow(5)))
	}},
	{name: "each scope has a bucket of its own", run: func(t *testing.T, r replicas) {
		for i, scope := range []string{"", "ann", "bob", "{}", "a\x00b", strings.Repeat("s", 50_000)} {
			w := waiter(fmt.Sprint(i), slow(1))
			w.Scope = scope
			took(t, r.a.Limiter, w)
			w.ID += " again"
			waits(t, r.b.Limiter, w, 90*time.Second, 100*time.Second)
		}
	}},
	{name: "a context that is done gets no token", run: func(t *testing.T, r replicas) {
		if _, err := r.a.Limiter.Take(done(), waiter("gone", slow(1))); err == nil {
			t.Error("got no error")
		}
		took(t, r.b.Limiter, waiter("next", slow(1)))
	}},
}

func ask(server, what string, names ...string) cache.Question {
	return cache.Question{Server: server, ID: sha256.Sum256([]byte(server + "/" + what)), Names: hashed(names)}
}

func hashed(names []string) []cache.Name {
	var list []cache.Name
	for _, n := range names {
		sum := sha256.Sum256([]byte(n))
		list = append(list, cache.Name(sum[:16]))
	}
	return list
}

func write(id, server string, names ...string) cache.Write {
	return cache.Write{ID: id, Server: server, Names: hashed(names)}
}

// lead is how long one who leads may be silent and has the lead all the same.
const lead = 500 * time.Millisecond

func look(t *testing.T, c cache.Remote, q cache.Question) cache.Found {
	t.Helper()
	f, err := c.Look(t.Context(), q)
	must(t, err)
	return f
}

// steady looks until there is a word: one that was cut off for a while believes nothing and lets nothing be kept.
func steady(t *testing.T, c cache.Remote, q cache.Question) (f cache.Found) {
	t.Helper()
	eventually(t, patience, "a look says something", func() bool {
		f = look(t, c, q)
		return f.Value != nil || f.Busy || f.Ticket != ""
	})
	return f
}

func fill(t *testing.T, c cache.Remote, q cache.Question, value string) {
	t.Helper()
	f := steady(t, c, q)
	if f.Value != nil || f.Busy {
		t.Fatalf("a look for what nobody knows: got %+v", f)
	}
	must(t, c.Keep(t.Context(), q, f.Ticket, []byte(value), time.Minute))
}

func knows(t *testing.T, c cache.Remote, q cache.Question, want string) {
	t.Helper()
	if got := steady(t, c, q); string(got.Value) != want || got.Value == nil {
		t.Errorf("got %q, want %q", got.Value, want)
	}
}

func forgot(t *testing.T, c cache.Remote, q cache.Question, why string) {
	t.Helper()
	f := look(t, c, q)
	if f.Value != nil {
		t.Errorf("%s: it still answers %q", why, f.Value)
	}
	c.Drop(t.Context(), q, f.Ticket)
}

func change(t *testing.T, c cache.Remote, w cache.Write) (ticket string) {
	t.Helper()
	must(t, c.Begin(t.Context(), w))
	return end(t, c, w)
}

func end(t *testing.T, c cache.Remote, w cache.Write) (ticket string) {
	t.Helper()
	ticket, err := c.End(t.Context(), w)
	must(t, err)
	return ticket
}

var cacheCases = []testCase{
	{name: "what one replica keeps all find, as it is", run: func(t *testing.T, r replicas) {
		q, value := ask("crm", "a"), strings.Repeat("\x00\xff\r\n{}\n1,", 5000)
		fill(t, r.a.Cache, q, value)
		for range 3 { // the second time may take another way
			knows(t, r.b.Cache, q, value)
			knows(t, r.a.Cache, q, value)
		}
	}},
	{name: "a value is not found after its time", run: func(t *testing.T, r replicas) {
		q := ask("crm", "a")
		undisturbed(t, soon, func(try string) string {
			q = ask("crm", try)
			f := steady(t, r.a.Cache, q)
			must(t, r.a.Cache.Keep(t.Context(), q, f.Ticket, []byte("v"), soon))
			if got := steady(t, r.b.Cache, q); string(got.Value) != "v" {
				return fmt.Sprintf("got %q before its time is over", got.Value)
			}
			return ""
		})
		eventually(t, patience, "it is forgotten", func() bool { return look(t, r.b.Cache, q).Value == nil })
	}},
	{name: "a write ends what was known, when it begins", run: func(t *testing.T, r replicas) {
		q, w := ask("crm", "a"), write("w", "crm")
		fill(t, r.a.Cache, q, "old")
		knows(t, r.a.Cache, q, "old")
		must(t, r.b.Cache.Begin(t.Context(), w))
		forgot(t, r.a.Cache, q, "while a write is under way")
		end(t, r.b.Cache, w)
		forgot(t, r.a.Cache, q, "after the write")
		fill(t, r.a.Cache, q, "new")
		knows(t, r.b.Cache, q, "new")
		end(t, r.b.Cache, write("v", "crm"))
		forgot(t, r.a.Cache, q, "after the end of a write whose beginning was lost")
	}},
	{name: "a fill from before a write is never found", run: func(t *testing.T, r replicas) {
		for _, q := range []cache.Question{ask("crm", "a"), ask("crm", "1", "one")} {
			late := look(t, r.a.Cache, q)
			change(t, r.b.Cache, write("w", "crm"))
			must(t, r.a.Cache.Keep(t.Context(), q, late.Ticket, []byte("old"), time.Minute))
			forgot(t, r.b.Cache, q, "a late fill")
			fill(t, r.b.Cache, q, "new")
			must(t, r.a.Cache.Keep(t.Context(), q, late.Ticket, []byte("old"), time.Minute))
			if got := look(t, r.b.Cache, q); string(got.Value) == "old" {
				t.Error("a late fill took the place of a good one")
			}
		}
	}},
	{name: "a fill that a write overlaps is never found", run: func(t *testing.T, r replicas) {
		before, during, w := ask("crm", "a"), ask("crm", "b"), write("w", "crm")
		late := look(t, r.a.Cache, before)
		must(t, r.b.Cache.Begin(t.Context(), w))
		half := look(t, r.a.Cache, during)
		if half.Value != nil || half.Busy {
			t.Fatalf("a look while a write is under way: got %+v", half)
		}
		must(t, r.a.Cache.Keep(t.Context(), before, late.Ticket, []byte("old"), time.Minute))
		must(t, r.a.Cache.Keep(t.Context(), during, half.Ticket, []byte("half"), time.Minute))
		for _, when := range []string{"during the write", "after the write"} {
			forgot(t, r.a.Cache, before, "asked before and kept in a write: "+when)
			forgot(t, r.b.Cache, during, "asked and kept in a write: "+when)
			end(t, r.b.Cache, w)
		}
	}},
	{name: "the end of one write does not open what another still changes", run: func(t *testing.T, r replicas) {
		q, first, second := ask("crm", "a"), write("1", "crm"), write("2", "crm")
		must(t, r.a.Cache.Begin(t.Context(), first))
		must(t, r.b.Cache.Begin(t.Context(), second))
		end(t, r.b.Cache, second) // the later one first
		f := look(t, r.a.Cache, q)
		must(t, r.a.Cache.Keep(t.Context(), q, f.Ticket, []byte("half"), time.Minute))
		forgot(t, r.b.Cache, q, "the first write is still under way")
		end(t, r.a.Cache, first)
		forgot(t, r.b.Cache, q, "after both")
		fill(t, r.b.Cache, q, "new")
		knows(t, r.a.Cache, q, "new")
	}},
	{name: "what a write has returned is found until another, if none overlapped it", run: func(t *testing.T, r replicas) {
		for _, names := range [][]string{nil, {"one"}, {"one", "two"}} {
			q, set, other := ask("crm", fmt.Sprint(names), names...), write("set", "crm", names...), write("other", "crm")
			eventually(t, patience, "it is kept", func() bool {
				steady(t, r.a.Cache, q)
				return r.a.Cache.Keep(t.Context(), q, change(t, r.a.Cache, set), []byte("done"), time.Minute) == nil && look(t, r.b.Cache, q).Value != nil
			})
			for _, order := range []string{"s o -o -s", "o s -s -o", "s o -s -o", "o s -o -s", "s -s o -o"} {
				tickets := make(map[string]string)
				for step := range strings.FieldsSeq(order) {
					c, w := r.a.Cache, set
					if strings.HasSuffix(step, "o") {
						c, w = r.b.Cache, other
					}
					if strings.HasPrefix(step, "-") {
						tickets[step] = end(t, c, w)
					} else {
						must(t, c.Begin(t.Context(), w))
					}
				}
				must(t, r.a.Cache.Keep(t.Context(), q, tickets["-s"], []byte("done"), time.Minute))
				forgot(t, r.b.Cache, q, "another write came in the order "+order)
			}
		}
	}},
	{name: "a write is over by itself when its time is", run: func(t *testing.T, r replicas) {
		q, w := ask("crm", "a"), write("w", "crm")
		fill(t, r.a.Cache, q, "old")
		w.Until = time.Now().Add(soon)
		must(t, r.b.Cache.Begin(t.Context(), w))
		eventually(t, patience, "what is asked for is kept again", func() bool {
			f := look(t, r.a.Cache, q)
			if string(f.Value) == "old" {
				t.Fatal("it answers as before the write")
			}
			if f.Value == nil && !f.Busy {
				must(t, r.a.Cache.Keep(t.Context(), q, f.Ticket, []byte("new"), time.Minute))
			}
			return string(f.Value) == "new"
		})
	}},
	{name: "a write to one entity ends it and the lists, one that names nothing all of its server", run: func(t *testing.T, r replicas) {
		one, two, both, list, mail := ask("crm", "1", "one"), ask("crm", "2", "two"), ask("crm", "12", "one", "two"), ask("crm", "list"), ask("mail", "1", "one")
		for _, q := range []cache.Question{one, two, both, list, mail} {
			fill(t, r.a.Cache, q, "v")
		}
		change(t, r.b.Cache, write("w", "crm", "one"))
		for _, q := range []cache.Question{one, both, list} {
			forgot(t, r.a.Cache, q, "an entity was written to")
			fill(t, r.a.Cache, q, "v")
		}
		knows(t, r.a.Cache, two, "v")
		change(t, r.b.Cache, write("v", "crm"))
		for _, q := range []cache.Question{one, two, list} {
			forgot(t, r.a.Cache, q, "anything may have been written to")
		}
		knows(t, r.a.Cache, mail, "v")
	}},
	{name: "one leads and the others wait", run: func(t *testing.T, r replicas) {
		undisturbed(t, lead, func(try string) (wrong string) {
			q := ask("crm", try)
			leader := steady(t, r.a.Cache, q)
			if got := steady(t, r.b.Cache, q); !got.Busy || got.Ticket != leader.Ticket {
				wrong = fmt.Sprintf("got %+v, want one that waits for the flight of %q", got, leader.Ticket)
			}
			must(t, r.a.Cache.Keep(t.Context(), q, leader.Ticket, []byte("v"), time.Minute))
			knows(t, r.b.Cache, q, "v")
			return wrong
		})
	}},
	{name: "of many at once one leads", run: func(t *testing.T, r replicas) {
		undisturbed(t, lead, func(try string) string {
			q := ask("crm", try)
			leads := race(t, r, 50, func(s Stores, _ int) error {
				f, err := s.Cache.Look(t.Context(), q)
				if f.Value != nil || f.Busy {
					return approvals.ErrNoEffect
				}
				return err
			})
			if leads != 1 {
				return fmt.Sprintf("%d lead, want 1", leads)
			}
			return ""
		})
	}},
	{name: "a drop gives the lead away, and so does one by a context that is done", run: func(t *testing.T, r replicas) {
		q, other := ask("crm", "a"), ask("crm", "b")
		r.a.Cache.Drop(t.Context(), q, look(t, r.a.Cache, q).Ticket)
		fill(t, r.b.Cache, q, "v")
		r.a.Cache.Drop(done(), other, look(t, r.a.Cache, other).Ticket)
		eventually(t, patience, "another leads", func() bool { return !look(t, r.b.Cache, other).Busy })
	}},
	{name: "nobody waits for a flight from before a write", run: func(t *testing.T, r replicas) {
		undisturbed(t, lead, func(try string) string {
			q := ask("crm", try)
			old := steady(t, r.a.Cache, q)
			change(t, r.b.Cache, write("w "+try, "crm"))
			fresh := steady(t, r.b.Cache, q)
			if fresh.Busy || fresh.Ticket == old.Ticket {
				return fmt.Sprintf("got %+v after a write, and before it %+v", fresh, old)
			}
			r.a.Cache.Drop(t.Context(), q, old.Ticket) // which ends its own flight alone
			if got := steady(t, r.a.Cache, q); !got.Busy {
				return "the old flight's end took the lead from the new one"
			}
			return ""
		})
	}},
	{name: "hostile names are names", run: func(t *testing.T, r replicas) {
		hostile := []string{"", "{}", "a}{b", "\x00", "nul\x00", strings.Repeat("long", 50_000), "*", "a:b", "a b\r\nFLUSHALL\r\n", "💥"}
		for i, name := range hostile {
			fill(t, r.a.Cache, ask(name, name, name), fmt.Sprint(i))
		}
		for i, name := range hostile {
			knows(t, r.b.Cache, ask(name, name, name), fmt.Sprint(i))
		}
		change(t, r.b.Cache, write("w", "{}"))
		forgot(t, r.a.Cache, ask("{}", "{}", "{}"), "after a write")
		knows(t, r.a.Cache, ask("\x00", "\x00", "\x00"), "3")
	}},
	{name: "a context that is done gets no answer", run: func(t *testing.T, r replicas) {
		if f, err := r.a.Cache.Look(done(), ask("crm", "a")); err == nil && f.Value != nil {
			t.Errorf("got %+v", f)
		}
		within, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, _ = r.a.Cache.End(done(), write("w", "crm"))
		if within.Err() != nil {
			t.Error("the end of a write held up a call whose time was over")
		}
	}},
}

func approval(id string) approvals.Approval {
	return approvals.Approval{ID: id, State: approvals.Pending, Server: "bank", Tool: "pay", Scope: "ann", Class: "dangerous", Until: time.Now().Add(time.Minute)}
}

func yes() approvals.Change {
	return approvals.Change{To: approvals.Approved, By: "ann", Until: time.Now().Add(time.Minute)}
}

func noEffect(t *testing.T, err error, was approvals.State) {
	t.Helper()
	no, ok := errors.AsType[*approvals.NoEffectError](err)
	if !ok || !errors.Is(err, approvals.ErrNoEffect) || no.Was != was {
		t.Errorf("got %v, want a NoEffectError of an approval that was %q", err, was)
	}
}

func standing(id, tool string) approvals.Standing {
	return approvals.Standing{
		ID: id, Scope: "ann", Server: "bank", Tool: tool, Definition: "d", Class: "dangerous", By: "ann", Until: time.Now().Add(time.Minute),
		Pattern: approvals.Pattern{{Name: "to", Value: json.RawMessage(`"rent"`)}},
	}
}

// answer adds an approval that the remembered approval s has answered.
func answer(ctx context.Context, s Stores, id string) error {
	a := approval(id)
	a.State, a.Standing = approvals.Approved, "s"
	return s.Approvals.Add(ctx, a)
}

var approvalCases = []testCase{
	{name: "steps go one way, at any replica", run: func(t *testing.T, r replicas) {
		ctx := t.Context()
		must(t, r.a.Approvals.Add(ctx, approval("1")))
		noEffect(t, r.b.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Spent}), approvals.Pending)
		must(t, r.b.Approvals.Advance(ctx, "1", yes()))
		noEffect(t, r.a.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Denied}), approvals.Approved)
		must(t, r.a.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Spent}))
		noEffect(t, r.b.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Spent}), approvals.Spent)
		noEffect(t, r.b.Approvals.Advance(ctx, "1", yes()), approvals.Spent)
		must(t, r.b.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Done}))
		noEffect(t, r.a.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Void}), approvals.Done)
	}},
	{name: "the first of many answers wins", run: func(t *testing.T, r replicas) {
		must(t, r.a.Approvals.Add(t.Context(), approval("1")))
		won := race(t, r, 16, func(s Stores, i int) error {
			change := yes()
			if i%3 == 0 {
				change = approvals.Change{To: approvals.Denied}
			}
			return s.Approvals.Advance(t.Context(), "1", change)
		})
		if won != 1 {
			t.Errorf("%d answers won, want 1", won)
		}
	}},
	{name: "an approval is used once", run: func(t *testing.T, r replicas) {
		must(t, r.a.Approvals.Add(t.Context(), approval("1")))
		must(t, r.a.Approvals.Advance(t.Context(), "1", yes()))
		spent := race(t, r, 16, func(s Stores, _ int) error {
			return s.Approvals.Advance(t.Context(), "1", approvals.Change{To: approvals.Spent})
		})
		if spent != 1 {
			t.Errorf("it was spent %d times, want once", spent)
		}
	}},
	{name: "a question whose time is over takes no approval, and an expired approval is not used", run: func(t *testing.T, r replicas) {
		ctx, asked, approved, stands := t.Context(), approval("1"), yes(), standing("1", "pay")
		asked.Until = time.Now().Add(soon)
		approved.Until, stands.Until = asked.Until, asked.Until
		must(t, r.a.Approvals.Add(ctx, asked))
		must(t, r.a.Approvals.Add(ctx, approval("2")))
		must(t, r.a.Approvals.Advance(ctx, "2", approved))
		must(t, r.a.Approvals.Remember(ctx, stands))
		time.Sleep(soon + 40*time.Millisecond) // by every replica's clock
		noEffect(t, r.b.Approvals.Advance(ctx, "1", yes()), approvals.Pending)
		must(t, r.b.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Void}))
		noEffect(t, r.b.Approvals.Advance(ctx, "2", approvals.Change{To: approvals.Spent}), approvals.Approved)
		if got, err := r.b.Approvals.Remembered(ctx, "ann", "", ""); err != nil || len(got) != 0 {
			t.Errorf("standing: got %+v, %v", got, err)
		}
	}},
	{name: "an approval that nobody knows takes nothing", run: func(t *testing.T, r replicas) {
		for _, id := range []string{"none", "", "{}", "\x00", strings.Repeat("x", 50_000)} {
			noEffect(t, r.a.Approvals.Advance(t.Context(), id, yes()), "")
		}
	}},
	{name: "what makes no sense is an error", run: func(t *testing.T, r replicas) {
		ctx, without := t.Context(), standing("1", "pay")
		without.Pattern = nil
		must(t, r.a.Approvals.Add(ctx, approval("1")))
		for what, err := range map[string]error{
			"a second approval of an ID":              r.b.Approvals.Add(ctx, approval("1")),
			"an approval without an ID":               r.b.Approvals.Add(ctx, approval("")),
			"an approval without an end":              r.a.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Approved}),
			"a remembered approval without arguments": r.a.Approvals.Remember(ctx, without),
			"a remembered approval without an ID":     r.a.Approvals.Remember(ctx, approvals.Standing{Scope: "ann"}),
		} {
			if err == nil {
				t.Errorf("%s got no error", what)
			}
		}
	}},
	{name: "an approval begins as a question, or by a remembered approval", run: func(t *testing.T, r replicas) {
		for _, state := range []approvals.State{approvals.Approved, approvals.Spent, approvals.Done, approvals.Denied, approvals.Void, ""} {
			a := approval("begins as " + string(state))
			if a.State = state; r.a.Approvals.Add(t.Context(), a) == nil {
				t.Errorf("%q got no error", state)
			}
		}
	}},
	{name: "a remembered approval answers, and is counted, until it is taken back", run: func(t *testing.T, r replicas) {
		ctx, spent := t.Context(), approvals.Change{To: approvals.Spent, Scope: "ann", Standing: "s"}
		answered := func(id string) error { return answer(ctx, r.a, id) }
		noEffect(t, answered("0"), approvals.Void)
		must(t, r.b.Approvals.Remember(ctx, standing("s", "pay")))
		must(t, answered("1"))
		must(t, answered("2"))
		must(t, r.b.Approvals.Advance(ctx, "1", spent))
		got, err := r.b.Approvals.List(ctx)
		if must(t, err); len(got) != 1 || got[0].ID != "s" || got[0].Uses != 2 || got[0].Scope != "ann" {
			t.Errorf("got %+v, want one that was used twice", got)
		}
		must(t, r.b.Approvals.Forget(ctx, "ann", "s"))
		noEffect(t, r.a.Approvals.Advance(ctx, "2", spent), approvals.Void)
		noEffect(t, answered("3"), approvals.Void)
		must(t, r.a.Approvals.Advance(ctx, "1", approvals.Change{To: approvals.Done, Scope: "ann", Standing: "s"}))
		if got, err := r.a.Approvals.List(ctx); err != nil || len(got) != 0 {
			t.Errorf("got %+v, %v", got, err)
		}
	}},
	{name: "each of many uses is counted, and none brings back what was taken back", run: func(t *testing.T, r replicas) {
		ctx := t.Context()
		must(t, r.a.Approvals.Remember(ctx, standing("s", "pay")))
		used := race(t, r, 16, func(s Stores, i int) error { return answer(ctx, s, fmt.Sprint("before ", i)) })
		if answer(ctx, r.b, "before 0") == nil {
			t.Error("a second approval of an ID got no error")
		}
		if got, err := r.b.Approvals.List(ctx); err != nil || used != 16 || len(got) != 1 || got[0].Uses != used {
			t.Errorf("got %+v, %v, want one that was used 16 times; %d got no error", got, err, used)
		}
		race(t, r, 16, func(s Stores, i int) error {
			if i == 5 {
				return s.Approvals.Forget(ctx, "ann", "s")
			}
			return answer(ctx, s, fmt.Sprint("during ", i))
		})
		if got, err := r.b.Approvals.Remembered(ctx, "ann", "bank", "pay"); err != nil || len(got) != 0 || answer(ctx, r.a, "after") == nil {
			t.Errorf("it is back: got %+v, %v", got, err)
		}
	}},
	{name: "a decision for one call is taken once, and not after it was taken back", run: func(t *testing.T, r replicas) {
		ctx, spent := t.Context(), approvals.Change{To: approvals.Spent}
		for id, end := range map[string]approvals.State{"taken": approvals.Spent, "forgotten": approvals.Void} {
			once := standing(id, "pay")
			once.Pattern, once.Arguments, once.Once, once.Reason = nil, "of "+id, true, "why"
			must(t, r.a.Approvals.Add(ctx, approval(id)))
			must(t, r.a.Approvals.Advance(ctx, id, yes()))
			must(t, r.a.Approvals.Remember(ctx, once))
			got, err := r.b.Approvals.Remembered(ctx, "ann", "bank", "pay")
			if must(t, err); len(got) != 1 || !got[0].Once || got[0].Arguments != once.Arguments || got[0].Reason != "why" {
				t.Errorf("got %+v", got)
			}
			if end == approvals.Spent {
				must(t, r.b.Approvals.Advance(ctx, id, spent))
			}
			must(t, r.b.Approvals.Forget(ctx, "ann", id))
			noEffect(t, r.a.Approvals.Advance(ctx, id, spent), end)
			if end == approvals.Spent { // which Forget leaves as it is
				must(t, r.a.Approvals.Advance(ctx, id, approvals.Change{To: approvals.Done}))
			}
		}
	}},
	{name: "a remembered approval holds in every replica, for its scope and tool", run: func(t *testing.T, r replicas) {
		ctx := t.Context()
		must(t, r.a.Approvals.Remember(ctx, standing("1", "pay")))
		must(t, r.a.Approvals.Remember(ctx, standing("2", "refund")))
		for _, c := range []struct {
			scope, server, tool string
			want                int
		}{{"ann", "bank", "pay", 1}, {"ann", "", "", 2}, {"ann", "bank", "close", 0}, {"ann", "mail", "pay", 0}, {"bob", "bank", "pay", 0}, {"", "", "", 0}} {
			got, err := r.b.Approvals.Remembered(ctx, c.scope, c.server, c.tool)
			if must(t, err); len(got) != c.want {
				t.Errorf("%+v: got %d", c, len(got))
			}
		}
		got, err := r.b.Approvals.Remembered(ctx, "ann", "bank", "pay")
		if must(t, err); got[0].By != "ann" || !got[0].Pattern.Covers(json.RawMessage(`{"to":"rent"}`)) {
			t.Errorf("got %+v", got[0])
		}
		must(t, r.b.Approvals.Forget(ctx, "bob", "1")) // somebody else's
		must(t, r.b.Approvals.Forget(ctx, "ann", "2"))
		must(t, r.b.Approvals.Forget(ctx, "ann", "none"))
		if got, _ := r.a.Approvals.Remembered(ctx, "ann", "", ""); len(got) != 1 || got[0].ID != "1" {
			t.Errorf("after Forget: got %+v", got)
		}
	}},
}

func notice(id string) approvals.Notice {
	return approvals.Notice{ID: id, Until: time.Now().Add(time.Minute), Question: []byte("may I? " + id)}
}

func awaits(t *testing.T, b approvals.Board, id string) <-chan string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		answer, err := b.Wait(t.Context(), id)
		switch {
		case errors.Is(err, approvals.ErrNoEffect):
			got <- "over"
		case err != nil:
			got <- "error: " + err.Error()
		default:
			got <- string(answer)
		}
	}()
	return got
}

func hears(t *testing.T, got <-chan string, want string) {
	t.Helper()
	select {
	case answer := <-got:
		if answer != want {
			t.Errorf("got %q, want %q", answer, want)
		}
	case <-time.After(patience):
		t.Error("whoever waits was not woken")
	}
}

func open(t *testing.T, b approvals.Board) string {
	t.Helper()
	notices, err := b.Open(t.Context())
	must(t, err)
	var ids []string
	for _, n := range notices {
		if string(n.Question) != "may I? "+n.ID {
			t.Errorf("%s asks %q", n.ID, n.Question)
		}
		if left := time.Until(n.Until); left <= 0 || left > 70*time.Second {
			t.Errorf("%s has %v left", n.ID, left)
		}
		ids = append(ids, n.ID)
	}
	return strings.Join(ids, " ")
}

var boardCases = []testCase{
	{name: "an answer at one replica wakes who waits at another", run: func(t *testing.T, r replicas) {
		must(t, r.a.Board.Post(t.Context(), notice("1")))
		got := awaits(t, r.a.Board, "1")
		eventually(t, patience, "it is shown", func() bool { return open(t, r.b.Board) == "1" })
		must(t, r.b.Board.Answer(t.Context(), "1", []byte("yes\x00")))
		hears(t, got, "yes\x00")
		if left := open(t, r.a.Board); left != "" {
			t.Errorf("%s is shown after its answer", left)
		}
	}},
	{name: "the first of many answers wins", run: func(t *testing.T, r replicas) {
		must(t, r.a.Board.Post(t.Context(), notice("1")))
		got := awaits(t, r.a.Board, "1")
		won := make(chan string, 16)
		n := race(t, r, 16, func(s Stores, i int) error {
			answer := strings.Repeat("x", i+1)
			err := s.Board.Answer(t.Context(), "1", []byte(answer))
			if err == nil {
				won <- answer
			}
			return err
		})
		if n != 1 {
			t.Fatalf("%d answers won, want 1", n)
		}
		hears(t, got, <-won)
	}},
	{name: "who waits late learns the answer", run: func(t *testing.T, r replicas) {
		must(t, r.a.Board.Post(t.Context(), notice("1")))
		must(t, r.b.Board.Answer(t.Context(), "1", []byte("no")))
		hears(t, awaits(t, r.a.Board, "1"), "no")
		hears(t, awaits(t, r.b.Board, "1"), "no")
		noEffect(t, r.a.Board.Answer(t.Context(), "1", []byte("yes")), approvals.Done)
		must(t, r.a.Board.TakeDown(t.Context(), "1"))
		hears(t, awaits(t, r.b.Board, "1"), "no")
	}},
	{name: "a question whose time is over takes no answer", run: func(t *testing.T, r replicas) {
		n := notice("1")
		n.Until = time.Now().Add(soon)
		must(t, r.a.Board.Post(t.Context(), n))
		hears(t, awaits(t, r.a.Board, "1"), "over")
		time.Sleep(20 * time.Millisecond)
		noEffect(t, r.b.Board.Answer(t.Context(), "1", []byte("yes")), approvals.Void)
	}},
	{name: "a question that was taken down takes no answer", run: func(t *testing.T, r replicas) {
		must(t, r.a.Board.Post(t.Context(), notice("1")))
		got := awaits(t, r.b.Board, "1")
		must(t, r.a.Board.TakeDown(t.Context(), "1"))
		hears(t, got, "over")
		noEffect(t, r.b.Board.Answer(t.Context(), "1", []byte("yes")), approvals.Void)
		if left := open(t, r.b.Board); left != "" {
			t.Errorf("%s is shown", left)
		}
	}},
	{name: "a question that nobody waits for is not shown after some seconds", run: func(t *testing.T, r replicas) {
		must(t, r.a.Board.Post(t.Context(), notice("1")))
		must(t, r.a.Board.Post(t.Context(), notice("2")))
		within, leave := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer leave()
		if _, err := r.a.Board.Wait(within, "1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		_ = awaits(t, r.b.Board, "2")
		eventually(t, 30*time.Second, "the one is not shown, the other is", func() bool { return open(t, r.b.Board) == "2" })
		noEffect(t, r.b.Board.Answer(t.Context(), "1", []byte("yes")), approvals.Void)
		must(t, r.a.Board.Answer(t.Context(), "2", []byte("yes")))
	}},
	{name: "a question that nobody asked takes no answer", run: func(t *testing.T, r replicas) {
		for _, id := range []string{"none", "", "{}", "\x00"} {
			noEffect(t, r.a.Board.Answer(t.Context(), id, []byte("yes")), "")
			hears(t, awaits(t, r.b.Board, id), "over")
		}
		must(t, r.a.Board.TakeDown(t.Context(), "none"))
	}},
	{name: "questions are shown in their order", run: func(t *testing.T, r replicas) {
		for _, id := range []string{"c", "a", "b"} {
			must(t, r.a.Board.Post(t.Context(), notice(id)))
			time.Sleep(3 * time.Millisecond)
		}
		if got := open(t, r.b.Board); got != "c a b" {
			t.Errorf("got %q", got)
		}
	}},
	{name: "an ID counts once", run: func(t *testing.T, r replicas) {
		must(t, r.a.Board.Post(t.Context(), notice("1")))
		if r.b.Board.Post(t.Context(), notice("1")) == nil || r.b.Board.Post(t.Context(), notice("")) == nil {
			t.Error("got no error")
		}
	}},
}
