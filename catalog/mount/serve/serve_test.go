package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount/serve"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

type row struct {
	Name string `json:"name"`
}

// answers counts its calls and answers with the name that it was given.
func answers(calls *atomic.Int64) mcp.ToolHandlerFor[row, any] {
	return func(_ context.Context, _ *mcp.CallToolRequest, in row) (*mcp.CallToolResult, any, error) {
		calls.Add(1)
		return mcptest.Text(in.Name), nil, nil
	}
}

func register(t testing.TB, s *serve.Server, tool *mcp.Tool, own annotation.Annotations, calls *atomic.Int64) {
	t.Helper()
	if err := serve.AddTool(s, tool, own, answers(calls)); err != nil {
		t.Fatal(err)
	}
}

// listed returns what a client reads of each tool.
func listed(t testing.TB, s *mcp.Server) map[string]annotation.Annotations {
	t.Helper()
	res, err := mcptest.Connect(t, s, nil).ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]annotation.Annotations)
	for _, tool := range res.Tools {
		if out[tool.Name], err = annotation.FromTool(tool); err != nil {
			t.Error(err)
		}
	}
	return out
}

// The defaults of a server hold for all its tools, a tool's own word wins, and what
// a tool's words call dangerous stays so unless the tool itself is named.
func TestServerDefaultsAreInherited(t *testing.T) {
	t.Parallel()
	defaults := annotation.ReadOnly()
	defaults.Category, defaults.Tags = "metrics", []string{"ops"}
	server := mcptest.New()
	s := serve.New(server, "metrics", serve.Options{Defaults: defaults})
	var calls atomic.Int64
	own := annotation.Write()
	own.Category = "alerts"
	register(t, s, &mcp.Tool{Name: "queryMetrics"}, annotation.Annotations{}, &calls)
	register(t, s, &mcp.Tool{Name: "frobnicate"}, annotation.Annotations{}, &calls)
	register(t, s, &mcp.Tool{Name: "deleteMetrics"}, annotation.Annotations{}, &calls)
	register(t, s, &mcp.Tool{Name: "purgeCache"}, annotation.Update(), &calls)
	register(t, s, &mcp.Tool{Name: "addAlert"}, own, &calls)
	register(t, s, &mcp.Tool{Name: "dropAll", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true)}}, annotation.Annotations{}, &calls)
	got := listed(t, server)
	for name, want := range map[string]struct {
		class    annotation.Safety
		category string
	}{
		"queryMetrics":  {annotation.Safe, "metrics"},
		"frobnicate":    {annotation.Safe, "metrics"},
		"deleteMetrics": {annotation.Dangerous, "metrics"},
		"purgeCache":    {annotation.Moderate, "metrics"},
		"addAlert":      {annotation.Moderate, "alerts"},
		"dropAll":       {annotation.Dangerous, "metrics"},
	} {
		if a := got[name]; a.Safety() != want.class || a.Category != want.category || len(a.Tags) != 1 {
			t.Errorf("%s: %s, category %q, tags %v; want %s, %q", name, a.Safety(), a.Category, a.Tags, want.class, want.category)
		}
	}
}

// What a server of ours declares, a client of ours reads without loss.
func TestAnnotationsSurviveTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		hint := func(name string) annotation.Hint { return annotation.Hint(rapid.IntRange(0, 2).Draw(r, name)) }
		number := func(name string) *float64 {
			if !rapid.Bool().Draw(r, name) {
				return nil
			}
			return new(float64(rapid.IntRange(0, 1000).Draw(r, name)))
		}
		own := annotation.Annotations{
			Title:    rapid.SampledFrom([]string{"", "A Title"}).Draw(r, "title"),
			ReadOnly: hint("read-only"), Idempotent: hint("idempotent"), OpenWorld: hint("open"), RequiresConfirmation: hint("confirm"),
			AuditRequired: hint("audit"), RateLimitHint: number("rate"), CostHint: number("cost"),
			EstimatedDuration: time.Duration(rapid.IntRange(0, 5000).Draw(r, "duration")) * time.Millisecond,
			SecurityLevel:     rapid.SampledFrom([]annotation.SecurityLevel{"", annotation.Public, annotation.Restricted}).Draw(r, "level"),
			Complexity:        rapid.SampledFrom([]annotation.Complexity{annotation.Simple, annotation.Complex}).Draw(r, "complexity"),
			Category:          rapid.SampledFrom([]string{"", "crm"}).Draw(r, "category"),
		}
		if own.ReadOnly != annotation.Yes {
			own.Destructive = hint("destructive")
		}
		if rapid.Bool().Draw(r, "tags") {
			own.Tags = []string{"a", "b"}
		}
		server := mcptest.New()
		s := serve.New(server, "srv", serve.Options{})
		tool := &mcp.Tool{Name: "xyzzy"} // no word gives anything away
		register(t, s, tool, own, new(atomic.Int64))
		got := listed(t, server)["xyzzy"]
		if !reflect.DeepEqual(got, own) {
			r.Fatalf("got  %+v\nwant %+v", got, own)
		}
	})
}

// The chain stands before the handlers, over every transport and revision.
func TestChainOfAServer(t *testing.T) {
	t.Parallel()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var reads, deletes, others atomic.Int64
			server := mcptest.New()
			std := chain.Standard{Cache: cache.New(cache.Options{})}
			s := serve.New(server, "crm", serve.Options{Chain: std.Middleware(), Scope: func(*mcp.CallToolRequest) string { return "ann" }})
			register(t, s, &mcp.Tool{Name: "get_customer"}, annotation.Annotations{}, &reads)
			register(t, s, &mcp.Tool{Name: "delete_customer"}, annotation.Annotations{}, &deletes)
			mcptest.Add(server, mcptest.Tool("delete_other", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				others.Add(1)
				return mcptest.Text("gone"), nil
			})
			cs, _ := mcptest.ConnectHTTP(t, server, nil, version)
			call := func(name string) (*mcp.CallToolResult, error) {
				return cs.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: row{"Ada"}})
			}
			for range 3 {
				if res, err := call("get_customer"); err != nil || res.Content[0].(*mcp.TextContent).Text != "Ada" {
					t.Fatal(res, err)
				}
			}
			if _, err := call("delete_customer"); err == nil || !strings.Contains(err.Error(), "crm/delete_customer was refused: it is dangerous") {
				t.Errorf("a dangerous call without a person's yes: %v", err)
			}
			if _, err := call("delete_other"); err != nil {
				t.Errorf("a tool that was added past the chain: %v", err)
			}
			if r, d, o := reads.Load(), deletes.Load(), others.Load(); r != 1 || d != 0 || o != 1 {
				t.Errorf("handled: %d reads, %d deletes, %d others; want 1, 0, 1", r, d, o)
			}
		})
	}
}

// The bytes that a person agreed to are those that the handler gets.
func TestEditReachesTheHandler(t *testing.T) {
	t.Parallel()
	edit := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{"name":"Bob"}`)}, nil
	})
	server := mcptest.New()
	s := serve.New(server, "crm", serve.Options{Chain: chain.Standard{Confirm: hitl.New(edit, hitl.Options{})}.Middleware()})
	var calls atomic.Int64
	register(t, s, &mcp.Tool{Name: "delete_customer"}, annotation.Annotations{}, &calls)
	res, err := mcptest.Connect(t, server, nil).CallTool(context.Background(), &mcp.CallToolParams{Name: "delete_customer", Arguments: row{"Ada"}})
	if err != nil || res.Content[0].(*mcp.TextContent).Text != "Bob" {
		t.Errorf("got %v, %v", res, err)
	}
}

// A tool that is replaced is called as what it is now.
func TestReplacedToolHasItsNewClass(t *testing.T) {
	t.Parallel()
	server := mcptest.New()
	s := serve.New(server, "crm", serve.Options{Chain: chain.Standard{}.Middleware()})
	var calls atomic.Int64
	register(t, s, &mcp.Tool{Name: "sweep"}, annotation.ReadOnly(), &calls)
	cs := mcptest.Connect(t, server, nil)
	call := func() error {
		_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "sweep", Arguments: row{"x"}})
		return err
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	register(t, s, &mcp.Tool{Name: "sweep"}, annotation.Destructive(), &calls)
	if err := call(); err == nil || calls.Load() != 1 {
		t.Errorf("after it became destructive: %v, %d calls", err, calls.Load())
	}
}

// What a person agreed to is the tool as it was shown.
func TestToolThatIsReplacedWhileAPersonThinksIsRefused(t *testing.T) {
	t.Parallel()
	server := mcptest.New()
	var calls atomic.Int64
	var s *serve.Server
	confirm := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		register(t, s, &mcp.Tool{Name: "wipe", Description: "Wipes everything else as well."}, annotation.ReadOnly(), &calls)
		return hitl.Decision{Verdict: hitl.Approved}, nil
	})
	s = serve.New(server, "crm", serve.Options{Chain: chain.Standard{Confirm: hitl.New(confirm, hitl.Options{})}.Middleware()})
	register(t, s, &mcp.Tool{Name: "wipe"}, annotation.Destructive(), &calls)
	cs := mcptest.Connect(t, server, nil)
	_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "wipe", Arguments: row{"x"}})
	if err == nil || !strings.Contains(err.Error(), "another one by now") || calls.Load() != 0 {
		t.Errorf("%v, %d calls", err, calls.Load())
	}
}

// The scope is the user's, so that nobody's memory is another's.
func TestScopeDefaultsToTheSession(t *testing.T) {
	t.Parallel()
	var scopes []string
	watch := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			scopes = append(scopes, call.Scope)
			return next.CallTool(ctx, call)
		})
	}
	server := mcptest.New()
	s := serve.New(server, "crm", serve.Options{Chain: watch})
	register(t, s, &mcp.Tool{Name: "get_x"}, annotation.Annotations{}, new(atomic.Int64))
	for range 2 {
		cs, _ := mcptest.ConnectHTTP(t, server, nil, mcptest.Legacy)
		if _, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "get_x", Arguments: row{"x"}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(scopes) != 2 || scopes[0] == "" || scopes[0] == scopes[1] {
		t.Errorf("two sessions have the scopes %q", scopes)
	}
}

// A session's id is not a user's, even if the client chose it.
func TestSessionIsNotAUser(t *testing.T) {
	t.Parallel()
	var scopes []string
	watch := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			scopes = append(scopes, call.Scope)
			return next.CallTool(ctx, call)
		})
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{GetSessionID: func() string { return "ann" }})
	s := serve.New(server, "crm", serve.Options{Chain: watch})
	register(t, s, &mcp.Tool{Name: "get_x"}, annotation.Annotations{}, new(atomic.Int64))
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: strings.TrimPrefix(token, "nobody"), Expiration: time.Now().Add(time.Hour)}, nil
	}
	for _, token := range []string{"ann", "nobody"} {
		h := httptest.NewServer(auth.RequireBearerToken(verify, nil)(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)))
		t.Cleanup(h.Close)
		cs := mcptest.Dial(t, nil, transportAs(h.URL, token), mcptest.Legacy)
		if _, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "get_x", Arguments: row{"x"}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(scopes) != 2 || scopes[0] != "ann" || scopes[1] == "ann" {
		t.Errorf("the user and the session are %q", scopes)
	}
}

// The newest revision has no sessions, and a token need not name its user.
func TestScopeOfATokenWithoutASubject(t *testing.T) {
	t.Parallel()
	server := mcptest.New()
	s := serve.New(server, "crm", serve.Options{Chain: chain.Standard{Cache: cache.New(cache.Options{})}.Middleware()})
	if err := serve.AddTool(s, &mcp.Tool{Name: "get_me"}, annotation.ReadOnly(), func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return mcptest.Text("you are " + r.Extra.Header.Get("Authorization")), nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
	}
	h := httptest.NewServer(auth.RequireBearerToken(verify, nil)(
		mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})))
	t.Cleanup(h.Close)
	for _, token := range []string{"a", "b"} {
		cs := mcptest.Dial(t, nil, transportAs(h.URL, token), mcptest.Modern)
		res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "get_me"})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := res.Content[0].(*mcp.TextContent).Text, "you are Bearer "+token; got != want {
			t.Errorf("%s is told %q, want %q", token, got, want)
		}
	}
}

func TestAddToolExplainsItsError(t *testing.T) {
	t.Parallel()
	s := serve.New(mcptest.New(), "crm", serve.Options{})
	both := annotation.Annotations{ReadOnly: annotation.Yes, Destructive: annotation.Yes}
	handle := answers(new(atomic.Int64))
	for want, err := range map[string]error{
		"the annotations of crm/x": serve.AddTool(s, &mcp.Tool{Name: "x"}, both, handle),
		"both yes":                 serve.AddTool(s, &mcp.Tool{Name: "x", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: new(true)}}, annotation.Annotations{}, handle),
		"nil tool":                 serve.AddTool(s, nil, annotation.Annotations{}, handle),
		"SDK does not take":        serve.AddTool(s, &mcp.Tool{Name: "x", InputSchema: json.RawMessage(`{"type":"string"}`)}, annotation.Annotations{}, handle),
		"what crm/x declares":      serve.AddTool(s, &mcp.Tool{Name: "x", Meta: mcp.Meta{annotation.MetaKey: 7}}, annotation.Annotations{}, handle),
		"cannot be written":        serve.AddTool(s, &mcp.Tool{Name: "x", Meta: mcp.Meta{"f": func() {}}}, annotation.Annotations{}, handle),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "serve: ") || !strings.Contains(err.Error(), want) && want != "cannot be written" {
			t.Errorf("got %v, want one that says %q", err, want)
		}
	}
	for want, f := range map[string]func(){
		"nil server": func() { serve.New(nil, "x", serve.Options{}) },
		"empty id":   func() { serve.New(mcptest.New(), "", serve.Options{}) },
		"Defaults":   func() { serve.New(mcptest.New(), "x", serve.Options{Defaults: both}) },
		"a tool, a chain and a handler": func() {
			serve.ToolHandler(nil, nil, nil, nil)
		},
		"Resolve was given a nil server": func() { _ = serve.Resolve(nil) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "serve: ") || !strings.Contains(got, want) {
					t.Errorf("got %q, want one that says %q", got, want)
				}
			}()
			f()
		}()
	}
}

// A single handler behind a chain, on a server that knows nothing of ours.
func TestToolHandler(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	handle := func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		calls.Add(1)
		return mcptest.Text(string(r.Params.Arguments)), nil
	}
	server := mcptest.New()
	std := chain.Standard{Cache: cache.New(cache.Options{})}
	for name, a := range map[string]annotation.Annotations{"look": {ReadOnly: annotation.Yes, Freshness: annotation.Stable}, "wipe": annotation.Destructive()} {
		tool, err := middleware.NewTool("srv", mcptest.Tool(name, ""), a)
		if err != nil {
			t.Fatal(err)
		}
		server.AddTool(annotation.Declare(tool.Definition, a), serve.ToolHandler(tool, std.Middleware(), nil, handle))
	}
	cs := mcptest.Connect(t, server, nil)
	for range 2 {
		res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "look", Arguments: row{"x"}})
		if err != nil || res.Content[0].(*mcp.TextContent).Text != `{"name":"x"}` {
			t.Fatal(res, err)
		}
	}
	if _, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "wipe", Arguments: row{"x"}}); err == nil {
		t.Error("a dangerous handler was called without a yes")
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the handlers were called %d times, want once", n)
	}
}

// What a handler was told of a call that it made itself says nothing of what it had done
// before.
func TestHandlerThatCallsAnotherToolInVainIsNotCalledAgain(t *testing.T) {
	t.Parallel()
	tool, err := middleware.NewTool("srv", mcptest.Tool("pay", ""), annotation.Write())
	if err != nil {
		t.Fatal(err)
	}
	paid, inner := 0, &middleware.NotSentError{Err: errors.New("the other server is gone")}
	std := chain.Standard{Retry: retry.New(retry.Options{})}
	_, err = serve.ToolHandler(tool, std.Middleware(), nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		paid++
		return nil, inner
	})(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "pay"}})
	if _, unknown := errors.AsType[*middleware.OutcomeUnknownError](err); paid != 1 || !unknown || !errors.Is(err, inner) {
		t.Errorf("paid %d times, and told %v; want once, and that nobody knows", paid, err)
	}
}

// A catalog that trusts a server of ours has the classes that it declared.
func TestCatalogReadsAServerOfOurs(t *testing.T) {
	t.Parallel()
	server := mcptest.New()
	s := serve.New(server, "ours", serve.Options{})
	register(t, s, &mcp.Tool{Name: "frobnicate"}, annotation.ReadOnly(), new(atomic.Int64))
	tools := catalog.New(catalog.Options{})
	tools.Trust("ours")
	if err := tools.Add(context.Background(), "ours", mcptest.Connect(t, server, nil)); err != nil {
		t.Fatal(err)
	}
	tool, ok := tools.Lookup("ours", "frobnicate")
	if !ok || tool.Safety() != annotation.Safe {
		t.Errorf("%v, %v", ok, tool.Explain())
	}
}

func ExampleNew() {
	server := mcp.NewServer(&mcp.Implementation{Name: "metrics", Version: "1"}, nil)
	tools := serve.New(server, "metrics", serve.Options{
		Defaults: annotation.Annotations{ReadOnly: annotation.Yes, Category: "metrics"},
	})
	handle := func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return new(mcp.CallToolResult), nil, nil
	}
	err := errors.Join(
		serve.AddTool(tools, &mcp.Tool{Name: "queryMetrics"}, annotation.Annotations{}, handle),
		serve.AddTool(tools, &mcp.Tool{Name: "deleteMetrics"}, annotation.Annotations{}, handle),
		serve.AddTool(tools, &mcp.Tool{Name: "rotateMetrics"}, annotation.Update(), handle),
	)
	fmt.Println(err)

	theirs, ours := mcp.NewInMemoryTransports()
	_, _ = server.Connect(context.Background(), theirs, nil)
	session, _ := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).Connect(context.Background(), ours, nil)
	defer session.Close()
	res, _ := session.ListTools(context.Background(), nil)
	for _, tool := range res.Tools {
		a, _ := annotation.FromTool(tool)
		fmt.Println(tool.Name, a.Safety(), a.Category)
	}
	// Output:
	// <nil>
	// deleteMetrics dangerous metrics
	// queryMetrics safe metrics
	// rotateMetrics moderate metrics
}

type asksForInput struct{ error }

func (asksForInput) InputRequired() (mcp.InputRequestMap, string) {
	return mcp.InputRequestMap{"who": &mcp.ElicitParams{Message: "Who?"}}, "state"
}

// An error that asks for input is a question to a client whose revision has those, and
// an error to any other.
func TestErrorThatAsksForInput(t *testing.T) {
	t.Parallel()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mcptest.New()
			s := serve.New(server, "crm", serve.Options{Chain: func(middleware.ToolCaller) middleware.ToolCaller {
				return middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
					return nil, asksForInput{errors.New("nobody said who")}
				})
			}})
			var calls atomic.Int64
			register(t, s, &mcp.Tool{Name: "delete_customer"}, annotation.Annotations{}, &calls)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}})
			cs, _ := mcptest.ConnectHTTP(t, server, client, version)
			res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "delete_customer", Arguments: row{"Ada"}})
			if version == mcptest.Legacy {
				if err == nil || !strings.Contains(err.Error(), "nobody said who") {
					t.Errorf("got %v, %v", res, err)
				}
				return
			}
			if err != nil || !res.NeedsInput() || res.RequestState != "state" || len(res.InputRequests) != 1 {
				t.Errorf("got %v, %v", res, err)
			}
		})
	}
}
