package output_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/sdkerr"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/route"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// secret is a text that must not leave the host.
const secret = "postgres://admin:hunter2@10.0.0.7/crm at /srv/app/db.go:42"

var errInside = errors.New("dial " + secret)

type fact struct {
	notSent, refused, permanent bool
	after                       time.Duration
}

func (f *fact) Error() string             { return secret }
func (f *fact) NotSent() bool             { return f.notSent }
func (f *fact) Refused() bool             { return f.refused }
func (f *fact) Permanent() bool           { return f.permanent }
func (f *fact) RetryAfter() time.Duration { return f.after }

// An error becomes a result with the next step for the model, and no internal details; the log has
// the cause.
func TestErrorsBecomeResultsWithoutInternals(t *testing.T) {
	t.Parallel()
	read, pay := listing(t, "", annotation.ReadOnly()), listing(t, "", annotation.Destructive())
	_, wire := sdkerr.Watch(t.Context())
	const failed = "crm__list failed. Try other arguments or another tool, or tell the user that it does not work."
	const look = "crm__list may or may not have happened. Do not call it again now. First check with a tool that only reads whether the change was made, and tell the user if you cannot see it."
	for _, tt := range []struct {
		name string
		tool *middleware.Tool
		err  error
		want string
	}{
		{"any error of a read", read, errInside, failed},
		{"any error of a write", pay, errInside, look},
		{"an unknown outcome", pay, &middleware.OutcomeUnknownError{Tool: pay, Check: "Look at the ledger.", Err: errInside}, "Look at the ledger."},
		{"an unknown outcome, wrapped", pay, fmt.Errorf("%s: %w", secret, &middleware.OutcomeUnknownError{Tool: pay, Check: "Look at the ledger.", Err: errInside}), "Look at the ledger."},
		{"not sent", pay, &fact{notSent: true}, failed + " Nothing has happened: the call did not leave."},
		{"turned away", pay, &fact{refused: true, after: 1500 * time.Millisecond}, failed + " Nothing has happened: the server turned the call away. It is of no use to try again within 2s."},
		{"final", pay, &fact{permanent: true}, failed + " The same call would only fail again."},
		{"a denial with guidance", pay, &hitl.DeniedError{Tool: pay, Reason: "archive it instead", By: "root@10.0.0.7"}, "crm__list was not called. The user said no: archive it instead"},
		{"a no", pay, &hitl.DeniedError{Tool: pay}, "crm__list was not called. The user said no; do not call it again, ask what to do instead."},
		{"nobody answered", pay, &hitl.DeniedError{Tool: pay, Err: errInside}, "crm__list was not called: it was not approved, and no question about it is open. Tell the user, and call it again only if they ask for it."},
		{"refused by the guard", pay, &guard.RefusedError{Tool: pay, Reason: secret, Err: errInside}, "crm__list was not called: it needs a person's agreement, and there is none. Do not call it again; tell the user, or choose a tool that only reads."},
		{"too many calls", read, &ratelimit.LimitedError{Tool: read, Wait: 90 * time.Second}, "crm__list was not called: there were too many calls. Call it again in 1m30s, or do something else first."},
		{"no calls at all", read, &ratelimit.LimitedError{Tool: read}, "crm__list was not called: its limit allows no calls at all. Use another tool."},
		{"no answer in time", read, &timeout.Error{Tool: read, After: time.Minute}, "crm__list gave no answer within 1m0s. Ask it for less, use another tool, or tell the user."},
		{"repeated in vain", read, &retry.ExhaustedError{Tool: read, Attempts: 3, Err: errInside}, "crm__list failed 3 times. Wait before you call it again, use another tool, or tell the user."},
		{"repeated in vain, for want of time", read, &retry.ExhaustedError{Tool: read, Attempts: 2, Err: &timeout.Error{Tool: read, After: time.Second}}, "crm__list failed 2 times. Wait before you call it again, use another tool, or tell the user. crm__list gave no answer within 1s. Ask it for less, use another tool, or tell the user."},
		{"a server in trouble", read, &retry.ExhaustedError{Tool: read, Attempts: 1, OverBudget: true, Err: errInside}, "crm__list failed, and so do too many calls of its server. Wait before you call that server again, or tell the user."},
		{"a tool that is gone", read, &catalog.UnknownToolError{Server: "crm", Tool: "list"}, "There is no such tool any more. Choose one from the list of tools."},
		{"a tool that has changed", read, &catalog.ChangedError{Tool: read}, "crm__list was not called: what it does or takes has changed since it was listed. Look it up again before you use it."},
		{"an unaccepted tool", read, &pins.NotAcceptedError{}, "The tool was not called: it is new or has changed, and the host has not accepted it yet. Use another tool, or tell the user."},
		{"arguments that no scope covers", read, &catalog.NotCoveredError{Tool: read}, "crm__list was not called: with these arguments it is more than this user may do. Choose other arguments, or tell the user that a permission is missing."},
		{"no replica for now", read, &route.NoReplicaError{Tool: read, Excluded: []route.Excluded{{Replica: "10.0.0.7"}}, After: time.Second}, "crm__list was not called: its server cannot take the call now. Call it again in 1s, or do something else first."},
		{"no replica at all", read, &route.NoReplicaError{Tool: read, Excluded: []route.Excluded{{Replica: "10.0.0.7"}}}, "crm__list was not called: its server cannot take the call now. Use another tool, or tell the user."},
		{
			"arguments that the server refused", pay, sdkerr.Sort(context.Background(), wire, "crm", "list", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: secret}),
			"The server refused the arguments and did nothing. Compare them with what the tool takes, and call it again with others.",
		},
		{"no tool", nil, &guard.RefusedError{Reason: secret}, "The call names no tool. Choose one from the list."},
		{"an empty answer", read, nil, failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			res := show(t, output.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, tt.tool, failing(tt.err))
			if !res.IsError || said(res) != tt.want {
				t.Errorf("IsError %v\n got  %s\n want %s", res.IsError, said(res), tt.want)
			}
			if strings.Contains(encoded(t, res), "hunter2") || strings.Contains(encoded(t, res), "10.0.0.7") {
				t.Errorf("internal details are shown: %s", encoded(t, res))
			}
			if tt.err != nil && strings.Contains(tt.err.Error(), "hunter2") && !strings.Contains(log.String(), "10.0.0.7") {
				t.Errorf("the log does not have the cause: %s", log.String())
			}
			if strings.Contains(log.String(), "hunter2") {
				t.Errorf("the log has the password: %s", log.String())
			}
		})
	}
}

// The arguments of a call are refused further in, in words that the model can use.
func TestModelReadsTheFaultsOfItsArguments(t *testing.T) {
	t.Parallel()
	pay := listing(t, "", annotation.Destructive())
	c := chain.New(output.New(output.Options{}), hitl.New(nil, hitl.Options{})).Then(answering(&mcp.CallToolResult{}))
	res := ask(t, c, middleware.Call{Tool: pay, Arguments: []byte(`{"a":1,"a":2}`)})
	if want := "The arguments for crm__list are refused: "; !res.IsError || !strings.HasPrefix(said(res), want) {
		t.Errorf("got %s, want %s…", said(res), want)
	}
}

func TestPanicsBecomeResultsWithoutInternals(t *testing.T) {
	t.Parallel()
	read := listing(t, `{"type":"object"}`, annotation.ReadOnly())
	fine := answering(structured(t, map[string]any{"a": 1}))
	panics := func(*middleware.Tool) bool { panic(secret) }
	for _, tt := range []struct {
		name string
		opts output.Options
		next middleware.ToolCaller
		want string
	}{
		{
			"further in", output.Options{},
			middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { panic(secret) }),
			"crm__list failed.",
		},
		{
			"with an error", output.Options{},
			middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { panic(errInside) }),
			"crm__list failed.",
		},
		{"the host's Fence", output.Options{Fence: panics}, fine, "crm__list answered, but its answer could not be prepared, so it is withheld."},
		{"the host's KeepUnnamed", output.Options{KeepUnnamed: panics}, fine, "crm__list answered, but its answer could not be prepared"},
		{"the host's Fallback", output.Options{Fallback: func(*middleware.Tool) string { panic(secret) }}, failing(errInside), "crm__list failed."},
		{
			"the host's ForUser", output.Options{ForUser: func(context.Context, middleware.Call, []mcp.Content) { panic(secret) }},
			answering(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x", Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}}}}}),
			"crm__list answered, but its answer",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			tt.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
			res := show(t, tt.opts, read, tt.next)
			if !res.IsError || !strings.HasPrefix(said(res), tt.want) {
				t.Errorf("IsError %v\n got  %s\n want %s…", res.IsError, said(res), tt.want)
			}
			if strings.Contains(encoded(t, res), "hunter2") {
				t.Errorf("internal details are shown: %s", encoded(t, res))
			}
			if !strings.Contains(log.String(), "10.0.0.7") || strings.Contains(log.String(), "hunter2") {
				t.Errorf("the log does not have the cause, or has its password: %s", log.String())
			}
		})
	}
}

func TestFallbackIsTheHosts(t *testing.T) {
	t.Parallel()
	read := listing(t, "", annotation.ReadOnly())
	opts := output.Options{Fallback: func(tool *middleware.Tool) string {
		if tool.Name() == "list" {
			return "The customers could not be listed."
		}
		return ""
	}}
	if got, want := said(show(t, opts, read, failing(errInside))), "The customers could not be listed."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := said(show(t, opts, read, failing(&fact{notSent: true}))), "The customers could not be listed. Nothing has happened: the call did not leave."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := said(show(t, opts, nil, failing(&fact{permanent: true}))); !strings.Contains(got, " failed. Try other arguments") {
		t.Errorf("got %q, want the default without a text of the host", got)
	}
	if got := said(show(t, opts, read, failing(&hitl.DeniedError{Tool: read, Reason: "not today"}))); !strings.Contains(got, "not today") {
		t.Errorf("the fallback hides the guidance: %q", got)
	}
}

// If the caller no longer waits for a result, the error is returned.
func TestEndOfTheContextIsReturned(t *testing.T) {
	t.Parallel()
	pay := listing(t, "", annotation.Destructive())
	ctx, cancel := context.WithCancel(t.Context())
	c := output.New(output.Options{})(middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
		cancel()
		return nil, &middleware.OutcomeUnknownError{Tool: pay, Check: "look", Err: context.Cause(ctx)}
	}))
	res, err := c.CallTool(ctx, middleware.Call{Tool: pay})
	if res != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v and %v, want the context's error", res, err)
	}
	if got := middleware.ForModel(err); got != "look" {
		t.Errorf("the error has %q for a model", got)
	}
}

// A tool that was unclassified before the chain has the class that it got there.
func TestClassIsTheOneFurtherIn(t *testing.T) {
	t.Parallel()
	unclassed, read := listing(t, "", annotation.Annotations{}), listing(t, "", annotation.ReadOnly())
	classed := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			callstate.Of(ctx).Write(func(r *callstate.Record) { r.Tool = read })
			return next.CallTool(ctx, call)
		})
	}
	got := said(ask(t, chain.New(output.New(output.Options{}), classed).Then(failing(errInside)), middleware.Call{ID: "1", Tool: unclassed}))
	if want := "crm__list failed. "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q…", got, want)
	}
	got = said(show(t, output.Options{}, unclassed, failing(errInside)))
	if want := "crm__list may or may not have happened. "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q…", got, want)
	}
}

// A tool's own error text is for the model, and has the same limit as any other answer.
func TestReportedFailureStays(t *testing.T) {
	t.Parallel()
	promises := listing(t, `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`, annotation.ReadOnly())
	res := show(t, output.Options{}, promises, answering(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{content("no such customer")}}))
	if !res.IsError || said(res) != "no such customer" {
		t.Errorf("got %s", encoded(t, res))
	}
	res = show(t, output.Options{}, promises, answering(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{content(strings.Repeat("no ", 100_000))}}))
	if n := characters(res); !res.IsError || n > limit {
		t.Errorf("IsError %v, %d characters", res.IsError, n)
	}
	bad := structured(t, map[string]any{"code": 7})
	bad.IsError = true
	res = show(t, output.Options{}, promises, answering(bad))
	if !res.IsError || said(res) != `{"code":7}` || res.StructuredContent != nil {
		t.Errorf("got %s, want the text and no structured content that breaks the schema", encoded(t, res))
	}
}

// Failure returns the text that the middleware gives a model for the same error.
func TestFailureMatchesTheMiddleware(t *testing.T) {
	t.Parallel()
	errInside := errors.New("dial tcp 10.0.0.7:5432: refused")
	tool := func(a annotation.Annotations) *middleware.Tool {
		return &middleware.Tool{Server: "notes", Definition: &mcp.Tool{Name: "do_it"}, Annotations: a}
	}
	for name, c := range map[string]struct {
		tool *middleware.Tool
		err  error
		want string
	}{
		"a read":            {tool(annotation.ReadOnly()), errInside, "notes__do_it failed. Try other arguments or another tool, or tell the user that it does not work."},
		"a write":           {tool(annotation.Write()), errInside, "notes__do_it may or may not have happened."},
		"one with it":       {tool(annotation.ReadOnly()), &middleware.OutcomeUnknownError{Check: "look first"}, "look first"},
		"not sent":          {tool(annotation.Write()), &middleware.NotSentError{Err: errInside}, "Nothing has happened: the call did not leave."},
		"of no tool at all": {nil, &middleware.NotSentError{Err: errInside}, "The call failed."},
	} {
		got := output.Failure(c.tool, c.err)
		text := output.Text(got)
		if !got.IsError || !strings.Contains(text, c.want) || strings.Contains(text, "10.0.0.7") {
			t.Errorf("%s: got %q", name, text)
		}
	}
}

// gone is the error of a store that is away.
type gone struct{}

func (gone) Error() string     { return "doubt: the store does not answer" }
func (gone) Unavailable() bool { return true }

// Calls that fail since a store is away have one line at the begin and one at the end, however many they are and
// whatever other tools do meanwhile. Every other failure has its own line.
func TestOutageHasTwoLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		write, read := listing(t, "", annotation.Destructive()), listing(t, "", annotation.ReadOnly())
		read.Server = "other"
		var err error
		c := output.New(output.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			if call.Tool == write && err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{}, nil
		}))
		round := func() {
			ask(t, c, middleware.Call{ID: "1", Tool: write})
			ask(t, c, middleware.Call{ID: "2", Tool: read})
		}
		for _, of := range []error{fmt.Errorf("write: %w", gone{}), &audit.RefusedError{Tool: write}} {
			log.Reset()
			for err = of; err != nil; err = nil {
				for range 45 {
					round()
					time.Sleep(2 * time.Second)
				}
			}
			round()
			round()
			failed, again := strings.Count(log.String(), "a call failed"), strings.Count(log.String(), "output: calls go on again")
			if failed != 1 || again != 1 || !strings.Contains(log.String(), "failures=45") {
				t.Errorf("%d lines at the begin and %d at the end:\n%s", failed, again, log.String())
			}
		}
		log.Reset()
		for err = errInside; err != nil; err = nil {
			round()
			round()
		}
		if got := strings.Count(log.String(), "a call failed"); got != 2 {
			t.Errorf("%d lines of failures of their own, want 2:\n%s", got, log.String())
		}
	})
}
