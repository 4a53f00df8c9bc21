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
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
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

type deaf struct{ end chan struct{} }

func (d deaf) Resolve(context.Context, middleware.Call) (annotation.Annotations, bool, error) {
	<-d.end
	return annotation.ReadOnly(), true, nil
}

func TestResolverThatIgnoresItsContextIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deaf{make(chan struct{})}
		var class annotation.Safety
		caller := preflight.New(preflight.Options{Resolver: d, Trusted: everyone})(middleware.ToolCallerFunc(
			func(_ context.Context, call middleware.Call) (*mcpResult, error) {
				class = call.Tool.Safety()
				return new(mcpResult), nil
			}))
		begin := time.Now()
		go func() { // so that the test ends without a bound
			time.Sleep(time.Hour)
			close(d.end)
		}()
		_, err := caller.CallTool(t.Context(), middleware.Call{Tool: act(t, annotation.Destructive(), true), Arguments: json.RawMessage(`{}`)})
		if took := time.Since(begin); err != nil || took > 5*time.Second {
			t.Errorf("it took %v and ended as %v", took, err)
		}
		if class != annotation.Dangerous {
			t.Errorf("the class is %s, want the one that was declared", class)
		}
		<-d.end
		synctest.Wait()
	})
}
