package chain_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A trace records in which order a call meets the middlewares.
type trace []string

func (tr *trace) at(name string) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			*tr = append(*tr, name)
			res, err := next.CallTool(ctx, call)
			*tr = append(*tr, "/"+name)
			return res, err
		})
	}
}

func (tr *trace) executor() middleware.ToolCaller {
	return trusting{middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		*tr = append(*tr, "executor")
		return answer, nil
	})}
}

func (tr *trace) String() string { return strings.Join(*tr, " ") }

func TestNewKeepsTheOrderGiven(t *testing.T) {
	t.Parallel()
	var tr trace
	for _, tt := range []struct {
		name  string
		chain func() chain.Chain
		want  string
	}{
		{"three", func() chain.Chain { return chain.New(tr.at("a"), tr.at("b"), tr.at("c")) }, "a b c executor /c /b /a"},
		{"one", func() chain.Chain { return chain.New(tr.at("a")) }, "a executor /a"},
		{"B295: none", func() chain.Chain { return chain.New() }, "executor"},
		{"the zero chain", func() chain.Chain { return chain.Chain{} }, "executor"},
		{"one twice", func() chain.Chain { return chain.New(tr.at("a"), tr.at("a")) }, "a a executor /a /a"},
		{"a chain in a chain", func() chain.Chain {
			return chain.New(tr.at("a"), chain.New(tr.at("b"), tr.at("c")).Then, tr.at("d"))
		}, "a b c d executor /d /c /b /a"},
		{"a standard chain in a chain", func() chain.Chain {
			return chain.New(tr.at("a"), chain.Standard{Retry: tr.at("retry"), Confirm: tr.at("confirm")}.Middleware(), tr.at("d"))
		}, "a confirm retry d executor /d /retry /confirm /a"},
	} {
		tr = nil
		res, err := tt.chain().Then(tr.executor()).CallTool(t.Context(), middleware.Call{})
		if got := tr.String(); got != tt.want || res != answer || err != nil {
			t.Errorf("%s: got %q (%v, %v), want %q", tt.name, got, res, err, tt.want)
		}
	}
}

func TestChainDoesNotChange(t *testing.T) {
	t.Parallel()
	t.Run("New", func(t *testing.T) {
		t.Parallel()
		var tr trace
		links := []middleware.Middleware{tr.at("a"), tr.at("b")}
		c := chain.New(links...)
		links[0], links[1] = tr.at("x"), nil
		for range 2 {
			tr = nil
			_, _ = c.Then(tr.executor()).CallTool(t.Context(), middleware.Call{})
			if got := tr.String(); got != "a b executor /b /a" {
				t.Errorf("got %q", got)
			}
		}
	})
	t.Run("Standard", func(t *testing.T) {
		t.Parallel()
		var tr trace
		places := make([]middleware.Middleware, 1, 20) // with spare capacity
		places[0] = tr.at("a")
		s := chain.Standard{Outermost: places, PerCall: places, PerAttempt: places, Cache: tr.at("cache")}
		m, built := s.Middleware(), s.Then(tr.executor())
		_ = s.Describe()
		if places[0] == nil || places[:2][1] != nil {
			t.Error("the host's slice was written to")
		}
		places[0] = tr.at("x")
		tr = nil
		_, _ = built.CallTool(t.Context(), middleware.Call{})
		if got := tr.String(); got != "a a cache a executor /a /cache /a /a" {
			t.Errorf("got %q", got)
		}
		s.Cache = nil
		tr = nil
		_, _ = m(tr.executor()).CallTool(t.Context(), middleware.Call{})
		if got := tr.String(); !strings.Contains(got, "cache") {
			t.Errorf("got %q, want what the chain was when it was made a middleware", got)
		}
	})
	t.Run("a middleware keeps its state, however often it is applied", func(t *testing.T) {
		t.Parallel()
		c := chain.New(cache.New(cache.Options{}))
		var left, right trace
		its := middleware.Call{Tool: tool(t, "list", annotation.ReadOnly())}
		for _, caller := range []middleware.ToolCaller{c.Then(left.executor()), c.Then(right.executor())} {
			for range 2 {
				_, _ = caller.CallTool(t.Context(), its)
			}
		}
		if left.String() != "executor" || right.String() != "" {
			t.Errorf("got %q and %q", left.String(), right.String())
		}
	})
}

func TestNilIsAMistakeInTheProgram(t *testing.T) {
	t.Parallel()
	var tr trace
	for _, tt := range []struct {
		name, want string
		do         func()
	}{
		{"a nil middleware", "chain: New was given a nil middleware", func() { chain.New(tr.at("a"), nil) }},
		{"nothing but nil", "chain: New was given a nil middleware", func() { chain.New(nil) }},
		{"no executor", "chain: Then was given a nil executor", func() { chain.New().Then(nil) }},
		{"no executor for a standard chain", "chain: Then was given a nil executor", func() { chain.Standard{}.Then(nil) }},
		{"no executor for the guard", "fairlead: a guard needs an executor; got nil", func() { chain.Guard(nil) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("got panic %v, want %q", got, tt.want)
				}
			}()
			tt.do()
		})
	}
}

// slots are the places of Standard in the argued order, outermost first.
var slots = []struct {
	name string
	set  func(*chain.Standard, middleware.Middleware)
}{
	{"outermost", func(s *chain.Standard, m middleware.Middleware) { s.Outermost = append(s.Outermost, m) }},
	{"infer", func(s *chain.Standard, m middleware.Middleware) { s.Infer = m }},
	{"confirm", func(s *chain.Standard, m middleware.Middleware) { s.Confirm = m }},
	{"percall", func(s *chain.Standard, m middleware.Middleware) { s.PerCall = append(s.PerCall, m) }},
	{"cache", func(s *chain.Standard, m middleware.Middleware) { s.Cache = m }},
	{"retry", func(s *chain.Standard, m middleware.Middleware) { s.Retry = m }},
	{"ratelimit", func(s *chain.Standard, m middleware.Middleware) { s.RateLimit = m }},
	{"perattempt", func(s *chain.Standard, m middleware.Middleware) { s.PerAttempt = append(s.PerAttempt, m) }},
	{"timeout", func(s *chain.Standard, m middleware.Middleware) { s.Timeout = m }},
}

// Every set of slots that are filled, each filled from the inside out: 512 chains.
func TestStandardGivesTheArguedOrder(t *testing.T) {
	t.Parallel()
	for filled := range 1 << len(slots) {
		var tr trace
		var s chain.Standard
		var want []string
		for i, slot := range slices.Backward(slots) {
			if filled>>i&1 == 1 {
				slot.set(&s, tr.at(slot.name))
				want = slices.Concat([]string{slot.name}, want, []string{"/" + slot.name})
			}
		}
		want = slices.Insert(want, len(want)/2, "executor")
		if _, err := s.Then(tr.executor()).CallTool(t.Context(), middleware.Call{}); err != nil {
			t.Fatal(err)
		}
		if got := tr.String(); got != strings.Join(want, " ") {
			t.Errorf("%09b: got  %s\nwant %s", filled, got, strings.Join(want, " "))
		}
	}
}

func TestPlacesOfTheHostKeepTheirOwnOrder(t *testing.T) {
	t.Parallel()
	var tr trace
	two := func(name string) []middleware.Middleware {
		return []middleware.Middleware{tr.at(name + "1"), nil, tr.at(name + "2")}
	}
	s := chain.Standard{PerAttempt: two("a"), PerCall: two("c"), Outermost: two("o"), Cache: tr.at("cache")}
	_, _ = s.Then(tr.executor()).CallTool(t.Context(), middleware.Call{})
	if want := "o1 o2 c1 c2 cache a1 a2 executor"; !strings.HasPrefix(tr.String(), want) {
		t.Errorf("got %q, want %q", tr.String(), want)
	}
}

// B137: a panic is an error only for the outermost middleware.
func TestPanicIsAnErrorOutermost(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"infer", "confirm", "percall", "cache", "retry", "ratelimit", "perattempt", "timeout", "executor"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			seen := 0
			watch := func(next middleware.ToolCaller) middleware.ToolCaller {
				return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
					res, err := next.CallTool(ctx, call)
					if _, ok := errors.AsType[*middleware.PanicError](err); ok && res == nil {
						seen++
					}
					return res, err
				})
			}
			boom := func(middleware.ToolCaller) middleware.ToolCaller {
				return middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { panic("boom") })
			}
			s := chain.Standard{Outermost: []middleware.Middleware{watch}}
			for _, slot := range slots {
				if slot.name == where {
					slot.set(&s, boom)
				}
			}
			_, err := s.Then(trusting{boom(nil)}).CallTool(t.Context(), middleware.Call{Tool: tool(t, "delete", annotation.Destructive())})
			if _, ok := errors.AsType[*middleware.OutcomeUnknownError](err); !ok || seen != 1 {
				t.Errorf("seen %d times, got error %v", seen, err)
			}
		})
	}
}

// whole is a chain of all our middlewares.
func whole(confirmer hitl.Confirmer) chain.Standard {
	return chain.Standard{
		Infer:     infer.New(infer.Options{}),
		Confirm:   hitl.New(confirmer, hitl.Options{}),
		Cache:     cache.New(cache.Options{}),
		Retry:     retry.New(retry.Options{Rand: func() float64 { return 0 }}),
		RateLimit: ratelimit.New(ratelimit.Options{PerMinute: 60, Burst: 2}),
		Timeout:   timeout.New(timeout.Options{}),
	}
}

var approves = hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
	return hitl.Decision{Verdict: hitl.Approved}, nil
})

// The calls at each place: one call may be several attempts, and a hit has none; a denied call
// reaches neither.
func TestPlacesSeeCallsAndAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outermost, calls, attempts := 0, 0, 0
		count := func(n *int) []middleware.Middleware {
			return []middleware.Middleware{func(next middleware.ToolCaller) middleware.ToolCaller {
				return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
					*n++
					return next.CallTool(ctx, call)
				})
			}}
		}
		fails := 2
		executor := chain.Guard(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			if fails--; fails >= 0 {
				return nil, errors.New("lost")
			}
			return answer, nil
		}))
		denies := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, nil })
		s := whole(denies)
		s.Outermost, s.PerCall, s.PerAttempt = count(&outermost), count(&calls), count(&attempts)
		c := s.Then(executor)
		list, remove := definition(t, "list_notes"), definition(t, "delete_file")
		for range 2 {
			if _, err := c.CallTool(t.Context(), middleware.Call{Tool: list}); err != nil {
				t.Fatal(err)
			}
		}
		if outermost != 2 || calls != 2 || attempts != 3 {
			t.Errorf("outermost %d, calls %d, attempts %d, want 2, 2 and 3", outermost, calls, attempts)
		}
		if _, err := c.CallTool(t.Context(), middleware.Call{Tool: remove}); !errors.Is(err, hitl.ErrDenied) {
			t.Errorf("got error %v", err)
		}
		if outermost != 3 || calls != 2 || attempts != 3 {
			t.Errorf("outermost %d, calls %d, attempts %d, want 3, 2 and 3", outermost, calls, attempts)
		}
	})
}

// B291: a hit costs no place in the rate, every attempt does, and a person's time
// is not charged.
func TestHitCostsNoToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		executed := 0
		s := whole(approves)
		c := s.Then(chain.Guard(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			executed++
			return answer, nil
		})))
		began := time.Now()
		for range 10 {
			if _, err := c.CallTool(t.Context(), middleware.Call{Tool: definition(t, "list_notes")}); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 0 || executed != 1 {
			t.Errorf("10 reads took %v and %d executions", took, executed)
		}
	})
}

func definition(tb testing.TB, name string) *middleware.Tool {
	tb.Helper()
	t, err := middleware.NewTool("files", &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, annotation.Annotations{})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestContract(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]middleware.Middleware{
		"standard": whole(approves).Middleware(),
		"empty":    chain.Standard{}.Middleware(),
		"guarded":  chain.New(whole(approves).Middleware(), chain.Guard).Then,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			middlewaretest.Run(t, m)
		})
	}
}

// Every combination of slots: the chain claims what is there and nothing else.
func TestEnforcesAndExplainTellTheTruth(t *testing.T) {
	t.Parallel()
	confirm := []middleware.Middleware{nil, hitl.New(nil, hitl.Options{}), hitl.New(approves, hitl.Options{}), hitl.New(approves, hitl.Options{Writes: true})}
	for n := range len(confirm) << 4 {
		who, has := n>>4, func(i int) bool { return n>>i&1 == 1 }
		s := chain.Standard{Confirm: confirm[who]}
		want := middleware.Description{Guards: true, Confirms: who >= 2, ConfirmsWrites: who == 3}
		if has(0) {
			s.Cache, want.Caches = cache.New(cache.Options{}), true
		}
		if has(1) {
			s.Retry, want.Retries = retry.New(retry.Options{}), true
		}
		if has(2) {
			s.RateLimit, want.Limits = ratelimit.New(ratelimit.Options{}), true
		}
		if has(3) {
			s.Timeout, want.Deadlines = timeout.New(timeout.Options{}), true
		}
		if got := enforced(s.Describe()); !reflect.DeepEqual(got, want) {
			t.Errorf("%06b: got  %+v\nwant %+v", n, got, want)
		}
		for _, class := range []struct {
			name               string
			a                  annotation.Annotations
			must, write, reads bool
			repeats            bool
		}{
			{"safe", annotation.ReadOnly(), false, false, true, true},
			{"moderate", annotation.Write(), false, true, false, false},
			{"idempotent", annotation.Update(), false, true, false, true},
			{"dangerous", annotation.Destructive(), true, false, false, false},
			{"unknown", annotation.Annotations{}, true, false, false, false},
		} {
			var will []string
			add := func(when bool, what string) {
				if when {
					will = append(will, what)
				}
			}
			asks := class.must && want.Confirms || class.write && want.ConfirmsWrites
			add(asks, "ask first")
			add(class.must && !want.Confirms, "refuse, nobody can be asked")
			add(!class.must && !asks, "run")
			add(want.Caches && class.reads, "cache for 5m0s")
			add(want.Caches && !class.reads, "never cache")
			add(want.Retries && class.repeats, "retry")
			add(want.Retries && !class.repeats, "retry if not sent")
			explained := s.Explain(tool(t, class.name, class.a))
			if line := "\n  will: " + strings.Join(will, " · ") + "\n"; !strings.HasSuffix(explained, line) {
				t.Errorf("%06b, %s: got %q, want it to end in %q", n, class.name, explained, line)
			}

			// The description matches the behaviour.
			executed, asked := 0, 0
			if who >= 2 {
				s.Confirm = hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
					asked++
					return hitl.Decision{Verdict: hitl.Approved}, nil
				}), hitl.Options{Writes: who == 3})
			}
			c := s.Then(chain.Guard(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				executed++
				return answer, nil
			})))
			its := middleware.Call{Tool: tool(t, class.name, class.a)}
			inferred := chain.New(classed(its.Tool), func(middleware.ToolCaller) middleware.ToolCaller { return c })
			for range 2 {
				_, _ = inferred.Then(c).CallTool(t.Context(), its)
			}
			runs, questions := 2, 0
			switch {
			case class.must && !want.Confirms:
				runs = 0
			case want.Caches && class.reads:
				runs = 1
			}
			if asks {
				questions = 2
			}
			if executed != runs || asked != questions {
				t.Errorf("%06b, %s: executed %d times and asked %d, want %d and %d", n, class.name, executed, asked, runs, questions)
			}
		}
	}
}

// enforced returns only the enforced rules of a description.
func enforced(d middleware.Description) middleware.Description {
	d.Kind, d.Next, d.Plan = "", nil, nil
	return d
}

// A trusting executor describes itself as guarded, and is not.
type trusting struct{ middleware.ToolCaller }

func (trusting) Describe() middleware.Description {
	return middleware.Description{Kind: "guard", Guards: true}
}
