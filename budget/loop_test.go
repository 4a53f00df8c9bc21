package budget_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Each row is a session, a word for each call: what is called, and what it answers.
// "a=1" is tool a with the answer 1, "a!1" with an error, "_" a pause of 10 seconds.
func TestLoops(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, calls string
		stops       int // the first call that is stopped, from 1; 0 for none
		words       string
	}{
		{"the same again and again", "a=1 a=1 a=1 a=1 a=1", 5, "called 4 times in a row with the same arguments, and the answer was the same each time"},
		{"three times is nothing", "a=1 a=1 a=1 b=1 a=1 a=1 a=1 b=1", 0, ""},
		{"with other answers it is polled", strings.Repeat("a=1 a=2 ", 10), 0, ""},
		{"but not without end", strings.Repeat("a=1 a=2 ", 11), 21, "called 20 times in a row with the same arguments"},
		{"an answer that changes in time", "a=1 a=1 a=1 a=2 a=2 a=2 a=3 a=3 a=3", 0, ""},
		{"errors count", "a!1 a!1 a!1 a!1 a!1", 5, "the answer was the same"},
		{"other errors do not", "a!1 a!2 a!3 a!4 a!5", 0, ""},
		{"a failure of the tool is another answer", "a=1 a?1 a=1 a?1 a=1 a=1", 0, ""},
		{"two in turn", "a=1 b=1 a=1 b=1 a=1 b=1 a=1 b=1 a=1", 9, "the last calls were the same 2 in turn, 4 times, each with the same answer"},
		{"three in turn", strings.Repeat("a=1 b=1 c=1 ", 5), 13, "the same 3 in turn"},
		{"four in turn", strings.Repeat("a=1 b=1 c=1 d=1 ", 5), 17, "the same 4 in turn"},
		{"five in turn are work", strings.Repeat("a=1 b=1 c=1 d=1 e=1 ", 10), 0, ""},
		{"in turn with other answers", "a=1 b=1 a=2 b=1 a=3 b=1 a=4 b=1 a=5 b=1 a=6 b=1", 0, ""},
		{"once round and out", "a=1 b=1 a=1 b=1 a=1 b=1 a=1 b=1 c=1 a=1", 0, ""},
		{"other arguments", "a.1=1 a.2=1 a.3=1 a.4=1 a.5=1 a.6=1 a.7=1 a.8=1 a.9=1", 0, ""},
		{"the same in other bytes", "a.1=1 a.+1=1 a.1=1 a.+1=1 a.1=1", 5, "the same arguments"},
		{"polled slowly", strings.Repeat("a=1 _ _ _ ", 30), 0, ""},
		{"polled too fast", strings.Repeat("a=1 _ ", 8), 5, "let through again in 20s"},
		{"let through once a while", "a=1 a=1 a=1 a=1 _ _ _ a=1 a=1", 6, "called 5 times in a row"},
		{"two in turn, slowly", strings.Repeat("a=1 b=1 _ _ _ ", 12), 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { session(t, tt.calls, tt.stops, tt.words) })
		})
	}
}

func session(t *testing.T, calls string, stops int, words string) {
	t.Helper()
	next := ""
	caller := budget.New(budget.Options{})(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		switch next[0] {
		case '!':
			return nil, errors.New(next)
		case '?':
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: next[1:]}}, IsError: true}, nil
		}
		return textResult(next[1:]), nil
	}))
	n := 0
	for word := range strings.FieldsSeq(calls) {
		if word == "_" {
			time.Sleep(10 * time.Second)
			continue
		}
		n++
		at := strings.IndexAny(word, "=!?")
		name, argument, _ := strings.Cut(word[:at], ".")
		arguments := fmt.Sprintf(`{"x":"k","n":"%s"}`, argument)
		if other, spelled := strings.CutPrefix(argument, "+"); spelled {
			arguments = fmt.Sprintf(` { "n" : "%s", "\u0078":"k" }`, other)
		}
		next = word[at:]
		_, err := caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", name, annotation.ReadOnly()), Arguments: json.RawMessage(arguments)})
		if !errors.Is(err, budget.ErrStopped) {
			continue
		}
		if n != stops {
			t.Fatalf("call %d was stopped: %v", n, err)
		}
		stopped(t, err, budget.Loop)
		if after, later := middleware.RetryAfter(err); !strings.Contains(err.Error(), words) || !later || after > 30*time.Second || middleware.Permanent(err) {
			t.Errorf("after %v: %v", after, err)
		}
		return
	}
	if stops != 0 {
		t.Errorf("none of the %d calls was stopped", n)
	}
}

// Concurrent calls are not a loop, until they have returned the same.
func TestConcurrentCallsAreNotALoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller := budget.New(budget.Options{})(&server{answer: func(middleware.Call, int64) (*mcp.CallToolResult, error) {
			time.Sleep(time.Second)
			return textResult("x"), nil
		}})
		look := testtool.New("files", "look", annotation.ReadOnly())
		failed := make(chan error, 10)
		for range 10 {
			go func() {
				_, err := caller.CallTool(t.Context(), middleware.Call{Tool: look})
				failed <- err
			}()
		}
		for range 10 {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		_, err := caller.CallTool(t.Context(), middleware.Call{Tool: look})
		stopped(t, err, budget.Loop)
	})
}

// One session's calls are not another's loop.
func TestLoopsAreASessionsOwn(t *testing.T) {
	t.Parallel()
	caller := budget.New(budget.Options{})(&server{})
	for i := range 50 {
		if _, err := caller.CallTool(t.Context(), middleware.Call{Scope: fmt.Sprint(i % 20), Tool: testtool.New("files", "look", annotation.ReadOnly())}); err != nil {
			t.Fatal(err)
		}
	}
}

// The same arguments to another tool, or to another server, are another call, with or without
// digests of the tools; and a tool that was defined anew is the same one. Each is asked once, so
// that no turn of a loop is theirs.
func TestAnotherToolIsAnotherCall(t *testing.T) {
	t.Parallel()
	const names = 30
	for name, made := range map[string]func(i int) *middleware.Tool{
		"another name": func(i int) *middleware.Tool {
			return testtool.New("files", fmt.Sprint("look", i), annotation.ReadOnly())
		},
		"another name, no digest": func(i int) *middleware.Tool {
			return &middleware.Tool{Server: "files", Definition: &mcp.Tool{Name: fmt.Sprint("look", i)}, Annotations: annotation.ReadOnly()}
		},
		"another server": func(i int) *middleware.Tool {
			other := *testtool.New("files", "look", annotation.ReadOnly())
			other.Server = fmt.Sprint("files", i)
			return &other
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller := budget.New(budget.Options{})(&server{})
			for i := range names {
				if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: made(i)}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	t.Run("defined anew", func(t *testing.T) {
		t.Parallel()
		caller := budget.New(budget.Options{Repeats: 4})(&server{})
		for i := range 5 {
			redefined, err := middleware.NewTool("files", &mcp.Tool{Name: "look", Description: fmt.Sprint(i)}, annotation.ReadOnly())
			if err != nil {
				t.Fatal(err)
			}
			if _, err = caller.CallTool(t.Context(), middleware.Call{Tool: redefined}); i == 4 {
				stopped(t, err, budget.Loop)
			}
		}
	})
}

// Structure and other kinds of content are part of an answer.
func TestWholeAnswerCounts(t *testing.T) {
	t.Parallel()
	caller := budget.New(budget.Options{})(&server{answer: func(_ middleware.Call, n int64) (*mcp.CallToolResult, error) {
		res := textResult("x")
		if n%2 == 0 {
			res.StructuredContent = map[string]any{"n": n}
		} else {
			res.Content = append(res.Content, &mcp.ImageContent{Data: []byte{byte(n)}, MIMEType: "image/png"})
		}
		return res, nil
	}})
	for range 15 {
		if _, err := caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly())}); err != nil {
			t.Fatal(err)
		}
	}
}

// What a person has denied is not announced as let through later: it would be asked about again.
func TestLoopOfDeniedCalls(t *testing.T) {
	t.Parallel()
	caller := budget.New(budget.Options{})(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return nil, fmt.Errorf("hitl: %w", deniedError{})
	}))
	var last error
	for range 5 {
		_, last = caller.CallTool(t.Context(), middleware.Call{Tool: testtool.New("files", "delete", annotation.Destructive())})
	}
	if told := middleware.ForModel(last); strings.Contains(told, "let through") || !strings.Contains(told, "it was not approved. Do not call it again unless the user asks for it") {
		t.Errorf("the model reads %q", told)
	}
}

type deniedError struct{}

func (deniedError) Error() string { return "denied" }
func (deniedError) Denied() bool  { return true }

// A model that lists the same folder for ever reads that, and what to do instead.
func ExampleNew() {
	server := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return textResult("a.txt"), nil })
	caller := budget.New(budget.Options{Session: budget.Limit{Calls: 50}})(server)
	list, err := middleware.NewTool("files", &mcp.Tool{Name: "list"}, annotation.ReadOnly())
	if err != nil {
		panic(err)
	}
	for range 5 {
		_, err = caller.CallTool(context.Background(), middleware.Call{Tool: list})
	}
	fmt.Println(err)
	// Output:
	// budget: files/list was stopped: it was called 4 times in a row with the same arguments, and the answer was the same each time; this call is let through again in 30s
}

// Each chain that shares a ledger has its own patience, whichever called first.
func TestLoopsAreSeenInASharedLedger(t *testing.T) {
	t.Parallel()
	ledger := budget.NewLedger(0)
	short := budget.New(budget.Options{Ledger: ledger, Repeats: 1})(new(server))
	long := budget.New(budget.Options{Ledger: ledger, Repeats: 20})(new(server))
	again := middleware.Call{Tool: testtool.New("files", "look", annotation.ReadOnly())}
	for _, call := range []middleware.Call{{Tool: testtool.New("files", "another", annotation.ReadOnly())}, again} {
		if _, err := short.CallTool(t.Context(), call); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 19 {
		if _, err := long.CallTool(t.Context(), again); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	_, err := long.CallTool(t.Context(), again)
	if e := stopped(t, err, budget.Loop); e.Times != 20 || !e.SameAnswer {
		t.Errorf("got %+v", e)
	}
}
