package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A fact is an error that tells what the chain reads.
type fact struct {
	notSent, refused, permanent bool
	after                       time.Duration
	err                         error
}

func (fact) Error() string               { return "a fact" }
func (f fact) Unwrap() error             { return f.err }
func (f fact) NotSent() bool             { return f.notSent }
func (f fact) Refused() bool             { return f.refused }
func (f fact) Permanent() bool           { return f.permanent }
func (f fact) RetryAfter() time.Duration { return f.after }
func tool(a annotation.Annotations) *middleware.Tool {
	return &middleware.Tool{Server: "files", Definition: &mcp.Tool{Name: "do_it"}, Annotations: a}
}

var errPlain = errors.New("plain")

func TestFactsOfErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                        string
		err                         error
		notSent, refused, permanent bool
		after                       time.Duration
	}{
		{"nil", nil, false, false, false, 0},
		{"plain", errPlain, false, false, false, 0},
		{"not sent", fact{notSent: true}, true, false, false, 0},
		{"refused", fact{refused: true, after: time.Second}, false, true, false, time.Second},
		{"permanent", fact{permanent: true}, false, false, true, 0},
		{"wrapped", fmt.Errorf("outer: %w", fact{notSent: true, permanent: true}), true, false, true, 0},
		{"joined", errors.Join(errPlain, fact{refused: true}), false, true, false, 0},
		{"the outer one knows better", fact{err: fact{notSent: true}}, false, false, false, 0},
		{"says no", fact{}, false, false, false, 0},
		{"a wait below zero is none", fact{after: -time.Second}, false, false, false, 0},
	} {
		if got := middleware.NotSent(c.err); got != c.notSent {
			t.Errorf("%s: NotSent = %v", c.name, got)
		}
		if got := middleware.Refused(c.err); got != c.refused {
			t.Errorf("%s: Refused = %v", c.name, got)
		}
		if got := middleware.Permanent(c.err); got != c.permanent {
			t.Errorf("%s: Permanent = %v", c.name, got)
		}
		if got, ok := middleware.RetryAfter(c.err); ok != (c.after > 0) || ok && got != c.after {
			t.Errorf("%s: RetryAfter = %v, %v", c.name, got, ok)
		}
	}
}

func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	already := &middleware.OutcomeUnknownError{Tool: tool(annotation.Write()), Err: errPlain}
	for _, c := range []struct {
		name    string
		a       annotation.Annotations
		err     error
		unknown bool
	}{
		{"no error", annotation.Write(), nil, false},
		{"a read", annotation.ReadOnly(), errPlain, false},
		{"a write", annotation.Write(), errPlain, true},
		{"an update", annotation.Update(), errPlain, true},
		{"a delete", annotation.Destructive(), context.DeadlineExceeded, true},
		{"nobody knows what", annotation.Annotations{}, errPlain, true},
		{"not sent", annotation.Destructive(), fact{notSent: true}, false},
		{"refused", annotation.Destructive(), fact{refused: true}, false},
		{"final", annotation.Destructive(), fact{permanent: true}, false},
	} {
		call := middleware.Call{Tool: tool(c.a)}
		got := middleware.OutcomeUnknown(call, c.err)
		unknown, is := errors.AsType[*middleware.OutcomeUnknownError](got)
		if is != c.unknown {
			t.Errorf("%s: got %v", c.name, got)
			continue
		}
		if !is {
			if !errors.Is(got, c.err) || (got == nil) != (c.err == nil) {
				t.Errorf("%s: got %v, want the error as it was", c.name, got)
			}
			continue
		}
		if !errors.Is(got, c.err) || unknown.Tool != call.Tool || !strings.Contains(unknown.Check, "do_it") {
			t.Errorf("%s: got %#v", c.name, unknown)
		}
		if !strings.Contains(got.Error(), "files/do_it") {
			t.Errorf("%s: the text does not name the tool: %v", c.name, got)
		}
	}
	wrapped := fmt.Errorf("outer: %w", already)
	if got := middleware.OutcomeUnknown(middleware.Call{Tool: tool(annotation.Write())}, wrapped); got != wrapped {
		t.Errorf("what is known to be unknown was wrapped again: %v", got)
	}
	if _, is := errors.AsType[*middleware.OutcomeUnknownError](middleware.OutcomeUnknown(middleware.Call{}, errPlain)); !is {
		t.Error("the outcome of a call without a tool is taken to be known")
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	errInner, errElsewhere := errors.New("inner"), error(&middleware.NotSentError{Err: errPlain})
	result := &mcp.CallToolResult{}
	for _, c := range []struct {
		name    string
		a       annotation.Annotations
		next    func() (*mcp.CallToolResult, error)
		res     *mcp.CallToolResult
		is      error
		panics  bool
		unknown bool
	}{
		{"a result", annotation.Write(), func() (*mcp.CallToolResult, error) { return result, nil }, result, nil, false, false},
		{"an error", annotation.Write(), func() (*mcp.CallToolResult, error) { return nil, errInner }, nil, errInner, false, false},
		{"both", annotation.Write(), func() (*mcp.CallToolResult, error) { return result, errInner }, nil, errInner, false, false},
		{"a panic of a read", annotation.ReadOnly(), func() (*mcp.CallToolResult, error) { panic("secret") }, nil, nil, true, false},
		{"a panic of a write", annotation.Write(), func() (*mcp.CallToolResult, error) { panic("secret") }, nil, nil, true, true},
		{"a panic with an error", annotation.ReadOnly(), func() (*mcp.CallToolResult, error) { panic(errInner) }, nil, errInner, true, false},
		{"a panic with the error of another call", annotation.Write(), func() (*mcp.CallToolResult, error) { panic(errElsewhere) }, nil, errElsewhere, true, true},
		{"a panic with nil", annotation.Destructive(), func() (*mcp.CallToolResult, error) { panic(nil) }, nil, nil, true, true},
	} {
		caller := middleware.Recover()(middleware.ToolCallerFunc(
			func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return c.next() }))
		res, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool(c.a)})
		if res != c.res || (res == nil) == (err == nil) {
			t.Errorf("%s: got %v and %v", c.name, res, err)
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v is not %v", c.name, err, c.is)
		}
		caught, panicked := errors.AsType[*middleware.PanicError](err)
		if panicked != c.panics {
			t.Errorf("%s: a panic error: %v", c.name, panicked)
		}
		if panicked && (len(caught.Stack) == 0 || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "files/do_it")) {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); unknown != c.unknown {
			t.Errorf("%s: an unknown outcome: %v", c.name, unknown)
		}
	}
}

func TestRecoverOfNoAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a       annotation.Annotations
		unknown bool
	}{{annotation.ReadOnly(), false}, {annotation.Write(), true}, {annotation.Annotations{}, true}} {
		caller := middleware.Recover()(middleware.ToolCallerFunc(
			func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return nil, nil }))
		res, err := caller.CallTool(t.Context(), middleware.Call{Tool: tool(c.a)})
		if _, ok := errors.AsType[*middleware.NoAnswerError](err); !ok || res != nil {
			t.Errorf("%v: got %v and %v", c.a.Safety(), res, err)
		}
		if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); unknown != c.unknown {
			t.Errorf("%v: an unknown outcome: %v", c.a.Safety(), unknown)
		}
	}
}

func TestRecoverTellsItsKind(t *testing.T) {
	t.Parallel()
	kinder, ok := middleware.Recover()(nil).(middleware.Kinder)
	if !ok || kinder.Kind() != "recover" {
		t.Errorf("got %v, %v", kinder, ok)
	}
}

func ExampleRecover() {
	caller := middleware.Recover()(middleware.ToolCallerFunc(
		func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { panic("a password") }))
	definition := &mcp.Tool{Name: "list_files", InputSchema: map[string]any{"type": "object"}}
	tool, err := middleware.NewTool("files", definition, annotation.ReadOnly())
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = caller.CallTool(context.Background(), middleware.Call{Tool: tool})
	fmt.Println(err)
	// Output: middleware: the call of files/list_files panicked; the log of the host has the stack
}

func ExampleOutcomeUnknown() {
	call := middleware.Call{Tool: &middleware.Tool{Server: "bank", Definition: &mcp.Tool{Name: "pay"}}}
	err := middleware.OutcomeUnknown(call, context.DeadlineExceeded)
	if unknown, ok := errors.AsType[*middleware.OutcomeUnknownError](err); ok {
		fmt.Println(err)
		fmt.Println(unknown.Check)
	}
	// Output:
	// middleware: the outcome of bank/pay is unknown: context deadline exceeded
	// bank__pay may or may not have happened. Do not call it again now. Look first, with a tool that only reads, whether what it was to change has changed, and tell the user if you cannot see it.
}

type told struct{ text, words string }

func (e told) Error() string    { return e.text }
func (e told) ForModel() string { return e.words }

// A model is told what the outermost error that speaks to it says, and never the
// text of one that does not.
func TestForModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"nil", nil, ""},
		{"plain", errPlain, ""},
		{"one that speaks", told{"inside", "Try again."}, "Try again."},
		{"wrapped", fmt.Errorf("outer: %w", told{"inside", "Try again."}), "Try again."},
		{"the outer one knows better", &middleware.OutcomeUnknownError{Check: "Look first.", Err: told{"inside", "Try again."}}, "Look first."},
		{"a panic", &middleware.PanicError{Value: "inside"}, ""},
		{"not sent", &middleware.NotSentError{Err: errPlain}, ""},
	} {
		if got := middleware.ForModel(c.err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

type asks struct{ error }

func (asks) InputRequired() (mcp.InputRequestMap, string) {
	return mcp.InputRequestMap{"who": &mcp.ElicitParams{Message: "Who?"}}, "state"
}

func TestInputRequired(t *testing.T) {
	t.Parallel()
	if requests, state, ok := middleware.InputRequired(fmt.Errorf("outer: %w", asks{errPlain})); !ok || state != "state" || len(requests) != 1 {
		t.Errorf("got %v, %q, %t", requests, state, ok)
	}
	for _, err := range []error{nil, errPlain, fact{}} {
		if requests, state, ok := middleware.InputRequired(err); ok || state != "" || requests != nil {
			t.Errorf("%v: got %v, %q, %t", err, requests, state, ok)
		}
	}
}

// Why a context is done is often how another call ended: what that one tells is not
// told of the call that was given up because of it.
func TestGivenUpTellsOfItsOwnCallAlone(t *testing.T) {
	t.Parallel()
	other := &middleware.OutcomeUnknownError{Tool: tool(annotation.Destructive()), Check: "look whether do_it happened", Err: errPlain}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("the group ends: %w", errors.Join(other, fact{permanent: true, refused: true})))
	err := middleware.GivenUp(ctx)
	if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); unknown || middleware.ForModel(err) != "" ||
		middleware.Permanent(err) || middleware.Refused(err) || !middleware.NotSent(err) {
		t.Errorf("got %v, which tells of another call: unknown %v, for the model %q", err, unknown, middleware.ForModel(err))
	}
	if !errors.Is(err, errPlain) || !errors.Is(err, context.Cause(ctx)) {
		t.Errorf("the cause is not in %v", err)
	}
}
