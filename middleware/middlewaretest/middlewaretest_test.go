package middlewaretest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stopwatch is a middleware as a user would write it.
func Stopwatch(log *slog.Logger) middleware.Middleware {
	return func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			start := time.Now()
			res, err := next.CallTool(ctx, call)
			log.InfoContext(ctx, "tool", "name", call.Tool.Name(), "class", call.Tool.Safety(), "took", time.Since(start))
			return res, err
		})
	}
}

func TestStopwatch(t *testing.T) {
	t.Parallel()
	middlewaretest.Run(t, Stopwatch(slog.New(slog.DiscardHandler)))
}

func TestGoodCitizens(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]middleware.Middleware{
		"passes through":        func(next middleware.ToolCaller) middleware.ToolCaller { return next },
		"recovers":              chain.Recover(),
		"refuses":               wrap(refuse),
		"refuses what may harm": wrap(refuseUnsafe),
		"answers by itself":     wrap(answer),
		"makes results of errors": wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := next.CallTool(ctx, call)
			if err != nil {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "it failed"}}}, nil
			}
			return res, nil
		}),
		"limits the time":     wrap(limitTime),
		"asks and waits":      wrap(ask),
		"tries again":         wrap(tryAgain),
		"changes a copy":      wrap(changeCopy),
		"remembers":           remember(false, nil),
		"queues":              queue(false),
		"asks on a goroutine": wrap(askElsewhere),
		"several, one in another": func(next middleware.ToolCaller) middleware.ToolCaller {
			return wrap(tryAgain)(remember(false, nil)(wrap(limitTime)(next)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			middlewaretest.Run(t, m)
		})
	}
}

// A tool that the middleware chooses to act on is driven as well.
func TestRunWithTools(t *testing.T) {
	t.Parallel()
	tool, err := middleware.NewTool("bank", &mcp.Tool{Name: "pay"}, annotation.Write())
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	saw := false
	middlewaretest.Run(t, wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
		if call.Tool == tool {
			once.Do(func() { saw = true })
		}
		return next.CallTool(ctx, call)
	}), tool)
	if !saw {
		t.Error("Run never called the tool that it was given")
	}
}

// Every bad citizen breaks one sentence, and the check of that sentence finds it.
func TestBadCitizens(t *testing.T) {
	t.Parallel()
	bad := []struct {
		check, name string
		m           middleware.Middleware
		quote       string // part of the report
	}{
		{"No lock is held across next.", "one call at a time", oneAtATime, "sync.Mutex.Lock"},
		{"No lock is held across next.", "a semaphore made before it was applied", queueOutside(), "chan send"},
		{"CallTool returns exactly one of result and error.", "neither", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := next.CallTool(ctx, call)
			if errors.Is(err, context.Canceled) || err != nil {
				return nil, nil
			}
			return res, nil
		}), "neither"},
		{"CallTool returns exactly one of result and error.", "both", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			_, err := next.CallTool(ctx, call)
			return &mcp.CallToolResult{}, err
		}), "both"},
		{"CallTool returns exactly one of result and error.", "a panic", wrap(func(context.Context, middleware.ToolCaller, middleware.Call) (*mcp.CallToolResult, error) {
			panic("boom")
		}), "CallTool panicked: boom"},
		{"CallTool returns exactly one of result and error.", "a nil ToolCaller", func(middleware.ToolCaller) middleware.ToolCaller { return nil }, "nil ToolCaller"},
		{"CallTool returns exactly one of result and error.", "never returns", wrap(func(context.Context, middleware.ToolCaller, middleware.Call) (*mcp.CallToolResult, error) {
			select {}
		}), "had not returned"},
		{"A failure that the tool itself reported is a result with IsError set.", "an error of it", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := next.CallTool(ctx, call)
			if err == nil && res.IsError {
				return nil, errors.New("the tool failed")
			}
			return res, err
		}), "the tool failed"},
		{"A failure that the tool itself reported is a result with IsError set.", "a success of it", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := next.CallTool(ctx, call)
			if err == nil {
				res.IsError = false
			}
			return res, err
		}), "without IsError"},
		{"The call, its Tool and its Arguments are only read", "writes to the arguments", before(func(call middleware.Call) { call.Arguments[1] = 'X' }), "when next was called"},
		{"The call, its Tool and its Arguments are only read", "appends to the arguments", before(func(call middleware.Call) { _ = append(call.Arguments, '!') }), "when next was called"},
		{"The call, its Tool and its Arguments are only read", "writes to the meta", before(func(call middleware.Call) { call.Meta["trace"] = "1" }), "trace"},
		{"The call, its Tool and its Arguments are only read", "writes to the definition", before(func(call middleware.Call) { call.Tool.Definition.Description += "!" }), "written to"},
		{"The call, its Tool and its Arguments are only read", "writes to the annotations", after(func(call middleware.Call) { call.Tool.Annotations.Title += "!" }), "when CallTool returned"},
		{"The call, its Tool and its Arguments are only read", "appends to the tags", before(func(call middleware.Call) { _ = append(call.Tool.Annotations.Tags, "seen") }), "seen"},
		{"The call, its Tool and its Arguments are only read", "writes later", after(func(call middleware.Call) {
			time.AfterFunc(time.Minute, func() { call.Meta["later"] = true })
		}), "later, what the call holds"},
		{"a result belongs to the caller once it is returned.", "hands out what it keeps", remember(true, nil), "wrote to it"},
		{"a result belongs to the caller once it is returned.", "one refusal for all", wrap(func(context.Context, middleware.ToolCaller, middleware.Call) (*mcp.CallToolResult, error) {
			return refusal, nil
		}), "the result of another call changed"},
		{"a result belongs to the caller once it is returned.", "finishes it later", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := next.CallTool(ctx, call)
			if err == nil {
				time.AfterFunc(time.Minute, func() { res.Content = nil })
			}
			return res, err
		}), "changed after it was returned"},
		{"CallTool returns soon after ctx is done, with an error that reports that.", "sleeps through it", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			time.Sleep(time.Minute)
			return next.CallTool(ctx, call)
		}), "done before the call"},
		{"CallTool returns soon after ctx is done, with an error that reports that.", "keeps it from next", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			return next.CallTool(context.WithoutCancel(ctx), call)
		}), "done before the call, and CallTool returned"},
		{"CallTool returns soon after ctx is done, with an error that reports that.", "looks only before the call", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return next.CallTool(context.WithoutCancel(ctx), call)
		}), "done during the call, and"},
		{"CallTool returns soon after ctx is done, with an error that reports that.", "says something else", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := next.CallTool(ctx, call)
			if err != nil {
				return nil, errors.New("try again later")
			}
			return res, nil
		}), "try again later"},
		{"CallTool returns soon after ctx is done, with an error that reports that.", "tries again all the same", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := next.CallTool(ctx, call)
			if err != nil {
				return next.CallTool(ctx, call)
			}
			return res, nil
		}), "next was called again"},
		{"CallTool returns soon after ctx is done, with an error that reports that.", "queues without looking", queue(true), "64 calls"},
		{"The values and the deadline of the context reach next.", "a context of its own", wrap(func(_ context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			return next.CallTool(context.Background(), call)
		}), "a value"},
		{"The values and the deadline of the context reach next.", "no deadline", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			return next.CallTool(context.WithoutCancel(ctx), call)
		}), "has none"},
		{"The values and the deadline of the context reach next.", "more time", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Hour)
			defer cancel()
			return next.CallTool(ctx, call)
		}), "after the caller's"},
		{"It is safe for concurrent use", "one field for all calls", oneField, "the answer of another"},
		{"leaves no goroutine behind.", "one that waits for the context", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			go func() { <-ctx.Done() }()
			return next.CallTool(ctx, call)
		}), "goroutines were left"},
		{"leaves no goroutine behind.", "one that goes on for an hour", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			go time.Sleep(time.Hour)
			return next.CallTool(ctx, call)
		}), "time.Sleep"},
		{"leaves no goroutine behind.", "one for good, from the start", func(next middleware.ToolCaller) middleware.ToolCaller {
			go func() { select {} }()
			return next
		}, "goroutines were left"},
		{"leaves no goroutine behind.", "the call itself, when its context is done", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			answered := make(chan error, 1)
			var res *mcp.CallToolResult
			go func() {
				var err error
				res, err = next.CallTool(context.WithoutCancel(ctx), call)
				answered <- err
			}()
			select {
			case err := <-answered:
				return res, err
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}), "whose context was done"},
		{"call next, more than once if that is harmless, but never after it has returned.", "once more after a minute", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			time.AfterFunc(time.Minute, func() { _, _ = next.CallTool(ctx, call) })
			return next.CallTool(ctx, call)
		}), "1 times more"},
		{"A call that is not safe to repeat is sent once, unless it certainly did not leave.", "tries everything again", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := next.CallTool(ctx, call)
			if err != nil {
				return next.CallTool(ctx, call)
			}
			return res, nil
		}), "called 2 times"},
		{"What next answered with as an error stays in the tree of the error that is returned.", "in words", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := next.CallTool(ctx, call)
			if err != nil {
				return nil, fmt.Errorf("tool: %v", err)
			}
			return res, nil
		}), "not in the tree"},
		{"What next answered with as an error stays in the tree of the error that is returned.", "denies that it was not sent", wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			res, err := next.CallTool(ctx, call)
			if err != nil {
				return nil, sentError{err}
			}
			return res, nil
		}), "NotSent is false"},
		{"ID is one per call that the model asked for; all attempts share it.", "an ID for each attempt", changing(func(call *middleware.Call) { call.ID += "/1" }), "the ID"},
		{"ID is one per call that the model asked for; all attempts share it.", "no scope", changing(func(call *middleware.Call) { call.Scope = "all" }), "the scope"},
		{"Nothing is shared across scopes.", "one memory for all", remember(false, func(call middleware.Call) string { return string(call.Arguments) }), "another scope"},
		{"each application calls its own next.", "that of another one", previousNext(), "another application"},
		{"A panic further in leaves nothing stuck.", "a flight that never lands", flightOf(false), "within a minute"},
		{"A panic further in leaves nothing stuck.", "a lock that is never released", flightOf(true), "blocked for good"},
	}
	covered := make(map[string]bool)
	for _, b := range bad {
		covered[b.check] = true
		t.Run(b.check+"/"+b.name, func(t *testing.T) {
			t.Parallel()
			if raced && strings.HasSuffix(b.name, "later") {
				t.Skip("the race detector reports it first")
			}
			faults := middlewaretest.Faults(t, b.check, b.m)
			if len(faults) == 0 {
				t.Fatal("the check found nothing")
			}
			if all := strings.Join(faults, "\n"); !strings.Contains(all, b.quote) {
				t.Errorf("the report does not say %q:\n%s", b.quote, all)
			}
		})
	}
	for _, sentence := range middlewaretest.Sentences() {
		if !covered[sentence] {
			t.Errorf("no bad citizen breaks the sentence %q", sentence)
		}
	}
}

// The contract must contain the quotes of the checks.
func TestSentencesStandInTheContract(t *testing.T) {
	t.Parallel()
	var docs strings.Builder
	for _, file := range []string{"../middleware.go", "middlewaretest.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		docs.Write(source)
	}
	flat := strings.Join(strings.Fields(strings.ReplaceAll(docs.String(), "//", " ")), " ")
	for _, sentence := range middlewaretest.Sentences() {
		if !strings.Contains(flat, sentence) {
			t.Errorf("the docs do not say %q", sentence)
		}
	}
}

var (
	errDenied = errors.New("denied")
	refusal   = &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}}
)

// A lock that another test holds briefly, such as that of a table that is made once, is not a
// deadlock.
func TestLockThatIsHeldElsewhere(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	over := make(chan struct{})
	var elsewhere sync.WaitGroup
	elsewhere.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			mu.Lock()
			time.Sleep(time.Millisecond) // of the real clock, which is what is tested
			mu.Unlock()
		}
	})
	t.Run("kit", func(t *testing.T) {
		middlewaretest.Run(t, wrap(func(ctx context.Context, next middleware.ToolCaller, call middleware.Call) (*mcp.CallToolResult, error) {
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // it only waits for whoever holds it
			return next.CallTool(ctx, call)
		}))
	})
	close(over)
	elsewhere.Wait()
}
