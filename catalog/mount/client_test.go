package mount_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestClientCallsGoThroughTheChain(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		t.Run("a read is remembered", func(t *testing.T) {
			m := newMounted(t, version, hitl.Denied)
			for range 2 {
				res, err := m.call(t, "list_notes", map[string]any{"a": 1})
				if got := text(t, res, err); got != `list_notes{"a":1}` {
					t.Errorf("got %q", got)
				}
			}
			m.backend.want(t, `list_notes{"a":1}`)
			m.person.want(t)
		})
		t.Run("a delete is asked about", func(t *testing.T) {
			m := newMounted(t, version, hitl.Approved)
			if _, err := m.call(t, "delete_file", map[string]any{"a": 1}); err != nil {
				t.Fatal(err)
			}
			m.person.want(t, `files/delete_file{"a":1}`)
			m.backend.want(t, `delete_file{"a":1}`)
		})
		t.Run("and denied", func(t *testing.T) {
			m := newMounted(t, version, hitl.Denied)
			if res, err := m.call(t, "delete_file", nil); res != nil || !errors.Is(err, hitl.ErrDenied) {
				t.Errorf("got %v, %v", res, err)
			}
			m.person.want(t, `files/delete_file`)
			m.backend.want(t)
		})
		t.Run("an unknown tool is refused", func(t *testing.T) {
			m := newMounted(t, version, hitl.Approved)
			mcptest.Add(m.server, mcptest.Tool("late_file", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				t.Error("it ran")
				return mcptest.Text(""), nil
			})
			if _, err := m.call(t, "late_file", nil); !errors.Is(err, catalog.ErrUnknownTool) || !middleware.NotSent(err) {
				t.Errorf("got %v", err)
			}
		})
		t.Run("nil params are refused", func(t *testing.T) {
			m := newMounted(t, version, hitl.Approved)
			if _, err := m.session.CallTool(mcptest.Context(t), nil); !errors.Is(err, catalog.ErrUnknownTool) {
				t.Errorf("got %v", err)
			}
		})
		t.Run("other methods pass", func(t *testing.T) {
			m := newMounted(t, version, hitl.Denied)
			m.server.AddPrompt(&mcp.Prompt{Name: "hello"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{Description: "hi"}, nil
			})
			if got, err := m.session.GetPrompt(mcptest.Context(t), &mcp.GetPromptParams{Name: "hello"}); err != nil || got.Description != "hi" {
				t.Errorf("got %v, %v", got, err)
			}
			if got, err := m.session.ListTools(mcptest.Context(t), nil); err != nil || len(got.Tools) != 5 {
				t.Errorf("got %v, %v", got, err)
			}
		})
	})
}

func TestArgumentsOfAnyGoType(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		m := newMounted(t, version, hitl.Approved)
		type typed struct {
			A int    `json:"a"`
			B string `json:"b,omitempty"`
		}
		raw := json.RawMessage(`{"a":1}`)
		for name, arguments := range map[string]any{
			"raw": raw, "pointer to raw": &raw, "map": map[string]any{"a": 1}, "map of ints": map[string]int{"a": 1},
			"struct": typed{A: 1}, "pointer": &typed{A: 1},
		} {
			t.Run(name, func(t *testing.T) {
				res, err := m.call(t, "delete_file", arguments)
				if got := text(t, res, err); got != `delete_file{"a":1}` {
					t.Errorf("got %q", got)
				}
			})
		}
		for name, arguments := range map[string]any{
			"nil": nil, "raw nil": json.RawMessage(nil), "empty map": map[string]any{}, "nil map": map[string]any(nil), "empty struct": struct{}{},
		} {
			t.Run(name, func(t *testing.T) {
				res, err := m.call(t, "delete_file", arguments)
				if got := text(t, res, err); got != `delete_file{}` {
					t.Errorf("got %q", got)
				}
			})
		}
		for name, arguments := range map[string]any{
			"list": []int{1}, "text": "x", "bytes": []byte(`{}`), "number": 1, "channel": make(chan int), "a member twice": json.RawMessage(`{"a":1,"a":2}`),
			"rubbish": json.RawMessage(`{`), "10 MB": map[string]string{"a": strings.Repeat("x", 10<<20)}, "nil pointer": (*typed)(nil),
		} {
			t.Run(name, func(t *testing.T) {
				before := len(m.asked)
				res, err := m.call(t, "delete_file", arguments)
				if err == nil || res != nil || !strings.Contains(err.Error(), "delete_file") || len(err.Error()) > 300 {
					t.Fatalf("got %v, %.400v, want a short error that names the tool", res, err)
				}
				if !middleware.NotSent(err) || !middleware.Permanent(err) {
					t.Errorf("%v: not sent: %v, permanent: %v; want both", err, middleware.NotSent(err), middleware.Permanent(err))
				}
				if _, none := arguments.(chan int); none {
					if _, ok := errors.AsType[*json.UnsupportedTypeError](err); !ok {
						t.Errorf("%v has lost its cause", err)
					}
				}
				if len(m.asked) != before {
					t.Error("a person was asked")
				}
			})
		}
	})
}

func TestSessionsOfOneClient(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		client, tools := mcptest.NewClient(), catalog.New(catalog.Options{})
		ids := make(map[*mcp.ClientSession]string)
		asked := make(map[string]int)
		var mu sync.Mutex
		no := &person{}
		mount.Client(client, tools, func(cs *mcp.ClientSession) (string, middleware.Middleware) {
			mu.Lock()
			defer mu.Unlock()
			asked[ids[cs]]++
			if ids[cs] == "a" {
				return "a", chain.Standard{Confirm: hitl.New(no, hitl.Options{}), Cache: cache.New(cache.Options{})}.Middleware()
			}
			return ids[cs], nil
		})
		backends := make(map[string]*backend)
		session := make(map[string]*mcp.ClientSession)
		for _, id := range []string{"a", "b", ""} {
			backends[id] = newBackend()
			session[id] = mcptest.ConnectVersion(t, backends[id].server, client, version)
			mu.Lock()
			ids[session[id]] = id
			mu.Unlock()
			if id != "" {
				add(t, tools, id, session[id])
			}
		}
		call := func(id, name string) error {
			_, err := session[id].CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: name})
			return err
		}
		for range 2 {
			for id := range session {
				err := call(id, "list_notes")
				if (err == nil) != (id != "") {
					t.Errorf("list_notes of %q: %v", id, err)
				}
			}
		}
		if err := call("", "list_notes"); err == nil || !strings.Contains(err.Error(), "no server id") || !middleware.NotSent(err) {
			t.Errorf("a session without an id: got %v", err)
		}
		if err := call("a", "delete_file"); !errors.Is(err, hitl.ErrDenied) {
			t.Errorf("with a chain: got %v", err)
		}
		if err := call("b", "delete_file"); !errors.Is(err, chain.ErrRefused) || errors.Is(err, hitl.ErrDenied) {
			t.Errorf("with the guard alone: got %v", err)
		}
		no.want(t, "a/delete_file")
		backends["a"].want(t, "list_notes{}")
		backends["b"].want(t, "list_notes{}", "list_notes{}")
		backends[""].want(t)
		if want := map[string]int{"a": 1, "b": 1, "": 1}; !maps.Equal(asked, want) {
			t.Errorf("asked for chains %v, want %v", asked, want)
		}
	})
}

// A catalog's own call goes through its session, and so through the chain that
// hangs beneath the client: one question, one memory, one scope.
func TestChainOverAMountedClient(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		for name, arguments := range map[string]json.RawMessage{"arguments": json.RawMessage(`{"b":[1, 2],"a":"<&>"}`), "none": nil, "empty": json.RawMessage(`{}`)} {
			t.Run("one yes, "+name, func(t *testing.T) {
				m := newMounted(t, version, hitl.Denied)
				yes := &person{says: hitl.Approved}
				caller := chain.Standard{Confirm: hitl.New(yes, hitl.Options{})}.Then(m.tools)
				tool, _ := m.tools.Lookup("files", "delete_file")
				if _, err := caller.CallTool(mcptest.Context(t), middleware.Call{ID: "1", Scope: "alice", Tool: tool, Arguments: arguments}); err != nil {
					t.Fatal(err)
				}
				yes.want(t, "files/delete_file"+string(arguments)+"alice")
				m.person.want(t)
				if len(m.calls) != 1 {
					t.Errorf("executed %v", m.calls)
				}
			})
		}
		t.Run("an inner denial denies", func(t *testing.T) {
			m := newMounted(t, version, hitl.Denied)
			if err := m.tools.Override("files", "update_file", destructive); err != nil {
				t.Fatal(err)
			}
			caller := chain.Standard{Retry: retry.New(retry.Options{})}.Then(
				middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
					return mount.Session(m.session).CallTool(ctx, call)
				}))
			tool := unclassed(t, "files", "update_file") // here it is only an update
			_, err := chain.New(infer.New(infer.Options{})).Then(caller).CallTool(mcptest.Context(t), middleware.Call{Tool: tool})
			var lost *middleware.OutcomeUnknownError
			if !errors.Is(err, hitl.ErrDenied) || !middleware.NotSent(err) || !middleware.Permanent(err) || errors.As(err, &lost) {
				t.Errorf("got %v, want what the person said", err)
			}
			m.person.want(t, "files/update_file")
			m.backend.want(t)
		})
		t.Run("scopes share no memory", func(t *testing.T) {
			m := newMounted(t, version, hitl.Denied)
			tool, _ := m.tools.Lookup("files", "list_notes")
			for _, scope := range []string{"alice", "bob", "alice"} {
				if _, err := m.tools.CallTool(mcptest.Context(t), middleware.Call{Scope: scope, Tool: tool}); err != nil {
					t.Fatal(err)
				}
			}
			m.backend.want(t, "list_notes{}", "list_notes{}")
		})
	})
}

func TestParamsOfTheCallerAreNotWrittenTo(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		m := newMounted(t, version, hitl.Approved)
		arguments := map[string]any{"a": 1.0}
		inner := map[string]any{"v": 1.0}
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				// The SDK itself writes into the params and their Meta, so that each call
				// needs its own; what they hold is shared.
				_, err := m.session.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "update_file", Arguments: arguments, Meta: mcp.Meta{"k": inner}})
				if err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if want := map[string]any{"a": 1.0}; !reflect.DeepEqual(arguments, want) || len(inner) != 1 {
			t.Errorf("got %v and %v", arguments, inner)
		}
	})
}

func TestMetaReachesTheServer(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		m := newMounted(t, version, hitl.Approved)
		seen := make(chan mcp.Meta, 1)
		m.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/call" {
					seen <- maps.Clone(req.GetParams().GetMeta())
				}
				return next(ctx, method, req)
			}
		})
		p := &mcp.CallToolParams{Name: "list_notes", Meta: mcp.Meta{"traceparent": "00-1"}}
		p.SetProgressToken("token")
		if _, err := m.session.CallTool(mcptest.Context(t), p); err != nil {
			t.Fatal(err)
		}
		if got := mcptest.Wait(t, "the call", seen); got["traceparent"] != "00-1" || got["progressToken"] != "token" {
			t.Errorf("got %v", got)
		}
	})
}

func TestQuestionOfTheServerPassesAndIsNotRemembered(t *testing.T) { // B115
	t.Run("B115", func(t *testing.T) {
		rounds := 0
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		})
		tools := catalog.New(catalog.Options{})
		safely := chain.Standard{Cache: cache.New(cache.Options{})}.Middleware()
		mount.Client(client, tools, func(*mcp.ClientSession) (string, middleware.Middleware) { return "files", safely })
		s := mcptest.New()
		s.AddTool(mcptest.Tool("list_notes", ""), func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			rounds++
			if answer, ok := r.Params.InputResponses["which"].(*mcp.ElicitResult); ok {
				return mcptest.Text(answer.Action + " " + r.Params.RequestState), nil
			}
			return &mcp.CallToolResult{RequestState: "s1", InputRequests: mcp.InputRequestMap{"which": &mcp.ElicitParams{Message: "which?"}}}, nil
		})
		cs := mcptest.Connect(t, s, client)
		add(t, tools, "files", cs)
		for range 2 {
			first, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "list_notes"})
			if err != nil || !first.NeedsInput() || first.RequestState != "s1" || first.InputRequests["which"] == nil {
				t.Fatalf("got %+v, %v, want the server's question", first, err)
			}
			res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{
				Name: "list_notes", RequestState: first.RequestState,
				InputResponses: mcp.InputResponseMap{"which": &mcp.ElicitResult{Action: "accept"}},
			})
			if got := text(t, res, err); got != "accept s1" {
				t.Errorf("got %q", got)
			}
		}
		if rounds != 4 {
			t.Errorf("the server saw %d rounds, want 4", rounds)
		}
	})
}

func TestErrorsBeneathAClientSayWhetherTheCallWasSent(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		client, tools, b := mcptest.NewClient(), catalog.New(catalog.Options{}), newBackend()
		yes := &person{says: hitl.Approved}
		safely := chain.Standard{Confirm: hitl.New(yes, hitl.Options{})}.Middleware()
		mount.Client(client, tools, func(*mcp.ClientSession) (string, middleware.Middleware) { return "files", safely })
		cs, h := mcptest.ConnectHTTP(t, b.server, client, version)
		add(t, tools, "files", cs)
		h.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "no", http.StatusBadGateway)
			return true
		})
		_, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_file"})
		var lost *middleware.OutcomeUnknownError
		if !errors.As(err, &lost) || lost.Tool.String() != "files/delete_file" {
			t.Errorf("502: got %v, want an unknown outcome", err)
		}
		h.Stop()
		if _, err = cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_file"}); !middleware.NotSent(err) {
			t.Errorf("connection refused: got %v, want not sent", err)
		}
		// A catalog that calls through this client gets the same.
		tool, _ := tools.Lookup("files", "delete_file")
		if _, err = safely(tools).CallTool(mcptest.Context(t), middleware.Call{Tool: tool}); !middleware.NotSent(err) || errors.As(err, &lost) {
			t.Errorf("through the catalog: got %v, want not sent", err)
		}
	})
}

func TestMiddlewareThatLosesTheContextIsRefused(t *testing.T) {
	client, tools, b := mcptest.NewClient(), catalog.New(catalog.Options{}), newBackend()
	lose := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			return next.CallTool(context.Background(), call)
		})
	}
	mount.Client(client, tools, func(*mcp.ClientSession) (string, middleware.Middleware) { return "files", lose })
	cs := mcptest.Connect(t, b.server, client)
	add(t, tools, "files", cs)
	_, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "list_notes"})
	if err == nil || !strings.Contains(err.Error(), "lost its session") || !strings.Contains(err.Error(), "list_notes") || !middleware.NotSent(err) || !middleware.Permanent(err) {
		t.Errorf("got %v", err)
	}
	b.want(t)
}

// The SDK would panic on nothing at all.
func TestMiddlewareThatAnswersNothingIsAnError(t *testing.T) {
	t.Run("B113", func(t *testing.T) {
		client, tools := mcptest.NewClient(), catalog.New(catalog.Options{})
		silent := func(middleware.ToolCaller) middleware.ToolCaller {
			return middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return nil, nil })
		}
		mount.Client(client, tools, func(*mcp.ClientSession) (string, middleware.Middleware) { return "files", silent })
		cs := mcptest.Connect(t, newBackend().server, client)
		add(t, tools, "files", cs)
		_, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "list_notes"})
		if _, ok := errors.AsType[*fault.NoResultError](err); !ok {
			t.Errorf("got %v", err)
		}
	})
}

// A panic while the chain is made leaves no way past it.
func TestNoCallGoesPastAChainThatCouldNotBeMade(t *testing.T) {
	broken := func(middleware.ToolCaller) middleware.ToolCaller { panic("not ready") }
	for name, chainFor := range map[string]func(*mcp.ClientSession) (string, middleware.Middleware){
		"the func":       func(*mcp.ClientSession) (string, middleware.Middleware) { panic("not ready") },
		"the middleware": func(*mcp.ClientSession) (string, middleware.Middleware) { return "files", broken },
	} {
		t.Run(name, func(t *testing.T) {
			s := mcptest.New()
			mcptest.Add(s, mcptest.Tool("list_notes", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				t.Error("it ran")
				return mcptest.Text(""), nil
			})
			client, tools := mcptest.NewClient(), catalog.New(catalog.Options{})
			mount.Client(client, tools, chainFor)
			cs := mcptest.Connect(t, s, client)
			if err := tools.Add(mcptest.Context(t), "files", cs); err != nil {
				t.Fatal(err)
			}
			call := func() (err error) {
				defer func() { // as a host's own handler would
					if v := recover(); v != nil {
						err = fmt.Errorf("panic: %v", v)
					}
				}()
				_, err = cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "list_notes"})
				return err
			}
			if err := call(); err == nil || !strings.Contains(err.Error(), "not ready") {
				t.Errorf("the first: %v", err)
			}
			if err := call(); !middleware.NotSent(err) || !strings.Contains(err.Error(), "panics") {
				t.Errorf("the second: got %v, want a refusal that names what to look at", err)
			}
		})
	}
}

// The chain's own results may be shared with other callers, and the SDK must not write into them.
func TestConcurrentCallsOfOneAnswer(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		m, ctx := newMounted(t, version, hitl.Denied), mcptest.Context(t)
		var calls sync.WaitGroup
		for range 16 {
			calls.Go(func() {
				res, err := m.session.CallTool(ctx, &mcp.CallToolParams{Name: "list_notes"})
				if err != nil {
					t.Error(err)
					return
				}
				res.Meta = mcp.Meta{"mine": true}
				res.Content[0] = nil
			})
		}
		calls.Wait()
		m.backend.want(t, "list_notes{}")
	})
}
