package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/retry/doubt"
)

func entry(key string) doubt.Entry {
	now := time.Now().UTC().Truncate(time.Millisecond)
	return doubt.Entry{
		Call: doubt.Call{ID: "call " + key, Scope: "ann", Server: "bank", Tool: "pay", Time: now}, Key: key, Effect: "aEffect", Read: "bank/list", Replica: "r1",
		Until: now.Add(time.Minute),
	}
}

// keysOf returns the keys that a replica finds, in their order.
func keysOf(t *testing.T, s Stores, scope, server, tool string) string {
	t.Helper()
	all, err := s.Doubt.Find(t.Context(), scope, server, tool)
	must(t, err)
	var keys []string
	for _, e := range all {
		keys = append(keys, e.Key)
	}
	return strings.Join(keys, " ")
}

var doubtCases = []testCase{
	{name: "an entry is found at each replica, as it was put", run: func(t *testing.T, r replicas) {
		want := entry("1")
		want.Arguments, want.Effect = json.RawMessage(`{"to":"é\u0000"}`), "e\x7f of any kind"
		must(t, r.a.Doubt.Put(t.Context(), want))
		for _, s := range []Stores{r.a, r.b} {
			got, err := s.Doubt.Find(t.Context(), "ann", "bank", "pay")
			must(t, err)
			if !reflect.DeepEqual(got, []doubt.Entry{want}) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	}},
	{name: "an entry is of its scope and tool alone", run: func(t *testing.T, r replicas) {
		ctx := t.Context()
		must(t, r.a.Doubt.Put(ctx, entry("1")))
		for _, other := range [][3]string{{"bob", "bank", "pay"}, {"ann", "mail", "pay"}, {"ann", "bank", "close"}, {"", "", ""}, {"ann", "bankpay", ""}, {"Ann", "bank", "pay"}} {
			if got := keysOf(t, r.b, other[0], other[1], other[2]); got != "" {
				t.Errorf("%q finds %q", other, got)
			}
			e := entry("1")
			e.Scope, e.Server, e.Tool = other[0], other[1], other[2]
			was, err := r.b.Doubt.Remove(ctx, e)
			must(t, err)
			first, err := r.b.Doubt.Tell(ctx, e)
			must(t, err)
			if was || first {
				t.Errorf("%q reaches it", other)
			}
		}
		if got := keysOf(t, r.b, "ann", "bank", "pay"); got != "1" {
			t.Errorf("got %q", got)
		}
	}},
	{name: "an entry replaces the one with its key, and stays told", run: func(t *testing.T, r replicas) {
		ctx := t.Context()
		must(t, r.a.Doubt.Put(ctx, entry("1")))
		first, err := r.b.Doubt.Tell(ctx, entry("1"))
		must(t, err)
		again := entry("1")
		again.Replica = ""
		must(t, r.a.Doubt.Put(ctx, again))
		got, err := r.b.Doubt.Find(ctx, "ann", "bank", "pay")
		if must(t, err); !first || len(got) != 1 || got[0].Replica != "" || !got[0].Told {
			t.Errorf("told %v, got %+v", first, got)
		}
	}},
	{name: "one of many tells it, and one removes it", run: func(t *testing.T, r replicas) {
		ctx := t.Context()
		must(t, r.a.Doubt.Put(ctx, entry("1")))
		none := new(approvals.NoEffectError)
		if n := race(t, r, 16, func(s Stores, _ int) error { return oneOf(s.Doubt.Tell(ctx, entry("1")))(none) }); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
		if n := race(t, r, 16, func(s Stores, _ int) error { return oneOf(s.Doubt.Remove(ctx, entry("1")))(none) }); n != 1 {
			t.Errorf("removed %d times, want once", n)
		}
		if got := keysOf(t, r.b, "ann", "bank", "pay"); got != "" {
			t.Errorf("got %q", got)
		}
		if first, err := r.a.Doubt.Tell(ctx, entry("1")); err != nil || first {
			t.Errorf("one that is not there was told: %v, %v", first, err)
		}
	}},
	{name: "entries come in the order of their time, and go at their end", run: func(t *testing.T, r replicas) {
		ctx := t.Context()
		for i, key := range []string{"b", "c", "a"} {
			e := entry(key)
			e.Time = e.Time.Add(time.Duration(i) * time.Second)
			must(t, r.a.Doubt.Put(ctx, e))
		}
		short := entry("short")
		short.Until = time.Now().Add(soon)
		must(t, r.a.Doubt.Put(ctx, short))
		eventually(t, patience, "what has expired is not found", func() bool { return keysOf(t, r.b, "ann", "bank", "pay") == "b c a" })
	}},
	{name: "more than a thousand of one tool drop the oldest", run: func(t *testing.T, r replicas) {
		began := time.Now().UTC()
		for i := range 1005 {
			e := entry(fmt.Sprint(i))
			e.Time = began.Add(time.Duration(i) * time.Millisecond)
			must(t, r.a.Doubt.Put(t.Context(), e))
		}
		got, err := r.b.Doubt.Find(t.Context(), "ann", "bank", "pay")
		if must(t, err); len(got) != 1000 || got[0].Key != "5" {
			t.Errorf("got %d, the first is %+v", len(got), got[0])
		}
	}},
	{name: "names of any form", run: func(t *testing.T, r replicas) {
		for i, name := range []string{"", "{}", "a:b", "ü", strings.Repeat("x", 5000)} {
			e := entry(fmt.Sprint(i))
			e.Scope, e.Tool = name, name
			must(t, r.a.Doubt.Put(t.Context(), e))
			if got := keysOf(t, r.b, name, "bank", name); got != e.Key {
				t.Errorf("%.20q: got %.20q", name, got)
			}
		}
	}},
	{name: "a context that is done", run: func(t *testing.T, r replicas) {
		must(t, r.a.Doubt.Put(t.Context(), entry("1")))
		if was, err := r.a.Doubt.Remove(done(), entry("1")); was && err != nil {
			t.Errorf("it was removed, and the error is %v", err)
		}
	}},
}

// oneOf returns a func that is nil for true, and otherwise the given error.
func oneOf(ok bool, err error) func(error) error {
	return func(none error) error {
		if err == nil && !ok {
			return none
		}
		return err
	}
}
