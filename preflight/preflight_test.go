package preflight_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// stateless answers without counting, for many goroutines.
type stateless struct{ a annotation.Annotations }

func (s *stateless) Resolve(context.Context, middleware.Call) (annotation.Annotations, bool, error) {
	return s.a, true, nil
}

func TestAnswerCountsByTrust(t *testing.T) {
	t.Parallel()
	worst, read, write := annotation.Destructive(), annotation.ReadOnly(), annotation.Write()
	for _, tt := range []struct {
		name               string
		static             annotation.Annotations
		answer             string
		trusted, untrusted annotation.Safety
	}{
		{"a read", worst, "ynyn", safe, dangerous},
		{"an addition", worst, "nnnn", moderate, dangerous},
		{"a deletion", worst, "nyyn", dangerous, dangerous},
		{"of an unknown tool", annotation.Annotations{}, "ynyn", safe, unknown},
		{"of a write: a read", hints("nn--"), "ynyn", safe, moderate},
		{"of a write: a deletion, against its word", write, "nyyn", dangerous, dangerous},
		{"of a read: a write, against its word", read, "nnnn", moderate, moderate},
		{"of a read: a deletion, against its word", read, "nynn", dangerous, dangerous},
		{"a conflict", worst, "yyyn", dangerous, dangerous},
		{"of a read: a conflict", read, "yyyn", dangerous, dangerous},
		{"nothing said (B101)", worst, "----", dangerous, dangerous},
		{"B101: of a read, nothing said", read, "----", dangerous, dangerous},
		{"B101: of a write, nothing said", write, "----", dangerous, dangerous},
		{"only read-only", worst, "y---", safe, dangerous},
		{"only not read-only", read, "n---", dangerous, dangerous},
		{"only not destructive", worst, "-n--", moderate, dangerous},
		{"of a read: only not destructive", read, "-n--", moderate, moderate},
		{"of a read: only read-only", read, "y---", safe, safe},
		{"only idempotent", write, "--y-", dangerous, dangerous},
	} {
		for trusted, want := range map[bool]annotation.Safety{true: tt.trusted, false: tt.untrusted} {
			r := says(hints(tt.answer))
			j := preflight.New(preflight.Options{Resolver: r, Trusted: func(string) bool { return trusted }})
			tool := act(t, tt.static, true)
			o := judged(t.Context(), j, middleware.Call{Tool: tool})
			name := tt.name + map[bool]string{true: ", trusted", false: ", not trusted"}[trusted]
			o.check(t, name, want)
			// Nothing is above Dangerous and Unknown, so there an untrusted one is not asked.
			if asked := r.asked == 1; asked != (trusted || !tool.Safety().MustConfirm()) {
				t.Errorf("%s: asked %d times", name, r.asked)
			}
		}
	}
}

// An untrusted server's word never lowers (B097), whatever it answers of whatever
// tool, however often.
func TestB097UntrustedAnswerNeverLowers(t *testing.T) {
	t.Parallel()
	hint := rapid.SampledFrom([]annotation.Hint{annotation.Unset, annotation.No, annotation.Yes})
	draw := rapid.Custom(func(t *rapid.T) annotation.Annotations {
		return annotation.Annotations{
			ReadOnly: hint.Draw(t, "read-only"), Destructive: hint.Draw(t, "destructive"), Idempotent: hint.Draw(t, "idempotent"),
			OpenWorld: hint.Draw(t, "open-world"), RequiresConfirmation: hint.Draw(t, "confirmation"),
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		static := draw.Draw(rt, "static")
		tool := act(t, static, rapid.Bool().Draw(rt, "declared"))
		r := &resolver{answer: func(context.Context, middleware.Call) (annotation.Annotations, bool, error) {
			return draw.Draw(rt, "answer"), true, nil
		}}
		j := preflight.New(preflight.Options{Resolver: r})
		for range 3 {
			got, err := classify(context.Background(), j, middleware.Call{Tool: tool})
			if err != nil {
				rt.Fatal(err)
			}
			if got.Safety() > tool.Safety() {
				rt.Fatalf("lowered from %v to %v:\n%s", tool.Safety(), got.Safety(), got.Explain())
			}
		}
	})
}

// No server's answer lowers the host's own settings for the tool. It may raise.
func TestHostsWordOutweighsTheServers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		host   annotation.Annotations
		answer string
		want   annotation.Safety
	}{
		{"destructive", annotation.Annotations{Destructive: annotation.Yes}, "ynyn", dangerous},
		{"ask", annotation.Annotations{RequiresConfirmation: annotation.Yes}, "ynyn", dangerous},
		{"it writes", annotation.Annotations{ReadOnly: annotation.No, Destructive: annotation.No}, "ynyn", moderate},
		{"it reads, and the server answers that it deletes", annotation.ReadOnly(), "nynn", dangerous},
		{"it reads", annotation.ReadOnly(), "ynyn", safe},
		{"nothing", annotation.Annotations{}, "ynyn", safe},
	} {
		for _, source := range []annotation.Source{annotation.Host, annotation.Rule} {
			tool := *act(t, annotation.Annotations{}, false)
			tool.Annotations = annotation.Merge(annotation.Destructive().Attribute(annotation.Inferred, ""), tt.host.Attribute(source, ""))
			j := preflight.New(preflight.Options{Resolver: says(hints(tt.answer)), Trusted: everyone})
			judged(t.Context(), j, middleware.Call{Tool: &tool}).check(t, tt.name+" "+source.String(), tt.want)
		}
	}
}

// An answer can only add hints that are not MCP's.
func TestAnswerDoesNotTakeAConfirmationAway(t *testing.T) {
	t.Parallel()
	for answered, want := range map[annotation.Hint]annotation.Safety{annotation.Unset: dangerous, annotation.No: dangerous, annotation.Yes: dangerous} {
		static := annotation.Write()
		static.RequiresConfirmation = annotation.Yes
		answer := annotation.Write()
		answer.RequiresConfirmation = answered
		j := preflight.New(preflight.Options{Resolver: says(answer), Trusted: everyone})
		judged(t.Context(), j, middleware.Call{Tool: act(t, static, true)}).check(t, answered.String(), want)
	}
	answer := annotation.ReadOnly()
	answer.RequiresConfirmation = annotation.Yes
	j := preflight.New(preflight.Options{Resolver: says(answer), Trusted: everyone})
	judged(t.Context(), j, middleware.Call{Tool: act(t, annotation.Destructive(), true)}).check(t, "a read that wants one", dangerous)
}

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

type invalidArguments struct{ error }

func (invalidArguments) InvalidArguments() bool { return true }

type permanent struct{ error }

func (permanent) Permanent() bool { return true }

type later struct{ error }

func (later) RetryAfter() time.Duration { return time.Minute }

func TestWithoutAnAnswerTheStaticClassHolds(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for _, tt := range []struct {
		name  string
		err   error
		asked int
	}{
		{"B099: an error of the server's own", cause, 2},
		{"one that is final", permanent{cause}, 1},
		{"one that has the time", later{cause}, 1},
	} {
		for static, want := range map[string]annotation.Safety{"yn--": safe, "nn--": moderate, "ny--": dangerous} {
			r := fails(tt.err)
			j := preflight.New(preflight.Options{Resolver: r, Trusted: everyone})
			o := judged(t.Context(), j, middleware.Call{Tool: act(t, hints(static), true)})
			o.check(t, tt.name, want)
			if r.asked != tt.asked {
				t.Errorf("%s: asked %d times, want %d", tt.name, r.asked, tt.asked)
			}
			if len(o.note.Decisions) != 1 || o.note.Decisions[0].What != "no answer" || !strings.Contains(o.note.Decisions[0].Why, "cause") {
				t.Errorf("%s: recorded %v", tt.name, o.note.Decisions)
			}
		}
	}
	// Without a declaration the class that was inferred from the name does not count: a person is
	// asked and sees the error.
	for _, trusted := range []bool{true, false} {
		j := preflight.New(preflight.Options{Resolver: fails(cause), Trusted: func(string) bool { return trusted }})
		o := judged(t.Context(), j, middleware.Call{Tool: act(t, annotation.ReadOnly(), false)})
		o.check(t, "only inferred", dangerous)
		if want := `confirmation  yes   resolved by files: "cause" came instead of an answer`; !strings.Contains(o.tool.Explain(), want) {
			t.Errorf("the person does not see why:\n%s", o.tool.Explain())
		}
	}
	host := *act(t, annotation.Annotations{}, false)
	host.Annotations = annotation.ReadOnly()
	judged(t.Context(), preflight.New(preflight.Options{Resolver: fails(cause)}), middleware.Call{Tool: &host}).check(t, "the host's own word", safe)
}

func TestSecondAnswerIsTaken(t *testing.T) {
	t.Parallel()
	r := new(resolver)
	r.answer = func(context.Context, middleware.Call) (annotation.Annotations, bool, error) {
		if r.asked == 1 {
			return annotation.Annotations{}, true, errors.New("once")
		}
		return annotation.ReadOnly(), true, nil
	}
	judged(t.Context(), preflight.New(preflight.Options{Resolver: r, Trusted: everyone}), middleware.Call{Tool: act(t, annotation.Destructive(), true)}).check(t, "the second", safe)
}

func TestInvalidArgumentsAreNotSent(t *testing.T) {
	t.Parallel()
	r := fails(invalidArguments{errors.New("path is missing")})
	o := judged(t.Context(), preflight.New(preflight.Options{Resolver: r, Trusted: everyone}), middleware.Call{Tool: act(t, annotation.ReadOnly(), true)})
	var invalid *preflight.InvalidArgumentsError
	if o.tool != nil || !errors.As(o.err, &invalid) || !middleware.NotSent(o.err) || !middleware.Permanent(o.err) || r.asked != 1 {
		t.Fatalf("went on %v, asked %d times: %v", o.tool != nil, r.asked, o.err)
	}
	for _, part := range []string{"preflight: files/act", "path is missing", "correct them"} {
		if !strings.Contains(o.err.Error(), part) {
			t.Errorf("%q is missing in %q", part, o.err)
		}
	}
}

func TestServersTextIsBounded(t *testing.T) {
	t.Parallel()
	long := errors.New(strings.Repeat("é", 1<<20))
	o := judged(t.Context(), preflight.New(preflight.Options{Resolver: fails(invalidArguments{long}), Trusted: everyone}), middleware.Call{Tool: act(t, annotation.ReadOnly(), true)})
	if n := len(o.err.Error()); n > 3000 {
		t.Errorf("the error has %d bytes", n)
	}
	o = judged(t.Context(), preflight.New(preflight.Options{Resolver: fails(long), Trusted: everyone}), middleware.Call{Tool: act(t, annotation.Annotations{}, false)})
	if text := o.tool.Explain(); len(text) > 1000 || !utf8.ValidString(text) || len(o.note.Decisions[0].Why) > 300 {
		t.Errorf("the reasons have %d bytes", len(text))
	}
}

// Without a catalogue the guard has the class from infer, and preflight's on top of it.
func TestBehindInferWithoutACatalogue(t *testing.T) {
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

func TestPanicOfTheResolverIsAFailure(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := &resolver{answer: func(context.Context, middleware.Call) (annotation.Annotations, bool, error) { panic("boom") }}
	j := preflight.New(preflight.Options{Resolver: r, Trusted: everyone, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	o := judged(t.Context(), j, middleware.Call{Tool: act(t, annotation.ReadOnly(), false), Arguments: json.RawMessage(`{"secret":1}`)})
	o.check(t, "a panic", dangerous)
	if strings.Contains(o.tool.Explain(), "boom") || !strings.Contains(log.String(), "boom") || strings.Contains(log.String(), "secret") {
		t.Errorf("shown:\n%s\nlogged:\n%s", o.tool.Explain(), log.String())
	}
}

// The question has a small time of its own (B105), so that the call keeps most of its.
func TestB105AnswerHasATimeOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		takes   time.Duration
		want    annotation.Safety
		took    time.Duration
	}{
		{"in time", 0, 1900 * time.Millisecond, safe, 1900 * time.Millisecond},
		{"too long", 0, 25 * time.Second, dangerous, 4 * time.Second},
		{"B099: exactly too long", 0, 2 * time.Second, dangerous, 4 * time.Second},
		{"by the host's time", time.Minute, 25 * time.Second, safe, 25 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &resolver{answer: func(ctx context.Context, _ middleware.Call) (annotation.Annotations, bool, error) {
					select {
					case <-time.After(tt.takes):
						return annotation.ReadOnly(), true, nil
					case <-ctx.Done():
						return annotation.Annotations{}, true, ctx.Err()
					}
				}}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				began := time.Now()
				o := judged(ctx, preflight.New(preflight.Options{Resolver: r, Trusted: everyone, Timeout: tt.timeout}),
					middleware.Call{Tool: act(t, annotation.Destructive(), true)})
				o.check(t, tt.name, tt.want)
				if took := time.Since(began); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// The end of the caller's context is not a failure of the server.
func TestCallThatIsGivenUpGoesNoFurther(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	r := &resolver{answer: func(context.Context, middleware.Call) (annotation.Annotations, bool, error) {
		cancel(errors.New("enough"))
		return annotation.ReadOnly(), true, nil
	}}
	o := judged(ctx, preflight.New(preflight.Options{Resolver: r, Trusted: everyone}), middleware.Call{Tool: act(t, annotation.Destructive(), true)})
	if o.tool != nil || !middleware.NotSent(o.err) || !strings.Contains(o.err.Error(), "enough") || r.asked != 1 {
		t.Errorf("asked %d times, %v", r.asked, o.err)
	}
}

// An answer is for one call: the next call is asked about again, and a less strict answer does not
// revoke a stricter one to the same call (B103).
func TestB103StrictestOfDifferingAnswersCounts(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	answers := []string{"ynyn", "ynyn", "nynn", "ynyn", "nnnn", "nynn"}
	want := []annotation.Safety{safe, safe, dangerous, dangerous, dangerous, dangerous}
	r := new(resolver)
	r.answer = func(_ context.Context, call middleware.Call) (annotation.Annotations, bool, error) {
		if string(call.Arguments) == `{"other":1}` {
			return hints("ynyn"), true, nil
		}
		return hints(answers[r.asked-1]), true, nil
	}
	j := preflight.New(preflight.Options{Resolver: r, Trusted: everyone, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	call := middleware.Call{Tool: act(t, hints("nynn"), true), Arguments: json.RawMessage(`{"a":1}`)}
	for i := range answers {
		judged(t.Context(), j, call).check(t, answers[i], want[i])
		if r.asked != i+1 {
			t.Errorf("asked %d times, want %d", r.asked, i+1)
		}
	}
	if got := strings.Count(log.String(), "answered differently"); got != 3 { // the stricter one, and two less strict ones
		t.Errorf("%d lines say so, want 3:\n%s", got, log.String())
	}
	other := call
	other.Arguments = json.RawMessage(`{"other":1}`)
	judged(t.Context(), j, other).check(t, "other arguments", safe)
	other = call
	other.Scope, other.Arguments = "another", json.RawMessage(`{"other":1}`)
	judged(t.Context(), j, other).check(t, "another scope", safe)
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
	if kind := link.(middleware.Describer).Describe().Kind; kind != "preflight" || teller.Will(tool) != "judge the arguments" || teller.Will(&other) != "" || teller.Will(nil) != "" {
		t.Errorf("%s: %q, %q", kind, teller.Will(tool), teller.Will(&other))
	}
	if teller.Next == nil {
		t.Error("it does not report its next")
	}
}
