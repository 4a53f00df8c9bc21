package chain_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/longtest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// builtIn are the kinds that a chain is made of, in the argued order.
var builtIn = []string{"recover", "infer", "hitl", "cache", "retry", "ratelimit", "timeout"}

// build makes the kind; of ratelimit and hitl all share what the host shares.
func build(kind string, ask, pace middleware.Middleware) middleware.Middleware {
	switch kind {
	case "recover":
		return chain.Recover()
	case "infer":
		return infer.New(infer.Options{})
	case "hitl":
		return ask
	case "cache":
		return cache.New(cache.Options{})
	case "retry":
		return quick()
	case "ratelimit":
		return pace
	}
	return timeout.New(timeout.Options{})
}

// permutations calls f with every order of the kinds, each once even where a kind
// is there twice. The slice is f's for that one call.
func permutations(kinds []string, f func(order []string)) {
	left := make(map[string]int)
	for _, k := range kinds {
		left[k]++
	}
	order := make([]string, 0, len(kinds))
	var next func()
	next = func() {
		if len(order) == len(kinds) {
			f(order)
			return
		}
		for _, k := range builtIn {
			if left[k] == 0 {
				continue
			}
			left[k]--
			order = append(order, k)
			next()
			order = order[:len(order)-1]
			left[k]++
		}
	}
	next()
}

// A middleware that describes its kind describes its next as well, so that it hides nothing.
func TestEveryMiddlewareDescribesItsNext(t *testing.T) {
	t.Parallel()
	for _, kind := range builtIn {
		executor := new(turning)
		built := build(kind, hitl.New(nil, hitl.Options{}), slow())(executor)
		d, ok := built.(middleware.Describer)
		if !ok || d.Describe().Kind != kind || d.Describe().Next != middleware.ToolCaller(executor) {
			t.Errorf("%s: %T does not describe its kind and its next", kind, built)
		}
	}
}

// I21: every order of the built-in kinds, and every order with one of them twice,
// is either named as wrong or keeps every promise. And whatever the order, the
// guard lets nothing dangerous happen unasked or twice.
func TestEveryOrderIsNamedOrKeepsItsPromises(t *testing.T) {
	t.Parallel()
	sets := [][]string{builtIn}
	for _, k := range builtIn {
		sets = append(sets, append(slices.Clone(builtIn), k))
	}
	orders, kept := 0, 0
	for i, set := range sets {
		permutations(set, func(order []string) {
			orders++
			d := new(double)
			ask, pace := hitl.New(d, hitl.Options{}), slow()
			links := make([]middleware.Middleware, len(order))
			for j, k := range order {
				links[j] = build(k, ask, pace)
			}
			c := chain.New(links...)
			named := len(chain.Verify(c)) > 0
			if !named {
				kept++
				if problems := drive(c, d.doubles()); len(problems) > 0 {
					t.Errorf("%v is read as right, but %v", order, problems)
				}
				if said := selfCheck(t, order); said != "" {
					t.Errorf("%v is read as right, but %s", order, said)
				}
			}
			if i == 0 { // an order with one twice has these within it
				if said := safe(t, order); said != "" {
					t.Errorf("%v: %s", order, said)
				}
			}
		})
		if raced || longtest.Every(t, len(sets)) > 1 {
			break // those with each middleware once
		}
	}
	t.Logf("%d orders, %d of them right", orders, kept)
	if want := 7; kept < want { // recover may be anywhere, the others have one order
		t.Errorf("%d orders are right, want at least %d", kept, want)
	}
}

// A bench is a chain before an executor that fails as set, with a record of its calls.
type bench struct {
	mu              sync.Mutex
	caller          middleware.ToolCaller
	person          double
	arrived, worked map[string]int
	fail            func(tool string, arrival int) error
}

func newBench(order []string, fail func(tool string, arrival int) error) *bench {
	b := &bench{arrived: make(map[string]int), worked: make(map[string]int), fail: fail}
	links := make([]middleware.Middleware, len(order))
	ask, pace := hitl.New(&b.person, hitl.Options{}), ratelimit.New(ratelimit.Options{PerMinute: 60, Burst: 2})
	for i, k := range order {
		links[i] = build(k, ask, pace)
	}
	b.caller = chain.New(links...).Then(guard.New(middleware.ToolCallerFunc(
		func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			name := call.Tool.Name()
			b.arrived[name]++
			err := b.fail(name, b.arrived[name])
			if err == nil || !middleware.NotSent(err) {
				b.worked[name]++
			}
			if err != nil {
				return nil, err
			}
			return answer, nil
		}),
		func(_ context.Context, call middleware.Call) (*middleware.Tool, error) { return call.Tool, nil }))
	return b
}

func (b *bench) call(tool *middleware.Tool) error {
	_, err := b.caller.CallTool(context.Background(), middleware.Call{Tool: tool})
	return err
}

var errMaybe = errors.New("lost")

func never(string, int) error { return nil }

// safe reports how a dangerous call was mistreated: unasked, or done twice, whatever the executor
// returns.
func safe(t *testing.T, order []string) (said string) {
	t.Helper()
	danger := tool(t, "destroy", annotation.Destructive())
	for _, fail := range []func(string, int) error{
		never,
		func(string, int) error { return errMaybe },
		func(_ string, n int) error {
			if n < 3 {
				return unsent{}
			}
			return errMaybe
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(order, fail)
			_ = b.call(danger)
			if n := b.worked["destroy"]; n > 1 {
				said = "a dangerous call was executed more than once"
			}
			b.person.no.Store(true)
			before := b.worked["destroy"]
			if err := b.call(danger); err == nil || b.worked["destroy"] > before {
				said = "a dangerous call happened after a denial"
			}
		})
	}
	return said
}

// selfCheck reports which promise of the argued order is broken.
func selfCheck(t *testing.T, order []string) string {
	t.Helper()
	var said []string
	claim := func(ok bool, words string) {
		if !ok {
			said = append(said, words)
		}
	}
	danger, read, write := tool(t, "destroy", annotation.Destructive()), tool(t, "look", annotation.ReadOnly()), tool(t, "add", annotation.Write())
	unclassed := definition(t, "list_notes")
	synctest.Test(t, func(*testing.T) {
		b := newBench(order, never)
		b.person.no.Store(true)
		claim(b.call(danger) != nil && b.worked["destroy"] == 0, "a denial does not deny")
		b.person.no.Store(false)
		asked := b.person.asked.Load()
		claim(b.call(danger) == nil && b.worked["destroy"] == 1 && b.person.asked.Load() == asked+1, "an approval is not one question and one execution")
		claim(b.call(danger) == nil && b.worked["destroy"] == 2, "a dangerous call was answered from memory")
	})
	synctest.Test(t, func(*testing.T) {
		b := newBench(order, func(string, int) error { return errMaybe })
		claim(b.call(danger) != nil && b.worked["destroy"] == 1 && b.person.asked.Load() == 1, "an unknown outcome is not one execution and one question")
		claim(b.call(write) != nil && b.worked["add"] == 1, "a write with an unknown outcome was repeated")
	})
	synctest.Test(t, func(*testing.T) {
		b := newBench(order, func(_ string, n int) error {
			if n < 3 {
				return unsent{}
			}
			return nil
		})
		began := time.Now()
		claim(b.call(danger) == nil && b.worked["destroy"] == 1 && b.person.asked.Load() == 1, "a call that was not sent is not repeated with one approval")
		claim(time.Since(began) == time.Second, "three attempts at two at once and one a second do not take a second")
	})
	synctest.Test(t, func(*testing.T) {
		b := newBench(order, func(name string, n int) error {
			if name == "look" && n == 1 {
				return errMaybe
			}
			return nil
		})
		claim(b.call(read) == nil && b.arrived["look"] == 2, "a read that failed once is not two attempts")
		began := time.Now()
		for range 10 {
			claim(b.call(read) == nil && b.arrived["look"] == 2, "a read is not answered from memory")
		}
		claim(time.Since(began) == 0, "a hit costs a place in the rate")
		time.Sleep(time.Minute)
		claim(b.call(write) == nil && b.call(read) == nil && b.arrived["look"] == 3, "memory outlives a write")
	})
	synctest.Test(t, func(*testing.T) {
		b := newBench(order, never)
		for range 2 {
			claim(b.call(unclassed) == nil, "an unclassified read failed")
		}
		claim(b.person.asked.Load() == 0 && b.arrived["list_notes"] == 1, "an unclassified read is asked about or not cached")
	})
	return strings.Join(said, ", ")
}

// A told is a middleware that only describes itself.
type told struct {
	kind string
	next middleware.ToolCaller
}

// Describe implements [middleware.Describer].
func (l told) Describe() middleware.Description {
	return middleware.Description{Kind: l.kind, Next: l.next}
}

func (l told) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return l.next.CallTool(ctx, call)
}

func telling(kind string) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller { return told{kind, next} }
}

// The places of the middlewares around the seven: the argued order is right, and each two that are
// exchanged are named, where it matters.
func TestPlacesOfTheOuterMiddlewares(t *testing.T) {
	t.Parallel()
	argued := []string{
		"output", "telemetry", "record", "recover", "infer", "budget", "preflight", "hitl",
		"intent", "cache", "retry", "ratelimit", "timeout", "route",
	}
	verify := func(order ...string) []chain.Problem {
		links := make([]middleware.Middleware, len(order))
		for i, kind := range order {
			links[i] = telling(kind)
		}
		return slices.DeleteFunc(chain.Verify(chain.New(links...)), func(p chain.Problem) bool {
			return strings.Contains(p.Text, "in the chain without") // a test of its own
		})
	}
	if problems := verify(argued...); len(problems) > 0 {
		t.Errorf("the argued order: %v", problems)
	}
	for _, pair := range [][2]string{
		{"infer", "preflight"}, {"preflight", "hitl"}, {"preflight", "cache"}, {"preflight", "retry"},
		{"output", "record"}, {"output", "hitl"}, {"output", "cache"}, {"output", "retry"},
		{"record", "recover"}, {"record", "hitl"}, {"record", "intent"},
		{"intent", "cache"}, {"intent", "retry"}, {"hitl", "intent"},
		{"budget", "hitl"}, {"budget", "cache"}, {"budget", "retry"},
		{"retry", "route"}, {"ratelimit", "route"}, {"timeout", "route"},
	} {
		if problems := verify(pair[0], pair[1]); len(problems) > 0 {
			t.Errorf("%v: %v", pair, problems)
		}
		if problems := verify(pair[1], pair[0]); len(problems) != 1 || !strings.Contains(problems[0].Text, "put "+pair[0]+" further out") {
			t.Errorf("%v the other way round: %v", pair, problems)
		}
	}
	for _, kind := range []string{"record", "intent", "budget"} {
		if problems := verify(kind, kind); len(problems) != 1 {
			t.Errorf("%s twice: %v", kind, problems)
		}
	}
}
