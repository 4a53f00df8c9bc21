package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/hitl/approvals"
)

func ask(server, what string, names ...string) cache.Read {
	return cache.Read{Server: server, ID: sha256.Sum256([]byte(server + "/" + what)), Entities: hashed(names)}
}

func hashed(names []string) []cache.EntityKey {
	var list []cache.EntityKey
	for _, n := range names {
		sum := sha256.Sum256([]byte(n))
		list = append(list, cache.EntityKey(sum[:16]))
	}
	return list
}

func write(id, server string, names ...string) cache.Write {
	return cache.Write{ID: id, Server: server, Entities: hashed(names)}
}

// lead is how long one who leads may be silent and has the lead all the same.
const lead = 500 * time.Millisecond

func look(t *testing.T, c cache.Remote, q cache.Read) cache.Lookup {
	t.Helper()
	f, err := c.Look(t.Context(), q)
	must(t, err)
	return f
}

// steady looks until there is a word: one that was cut off for a while believes nothing and lets nothing be kept.
func steady(t *testing.T, c cache.Remote, q cache.Read) (f cache.Lookup) {
	t.Helper()
	eventually(t, patience, "a look says something", func() bool {
		f = look(t, c, q)
		return f.Value != nil || f.Busy || f.Ticket != ""
	})
	return f
}

func fill(t *testing.T, c cache.Remote, q cache.Read, value string) {
	t.Helper()
	f := steady(t, c, q)
	if f.Value != nil || f.Busy {
		t.Fatalf("a look for what nobody knows: got %+v", f)
	}
	must(t, c.Keep(t.Context(), q, f.Ticket, []byte(value), time.Minute))
}

func knows(t *testing.T, c cache.Remote, q cache.Read, want string) {
	t.Helper()
	if got := steady(t, c, q); string(got.Value) != want || got.Value == nil {
		t.Errorf("got %q, want %q", got.Value, want)
	}
}

func forgot(t *testing.T, c cache.Remote, q cache.Read, why string) {
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
		for _, q := range []cache.Read{ask("crm", "a"), ask("crm", "1", "one")} {
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
		for _, q := range []cache.Read{one, two, both, list, mail} {
			fill(t, r.a.Cache, q, "v")
		}
		change(t, r.b.Cache, write("w", "crm", "one"))
		for _, q := range []cache.Read{one, both, list} {
			forgot(t, r.a.Cache, q, "an entity was written to")
			fill(t, r.a.Cache, q, "v")
		}
		knows(t, r.a.Cache, two, "v")
		change(t, r.b.Cache, write("v", "crm"))
		for _, q := range []cache.Read{one, two, list} {
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
