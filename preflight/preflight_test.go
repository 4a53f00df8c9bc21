package preflight_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Where a rule of the host's speaks, no server is asked.
func TestRuleComesBeforeTheServer(t *testing.T) {
	t.Parallel()
	r := says(annotation.ReadOnly())
	j := preflight.New(preflight.Options{
		Rules:    preflight.Rules{"files/act": preflight.When("m", "delete").Dangerous()},
		Resolver: r, Trusted: everyone,
	})
	tool := act(t, annotation.Destructive(), true)
	judged(t.Context(), j, middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"m":"delete"}`)}).check(t, "the rule", dangerous)
	if r.asked != 0 {
		t.Error("the server was asked")
	}
	judged(t.Context(), j, middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"m":"get"}`)}).check(t, "no rule", safe)
	if r.asked != 1 {
		t.Error("the server was not asked")
	}
}

func TestConfirmerThatIsAsked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		static  annotation.Annotations
		trusted bool
		asked   int
	}{
		{"trusted, safe", annotation.ReadOnly(), true, 1},
		{"trusted, a write", annotation.Write(), true, 1},
		{"trusted, dangerous", annotation.Destructive(), true, 1},
		{"trusted, unknown", annotation.Annotations{}, true, 1},
		{"not trusted, safe", annotation.ReadOnly(), false, 1},
		{"not trusted, a write", annotation.Write(), false, 1},
		{"not trusted, dangerous", annotation.Destructive(), false, 0},
		{"not trusted, unknown", annotation.Annotations{}, false, 0},
	} {
		r := says(hints("ynyn"))
		j := preflight.New(preflight.Options{Resolver: r, Trusted: func(string) bool { return tt.trusted }})
		judged(t.Context(), j, middleware.Call{Tool: act(t, tt.static, true)})
		if r.asked != tt.asked {
			t.Errorf("%s: asked %d times, want %d", tt.name, r.asked, tt.asked)
		}
	}
}

// Without a catalog the guard has the class from infer, and preflight's on top of it.
func TestBehindInferWithoutACatalog(t *testing.T) {
	t.Parallel()
	runs := 0
	executor := chain.Guard(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcpResult, error) {
		runs++
		return &mcpResult{}, nil
	}))
	judge := preflight.New(preflight.Options{Rules: preflight.Rules{"files/frobnicate": preflight.When("m", "get").Safe()}})
	caller := chain.Standard{Infer: infer.New(infer.Options{}), Preflight: judge}.Then(executor)
	tool := &middleware.Tool{Server: "files", Definition: &mcp.Tool{Name: "frobnicate"}}
	for _, arguments := range []string{`{"m":"get"}`, `{"m":"put"}`} {
		_, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(arguments)})
		if refused := errors.Is(err, guard.ErrRefused); refused != strings.Contains(arguments, "put") {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	if runs != 1 {
		t.Errorf("executed %d times, want 1", runs)
	}
}

// An edit is judged from the tool as it is, not as it was with the arguments before.
func TestEditIsClassifiedAnew(t *testing.T) {
	t.Parallel()
	j := preflight.New(preflight.Options{Rules: preflight.Rules{"files/act": preflight.Strictest(
		preflight.When("m", "get").Safe(), preflight.When("m", "append").Moderate(),
	)}})
	call := middleware.Call{Tool: act(t, annotation.Destructive(), true), Arguments: json.RawMessage(`{"m":"get"}`)}
	edited := func(ctx context.Context, call middleware.Call, arguments string) *middleware.Tool {
		call.Arguments = json.RawMessage(arguments)
		tool, err := callstate.JudgeOf(ctx)(ctx, call)
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	next := middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcpResult, error) {
		for _, tt := range []struct {
			arguments string
			want      annotation.Safety
		}{{`{"m":"delete"}`, dangerous}, {`{"m":"append"}`, moderate}, {`{"m":"get"}`, safe}, {`{}`, dangerous}} {
			if got := edited(ctx, call, tt.arguments).Safety(); got != tt.want {
				t.Errorf("%s: %v, want %v", tt.arguments, got, tt.want)
			}
			again := call
			again.Tool = edited(ctx, call, `{"m":"append"}`) // a second edit begins with the first one's tool
			if got := edited(ctx, again, tt.arguments).Safety(); got != tt.want {
				t.Errorf("%s after an edit: %v, want %v", tt.arguments, got, tt.want)
			}
		}
		return &mcpResult{}, nil
	})
	if _, err := j(next).CallTool(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if tool, err := classify(t.Context(), j, middleware.Call{}); tool != nil || err != nil {
		t.Errorf("a call without a tool: %v %v", tool, err)
	}
}

// The answer of a call is bound to it: it has no answer for other arguments.
func TestAnswerIsBoundToItsArguments(t *testing.T) {
	t.Parallel()
	tool := act(t, annotation.Destructive(), true)
	j := preflight.New(preflight.Options{Resolver: says(annotation.ReadOnly()), Trusted: everyone})
	guards := guard.New(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcpResult, error) { return &mcpResult{}, nil }),
		func(context.Context, middleware.Call) (*middleware.Tool, error) { return tool, nil })
	swap := middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcpResult, error) {
		call.Arguments = json.RawMessage(`{"m":"delete"}`)
		return guards.CallTool(ctx, call)
	})
	_, err := j(swap).CallTool(t.Context(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"m":"get"}`)})
	if !errors.Is(err, guard.ErrRefused) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsShown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, static, answer, want string }{
		{"an answer", "nyny", "nnny", "files/act: moderate\n" +
			"  read-only     no    resolved by files: for these arguments\n" +
			"  destructive   no    resolved by files: for these arguments\n" +
			"  idempotent    no    resolved by files: for these arguments\n" +
			"  open-world    yes   resolved by files: for these arguments\n"},
		{"half an answer", "ny--", "y---", "files/act: safe\n" +
			"  read-only     yes   resolved by files: for these arguments\n" +
			"  open-world    yes   resolved by files: left it out, so MCP's default counts\n"},
		{"against its word", "ynyn", "nnnn", "files/act: moderate\n" +
			"  read-only     no    resolved by files: for these arguments, against what it declares of all\n" +
			"  destructive   no    declared by files\n" +
			"  idempotent    no    resolved by files: for these arguments, against what it declares of all\n" +
			"  open-world    no    declared by files\n"},
	} {
		j := preflight.New(preflight.Options{Resolver: says(hints(tt.answer)), Trusted: everyone})
		tool, err := classify(t.Context(), j, middleware.Call{Tool: act(t, hints(tt.static), true)})
		if err != nil || tool.Explain() != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, tool.Explain(), tt.want)
		}
	}
}

func TestDescription(t *testing.T) {
	t.Parallel()
	next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcpResult, error) { return &mcpResult{}, nil })
	link := preflight.New(preflight.Options{Rules: preflight.Rules{"files/act": preflight.When("m", "get").Safe()}})(next)
	tool := act(t, annotation.ReadOnly(), true)
	other := *tool
	other.Server = "else"
	teller := link.(middleware.Describer).Describe()
	if kind := link.(middleware.Describer).Describe().Kind; kind != "preflight" || teller.Plan(tool) != "judge the arguments" || teller.Plan(&other) != "" || teller.Plan(nil) != "" {
		t.Errorf("%s: %q, %q", kind, teller.Plan(tool), teller.Plan(&other))
	}
	if teller.Next == nil {
		t.Error("it does not report its next")
	}
}

func TestNewPanicsOnWhatIsWrong(t *testing.T) {
	t.Parallel()
	rule := preflight.When("m", "get").Safe()
	for name, tt := range map[string]struct {
		f    func()
		want string
	}{
		"a negative timeout":         {func() { preflight.New(preflight.Options{Timeout: -1}) }, "Options.Timeout"},
		"a nil rule":                 {func() { preflight.New(preflight.Options{Rules: preflight.Rules{"a/b": nil}}) }, `Options.Rules["a/b"]`},
		"no server":                  {func() { preflight.New(preflight.Options{Rules: preflight.Rules{"b": rule}}) }, `Options.Rules["b"]`},
		"an empty server":            {func() { preflight.New(preflight.Options{Rules: preflight.Rules{"/b": rule}}) }, `Options.Rules["/b"]`},
		"an empty tool":              {func() { preflight.New(preflight.Options{Rules: preflight.Rules{"a/": rule}}) }, `Options.Rules["a/"]`},
		"a pattern":                  {func() { preflight.New(preflight.Options{Rules: preflight.Rules{"a/*": rule}}) }, `Options.Rules["a/*"]`},
		"an argument without a name": {func() { preflight.When("", "get") }, "name"},
		"no values":                  {func() { preflight.When("m") }, "no values"},
		"a value of another type":    {func() { preflight.When("m", 1) }, "want a string or a boolean"},
		"nil as a value":             {func() { preflight.When("m", "a").And("n", nil) }, "want a string or a boolean"},
		"the zero Condition":         {func() { preflight.Condition{}.Safe() }, "zero Condition"},
		"Strictest of nothing":       {func() { preflight.Strictest() }, "Strictest"},
		"Strictest of nil":           {func() { preflight.Strictest(rule, nil) }, "Strictest"},
		"Argument without a name":    {func() { preflight.Argument("", func(string) preflight.Verdict { return preflight.Verdict{} }) }, "Argument"},
		"Argument without a probe":   {func() { preflight.Argument("sql", nil) }, "Argument"},
	} {
		func() {
			defer func() {
				if v, _ := recover().(string); !strings.HasPrefix(v, "preflight: ") || !strings.Contains(v, tt.want) {
					t.Errorf("%s: %q", name, v)
				}
			}()
			tt.f()
		}()
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	tool := act(t, annotation.Destructive(), true)
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		middlewaretest.Run(t, preflight.New(preflight.Options{}))
	})
	t.Run("rules", func(t *testing.T) {
		t.Parallel()
		rule := preflight.When("method", "get").Safe()
		middlewaretest.Run(t, preflight.New(preflight.Options{Rules: preflight.Rules{"files/act": rule}}), tool)
	})
	t.Run("an untrusted server", func(t *testing.T) {
		t.Parallel()
		middlewaretest.Run(t, preflight.New(preflight.Options{Resolver: &stateless{annotation.Write()}}), tool)
	})
	t.Run("a trusted server", func(t *testing.T) {
		t.Parallel()
		middlewaretest.Run(t, preflight.New(preflight.Options{Resolver: &stateless{annotation.Destructive()}, Trusted: everyone}), tool)
	})
}
