package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) {
	mcptest.Main(m, map[string]func() *mcp.Server{"echo": echo})
}

// echo answers with the arguments as they came.
func echo() *mcp.Server {
	s := mcptest.New()
	mcptest.Add(s, mcptest.Tool("echo", ""), func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		return mcptest.Text(string(arguments)), nil
	})
	return s
}

func call(t testing.TB, arguments string) middleware.Call {
	t.Helper()
	tool, err := middleware.NewTool("srv", mcptest.Tool("echo", ""), annotation.Annotations{})
	if err != nil {
		t.Fatal(err)
	}
	c := middleware.Call{Tool: tool}
	if arguments != "" {
		c.Arguments = json.RawMessage(arguments)
	}
	return c
}

func text(t testing.TB, res *mcp.CallToolResult, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func ExampleExecutor() {
	tool, _ := middleware.NewTool("files", &mcp.Tool{Name: "list_files"}, annotation.Annotations{})
	executor := session.Executor(caller(func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		fmt.Printf("%s %s\n", p.Name, p.Arguments)
		return mcptest.Text("a.txt"), nil
	}))
	res, err := executor.CallTool(context.Background(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"path":"."}`)})
	fmt.Println(res.Content[0].(*mcp.TextContent).Text, err)
	_, err = executor.CallTool(context.Background(), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"path":".","path":"/"}`)})
	fmt.Println(err)
	// Output:
	// list_files {"path":"."}
	// a.txt <nil>
	// the arguments of files/list_files are refused: the member "path" is given twice (at byte 23); send one JSON object, each member once
}

type caller func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error)

func (f caller) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return f(ctx, p)
}

// sessions are real ones of every kind, of both revisions.
func sessions(t *testing.T, test func(t *testing.T, cs *mcp.ClientSession)) {
	t.Helper()
	for _, version := range mcptest.Versions {
		for name, connect := range map[string]func(t *testing.T) *mcp.ClientSession{
			"memory": func(t *testing.T) *mcp.ClientSession { return mcptest.ConnectVersion(t, echo(), nil, version) },
			"stdio": func(t *testing.T) *mcp.ClientSession {
				return mcptest.Dial(t, nil, mcptest.ChildTransport(t, "echo"), version)
			},
			"HTTP": func(t *testing.T) *mcp.ClientSession {
				cs, _ := mcptest.ConnectHTTP(t, echo(), nil, version)
				return cs
			},
		} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				test(t, connect(t))
			})
		}
	}
}

func TestArgumentsReachTheServer(t *testing.T) {
	sessions(t, func(t *testing.T, cs *mcp.ClientSession) {
		if got := cs.InitializeResult().ProtocolVersion; !strings.HasSuffix(t.Name(), got) {
			t.Errorf("the session speaks %s", got)
		}
		for _, c := range []struct{ name, arguments, want string }{
			{"absent", "", `{}`},
			{"blank", " \n\t", `{}`},
			{"empty", `{}`, `{}`},
			{"order and literals are kept", `{"b":1e2,"a":9007199254740993}`, `{"b":1e2,"a":9007199254740993}`},
			{"big", `{"a":"` + strings.Repeat("x", 1<<16) + `"}`, `{"a":"` + strings.Repeat("x", 1<<16) + `"}`},
		} {
			t.Run(c.name, func(t *testing.T) {
				res, err := session.Executor(cs).CallTool(mcptest.Context(t), call(t, c.arguments))
				if got := text(t, res, err); got != c.want {
					t.Errorf("got %.80s, want %.80s", got, c.want)
				}
			})
		}
	})
}

func TestArgumentsThatTwoParsersCouldReadDifferentlyAreRefused(t *testing.T) {
	sent := 0
	executor := session.Executor(caller(func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		sent++
		return mcptest.Text(""), nil
	}))
	for name, arguments := range map[string]string{
		"a list":                     `[1]`,
		"null":                       `null`,
		"text":                       `"x"`,
		"cut off":                    `{"a":`,
		"something behind":           `{} {}`,
		"a member twice":             `{"a":1,"a":2}`,
		"a member twice, escaped":    `{"a":1,"\u0061":2}`,
		"a member twice, further in": `{"a":[{"b":1,"b":2}]}`,
		"a lone surrogate":           `{"a":"\ud800"}`,
		"no UTF-8":                   "{\"a\":\"\xff\"}",
		"no JSON":                    `{'a':1}`,
		"B043 10 MB":                 `{"a":"` + strings.Repeat("x", 10<<20) + `"}`,
		"9,000 deep":                 `{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			res, err := executor.CallTool(t.Context(), call(t, arguments))
			if err == nil || res != nil || sent != 0 {
				t.Fatalf("got %v, %v, sent %d times; want an error alone", res, err, sent)
			}
			if !middleware.NotSent(err) || !middleware.Permanent(err) {
				t.Errorf("%v: not sent: %v, permanent: %v; want both", err, middleware.NotSent(err), middleware.Permanent(err))
			}
			if msg := err.Error(); len(msg) > 300 || !strings.Contains(msg, "srv/echo") || strings.Contains(msg, "\n") {
				t.Errorf("got %.400q, want one short line that names the tool", msg)
			}
		})
	}
}

// The SDK writes into the params that it is given.
func TestCallIsNotWrittenTo(t *testing.T) {
	sessions(t, func(t *testing.T, cs *mcp.ClientSession) {
		executor := session.Executor(cs)
		shared := call(t, `{"a":1}`)
		shared.Meta = mcp.Meta{"traceparent": "00-1", "nested": map[string]any{"x": 1.0}}
		meta, arguments := maps.Clone(shared.Meta), bytes.Clone(shared.Arguments)
		var attempts sync.WaitGroup
		for range 8 {
			attempts.Go(func() {
				if _, err := executor.CallTool(mcptest.Context(t), shared); err != nil {
					t.Error(err)
				}
			})
		}
		attempts.Wait()
		if !reflect.DeepEqual(shared.Meta, meta) || !bytes.Equal(shared.Arguments, arguments) {
			t.Errorf("got %v %s, want %v %s", shared.Meta, shared.Arguments, meta, arguments)
		}
	})
}

func TestMetaAndInputReachTheServer(t *testing.T) {
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			seen := make(chan *mcp.CallToolParamsRaw, 1)
			s := mcptest.New()
			s.AddTool(mcptest.Tool("echo", ""), func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				seen <- r.Params
				return mcptest.Text(""), nil
			})
			c := call(t, `{}`)
			c.Meta = mcp.Meta{"traceparent": "00-1"}
			c.Input = &middleware.Input{State: "opaque", Responses: mcp.InputResponseMap{
				"q": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"yes": true}},
			}}
			if _, err := session.Executor(mcptest.ConnectVersion(t, s, nil, version)).CallTool(mcptest.Context(t), c); err != nil {
				t.Fatal(err)
			}
			got := mcptest.Wait(t, "the call", seen)
			if got.Meta["traceparent"] != "00-1" || got.RequestState != "opaque" {
				t.Errorf("got _meta %v and state %q", got.Meta, got.RequestState)
			}
			if answer, ok := got.InputResponses["q"].(*mcp.ElicitResult); !ok || answer.Action != "accept" {
				t.Errorf("got the answers %v", got.InputResponses)
			}
		})
	}
}

// Params for which the SDK has no field go to a session that takes the call itself. Any other session gets no such call.
func TestParamsThatTheSDKHasNoFieldFor(t *testing.T) {
	t.Parallel()
	its := call(t, "")
	its.Params = map[string]json.RawMessage{"task": json.RawMessage(`{"ttl":1}`)}
	reached := false
	plain := caller(func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		reached = true
		return mcptest.Text("a"), nil
	})
	_, err := session.Executor(plain).CallTool(t.Context(), its)
	if reached || !middleware.NotSent(err) || !middleware.Permanent(err) || !strings.Contains(fmt.Sprint(err), `["task"]`) {
		t.Errorf("reached %t: %v", reached, err)
	}
	var got middleware.Call
	res, err := session.Executor(sender{plain, &got}).CallTool(t.Context(), its)
	if text(t, res, err) != "sent" || string(got.Params["task"]) != `{"ttl":1}` || got.Tool != its.Tool {
		t.Errorf("sent was %+v", got)
	}
}

type sender struct {
	caller

	got *middleware.Call
}

func (s sender) SendCall(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	*s.got = call
	return mcptest.Text("sent"), nil
}

func TestNeitherResultNorErrorIsAnError(t *testing.T) { // B113
	t.Run("B113", func(t *testing.T) {
		res, err := session.Executor(caller(func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			return nil, nil
		})).CallTool(t.Context(), call(t, `{}`))
		var none *fault.NoResultError
		if res != nil || !errors.As(err, &none) || none.Tool.Name() != "echo" {
			t.Errorf("got %v, %v, want a NoAnswerError of the tool", res, err)
		}
	})
}

func TestResultBesideAnErrorIsDropped(t *testing.T) {
	res, err := session.Executor(caller(func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		return mcptest.Text("x"), errors.New("y")
	})).CallTool(t.Context(), call(t, `{}`))
	if res != nil || err == nil {
		t.Errorf("got %v, %v, want the error alone", res, err)
	}
}

func TestFailureOfTheToolIsAResult(t *testing.T) {
	s := mcptest.New()
	mcptest.Add(s, mcptest.Tool("echo", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such file"}}}, nil
	})
	res, err := session.Executor(mcptest.Connect(t, s, nil)).CallTool(mcptest.Context(t), call(t, `{}`))
	if got := text(t, res, err); !res.IsError || got != "no such file" {
		t.Errorf("got %v %q", res.IsError, got)
	}
}

// The executor beneath the session gets the caller's identity.
func TestIDAndScopeGoThroughTheSDK(t *testing.T) {
	got := make(chan [2]string, 1)
	client := mcptest.NewClient()
	client.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				id, scope := callstate.Sent(ctx)
				got <- [2]string{id, scope}
			}
			return next(ctx, method, req)
		}
	})
	c := call(t, `{}`)
	c.ID, c.Scope = "call-1", "alice"
	if _, err := session.Executor(mcptest.Connect(t, echo(), client)).CallTool(mcptest.Context(t), c); err != nil {
		t.Fatal(err)
	}
	if got, want := mcptest.Wait(t, "the call", got), [2]string{"call-1", "alice"}; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if id, scope := callstate.Sent(t.Context()); id != "" || scope != "" {
		t.Errorf("outside of a call: got %q, %q, want nothing", id, scope)
	}
}
