package elicit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/mount/serve"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The store has the question open between the legs, and ends it with the answer.
func TestRecordOfAQuestion(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		for _, tt := range []struct {
			user *user
			want string // of a question that is answered by a second leg, "denied" for "void"
		}{
			{says("accept", yes), "pending approved spent done"},
			{says("decline", nil), "pending denied"},
			{says("cancel", nil), "pending void"},
		} {
			t.Run(way.name+", "+tt.user.answer.Action, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{})
				if _, err := remove(t, way.connect(t, d.server, tt.user.client())); err != nil {
					t.Fatal(err)
				}
				want := tt.want
				if strings.HasSuffix(way.name, mcptest.Modern) {
					want = strings.ReplaceAll(want, "void", "denied")
				}
				if got := d.store.of(0); got != want || d.store.of(1) != "never asked" {
					t.Errorf("got %q and %q, want %q alone", got, d.store.of(1), want)
				}
			})
		}
	}
}

// A client that cannot be asked is told so, nothing runs, and the host can ask
// somebody else.
func TestClientThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	deaf := func() *mcp.Client { return mcp.NewClient(&mcp.Implementation{Name: "deaf", Version: "1"}, nil) }
	urlOnly := func() *mcp.Client {
		return mcp.NewClient(&mcp.Implementation{Name: "url", Version: "1"}, &mcp.ClientOptions{
			Capabilities:       &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
			ElicitationHandler: says("accept", yes).handle,
		})
	}
	type test struct {
		name   string
		client func() *mcp.Client
		way    func(testing.TB, *mcp.Server, *mcp.Client) *mcp.ClientSession
	}
	tests := []test{{"http without sessions " + mcptest.Legacy, says("accept", yes).client, stateless}}
	for _, way := range ways {
		tests = append(tests, test{way.name + ", no elicitation", deaf, way.connect}, test{way.name + ", only addresses", urlOnly, way.connect})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{})
			res, err := remove(t, tt.way(t, d.server, tt.client()))
			if err != nil || !res.IsError || !strings.Contains(text(res), "Tell the user") {
				t.Errorf("got %v, %v", res, err)
			}
			d.want(t, 0)

			by := elicit.New(elicit.Options{})
			d = newDesk(t, hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
				decision, err := by.Confirm(ctx, r)
				if errors.Is(err, elicit.ErrUnsupported) {
					return hitl.Decision{Verdict: hitl.Approved, By: "the host"}, nil
				}
				return decision, err
			}), hitl.Options{})
			if res, err = remove(t, tt.way(t, d.server, tt.client())); err != nil || res.IsError {
				t.Errorf("got %v, %v", res, err)
			}
			d.want(t, 1)
		})
	}
}

// A chain without a client's request can ask nobody.
func TestNoRequest(t *testing.T) {
	t.Parallel()
	tool, err := middleware.NewTool("crm", &mcp.Tool{Name: "delete"}, annotation.Destructive())
	if err != nil {
		t.Fatal(err)
	}
	_, err = elicit.New(elicit.Options{}).Confirm(t.Context(), hitl.Request{Tool: tool})
	if !errors.Is(err, elicit.ErrUnsupported) || !strings.Contains(err.Error(), "elicit.WithRequest") {
		t.Errorf("got %v", err)
	}
}

// A client that goes away while its user thinks leaves nothing that could run.
func TestDisconnectLeavesNoOpenGrant(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			asked, gone := make(chan struct{}), make(chan struct{})
			client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					close(asked)
					<-gone // and then says yes to nobody
					return &mcp.ElicitResult{Action: "accept", Content: yes}, nil
				},
			})
			d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{})
			cs := way.connect(t, d.server, client)
			ctx, cancel := context.WithCancel(mcptest.Context(t))
			ended := make(chan error, 1)
			go func() {
				_, err := cs.CallTool(ctx, first())
				ended <- err
			}()
			mcptest.Wait(t, "the question", asked)
			cancel()
			if strings.HasSuffix(way.name, mcptest.Legacy) { // the call is there, and ends when the server hears of it
				mcptest.Wait(t, "the end of the question", d.store.over)
			}
			close(gone)
			if err := mcptest.Wait(t, "the end of the call", ended); err == nil {
				t.Error("the call succeeded")
			}
			_ = cs.Close()
			d.want(t, 0)
			if got := d.store.of(0); got != "pending void" && got != "pending" {
				t.Errorf("the question went %s", got)
			}
		})
	}
}

// A tool handler of the SDK, such as a proxy's, is asked about by both forms too; and
// what the tool itself asks for comes to it, though we asked in between.
func TestToolThatAsksForInputItself(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			tool, err := middleware.NewTool("backend", mcptest.Tool("delete_customer", ""), annotation.Destructive())
			if err != nil {
				t.Fatal(err)
			}
			server, u := mcptest.New(), &user{}
			std := chain.Standard{Confirm: hitl.New(elicit.New(elicit.Options{}), hitl.Options{})}
			var legs []string
			server.AddTool(tool.Definition, serve.ToolHandler(tool, std.Middleware(), nil, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				legs = append(legs, fmt.Sprintf("%q %d", r.Params.RequestState, len(r.Params.InputResponses)))
				if r.Params.RequestState == "the tool's" {
					return mcptest.Text("deleted"), nil
				}
				return &mcp.CallToolResult{RequestState: "the tool's", InputRequests: mcp.InputRequestMap{"which": &mcp.ElicitParams{
					Message: "Which one?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "string"}}},
				}}}, nil
			}))
			client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					_, _ = u.handle(ctx, r)
					if r.Params.Message == "Which one?" {
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"n": "7"}}, nil
					}
					return &mcp.ElicitResult{Action: "accept", Content: yes}, nil
				},
			})
			res, err := remove(t, way.connect(t, server, client))
			if err != nil || text(res) != "deleted" {
				t.Errorf("got %v, %v", res, err)
			}
			if got, want := strings.Join(legs, ", "), `"" 0, "the tool's" 1`; got != want {
				t.Errorf("the tool saw %s, want %s", got, want)
			}
			if n := len(u.asked()); n != 3 { // the call, what the tool asks, and the call with that
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// A question that nobody answers is over when the person's time is.
func TestSilenceIsADenial(t *testing.T) {
	t.Parallel()
	for _, way := range ways[:1] { // the others end with the second leg, which does not come
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				},
			})
			d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{Timeout: time.Millisecond})
			res, err := remove(t, way.connect(t, d.server, client))
			if err != nil || !res.IsError {
				t.Errorf("got %v, %v", res, err)
			}
			d.want(t, 0)
			if got := d.store.of(0); got != "pending void" {
				t.Errorf("the question went %s", got)
			}
		})
	}
}

func TestShortKeyIsRefused(t *testing.T) {
	t.Parallel()
	defer func() {
		if v := fmt.Sprint(recover()); !strings.HasPrefix(v, "elicit: Options.Key has 5 bytes") {
			t.Errorf("got %s", v)
		}
	}()
	elicit.New(elicit.Options{Key: []byte("short")})
}

// A client that wants progress hears that its call waits, and what it can show is known.
func TestProgressOfACallThatWaits(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			heard := make(chan *mcp.ProgressNotificationParams, 1)
			d := newDesk(t, hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
				if elicit.ShowsForms(ctx) {
					t.Error("it is said to show forms")
				}
				elicit.Progress(ctx, 5*time.Second)
				select {
				case p := <-heard:
					if p.ProgressToken != "token" || p.Progress <= 0 || p.Progress >= 1 || p.Message == "" {
						t.Errorf("it heard %+v", p)
					}
				case <-ctx.Done():
					t.Error("it heard of no progress")
				}
				return hitl.Decision{Verdict: hitl.Approved}, nil
			}), hitl.Options{})
			cs := way.connect(t, d.server, mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { heard <- r.Params },
			}))
			p := first()
			p.SetProgressToken("token")
			if res, err := cs.CallTool(mcptest.Context(t), p); err != nil || res.IsError {
				t.Errorf("got %v, %v", res, err)
			}
			d.want(t, 1)
		})
	}
	elicit.Progress(t.Context(), time.Second) // without a request there is nobody to tell
}

// The legs of a call as they cross the wire: the question is a result that asks for
// input and holds nothing else, and only its own answer runs the tool, once.
func TestLegsOfACall(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		if !strings.HasSuffix(way.name, mcptest.Modern) {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{})
			cs := way.connect(t, d.server, byHand())
			call := func(p *mcp.CallToolParams) *mcp.CallToolResult {
				t.Helper()
				res, err := cs.CallTool(mcptest.Context(t), p)
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			asked := call(first())
			if !asked.NeedsInput() || asked.IsError || len(asked.Content) != 0 || asked.StructuredContent != nil || len(asked.InputRequests) != 1 {
				raw, _ := json.Marshal(asked)
				t.Fatalf("got %s, want a question alone", raw)
			}
			for _, requested := range asked.InputRequests {
				if form, ok := requested.(*mcp.ElicitParams); !ok || form.Mode != "form" || form.URL != "" {
					t.Errorf("got %#v, want a form", requested)
				}
			}
			d.want(t, 0)

			otherTool, otherName := second(call(first()), accepted), second(call(first()), accepted)
			otherTool.Name = "purge_customer"
			otherName.Arguments = json.RawMessage(`{"name":"Bob"}`)
			for _, p := range []*mcp.CallToolParams{otherTool, otherName} {
				if res := call(p); !res.IsError {
					t.Errorf("%s %s: got %s", p.Name, p.Arguments, text(res))
				}
			}
			d.want(t, 0)

			if res := call(second(asked, accepted)); text(res) != "deleted Ada" {
				t.Errorf("got %s", text(res))
			}
			if res := call(second(asked, accepted)); !res.IsError {
				t.Errorf("the answer was good twice: %s", text(res))
			}
			d.want(t, 1)
		})
	}
}

// The contract of a middleware, for one that ends in a question and for one whose
// client comes back with a yes.
func TestContract(t *testing.T) {
	t.Parallel()
	ask := hitl.New(elicit.New(elicit.Options{}), hitl.Options{Writes: true, MaxPending: 1000})
	withRequest := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			return next.CallTool(elicit.WithRequest(ctx, modern()), call)
		})
	}
	middlewaretest.Run(t, func(next middleware.ToolCaller) middleware.ToolCaller { return withRequest(ask(next)) })
	t.Run("both legs", func(t *testing.T) {
		t.Parallel()
		middlewaretest.Run(t, func(next middleware.ToolCaller) middleware.ToolCaller {
			asks := withRequest(hitl.New(elicit.New(elicit.Options{}), hitl.Options{Writes: true})(next))
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				res, err := asks.CallTool(ctx, call)
				if _, state, ok := fault.InputRequired(err); ok {
					call.Input = &middleware.Input{State: state, Responses: mcp.InputResponseMap{"fairlead.confirm": accepted}}
					return asks.CallTool(ctx, call)
				}
				return res, err
			})
		})
	})
}
