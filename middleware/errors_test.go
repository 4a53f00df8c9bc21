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

// A fact is an error with the facts that the chain reads.
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
		{"the outer one is more specific", fact{err: fact{notSent: true}}, false, false, false, 0},
		{"says no", fact{}, false, false, false, 0},
		{"a wait below zero does not count", fact{after: -time.Second}, false, false, false, 0},
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

func ExampleOutcomeUnknown() {
	call := middleware.Call{Tool: &middleware.Tool{Server: "bank", Definition: &mcp.Tool{Name: "pay"}}}
	err := middleware.OutcomeUnknown(call, context.DeadlineExceeded)
	if unknown, ok := errors.AsType[*middleware.OutcomeUnknownError](err); ok {
		fmt.Println(err)
		fmt.Println(unknown.Check)
	}
	// Output:
	// middleware: the outcome of bank/pay is unknown: context deadline exceeded
	// bank__pay may or may not have happened. Do not call it again now. First check with a tool that only reads whether the change was made, and tell the user if you cannot see it.
}

type told struct{ text, words string }

func (e told) Error() string    { return e.text }
func (e told) ForModel() string { return e.words }

// A model reads the text of the outermost error that has one for it, and never the text of
// another.
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
		{"the outer one is more specific", &middleware.OutcomeUnknownError{Check: "Look first.", Err: told{"inside", "Try again."}}, "Look first."},
		{"not sent", &middleware.NotSentError{Err: errPlain}, ""},
	} {
		if got := middleware.ForModel(c.err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
