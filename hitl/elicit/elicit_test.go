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
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/mount/serve"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Whatever is not an accepted form that says allow is a no, over both forms of the wire.
func TestOnlyAnAcceptedAllowIsAnApproval(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		for _, tt := range []struct {
			name string
			user *user
			runs int64
		}{
			{"accept, allow", says("accept", yes), 1},
			{"accept, deny", says("accept", map[string]any{"decision": "deny"}), 0},
			{"accept, nothing", says("accept", nil), 0},
			{"accept, an empty form", says("accept", map[string]any{}), 0},
			{"accept, another word", says("accept", map[string]any{"decision": "yes"}), 0},
			{"accept, true", says("accept", map[string]any{"decision": true}), 0},
			{"accept, a field too many", says("accept", map[string]any{"decision": "allow", "always": "yes"}), 0},
			{"accept, remembered unasked", says("accept", map[string]any{"decision": "allow", "remember": "always"}), 0},
			{"decline", says("decline", nil), 0},
			{"decline, allow", says("decline", yes), 0},
			{"cancel", says("cancel", nil), 0},
			{"another action", says("ok", yes), 0},
			{"no action", says("", yes), 0},
			{"an error", &user{err: errors.New("the window crashed")}, 0},
		} {
			t.Run(way.name+", "+tt.name, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{})
				res, err := remove(t, way.connect(t, d.server, tt.user.client()))
				if tt.runs > 0 && (err != nil || text(res) != "deleted Ada") {
					t.Errorf("got %v, %v", res, err)
				}
				if tt.runs == 0 && err == nil && !res.IsError {
					t.Errorf("got %s", text(res))
				}
				d.want(t, tt.runs)
				if n := len(tt.user.asked()); n != 1 {
					t.Errorf("asked %d times", n)
				}
			})
		}
	}
}

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

// What may be remembered is offered with once first, and remembered as chosen.
func TestRemembering(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		for _, tt := range []struct {
			choice any // nil for none
			asked  int
			runs   int64
		}{
			{nil, 2, 2}, {"once", 2, 2}, {"arguments-session", 1, 2}, {"arguments-always", 1, 2}, {"members-always", 1, 2},
			{"members-session", 1, 2}, {"tool-session", 1, 2}, {"tool-always", 2, 0}, {"members-2-always", 2, 0}, {"session", 2, 0}, {"", 2, 0}, {1, 2, 0},
		} {
			t.Run(fmt.Sprintf("%s, %v", way.name, tt.choice), func(t *testing.T) {
				t.Parallel()
				content := map[string]any{"decision": "allow"}
				if tt.choice != nil {
					content["remember"] = tt.choice
				}
				u := says("accept", content)
				d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{
					Remember: hitl.Always, OfferTool: true,
					Patterns: func(context.Context, middleware.Call) []hitl.Pattern {
						return []hitl.Pattern{{{Name: "name", Glob: "A*"}}}
					},
				})
				cs := way.connect(t, d.server, u.client())
				for range 2 {
					_, _ = remove(t, cs)
				}
				d.want(t, tt.runs)
				asked := u.asked()
				if len(asked) != tt.asked {
					t.Fatalf("asked %d times, want %d", len(asked), tt.asked)
				}
				form, _ := json.Marshal(asked[0].RequestedSchema)
				if want := `"enum":["once","arguments-session","arguments-always","members-session","members-always","tool-session"]`; !strings.Contains(string(form), want) {
					t.Errorf("the form is %s, want %s in it", form, want)
				}
			})
		}
	}
}

// Members that the user leaves free may differ in the next call, within what the form named.
func TestFreeMembers(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		for _, tt := range []struct {
			free  any
			asked int // for two calls of which the second has another name
		}{{nil, 2}, {true, 1}, {false, 2}, {"yes", 2}} {
			t.Run(fmt.Sprintf("%s, %v", way.name, tt.free), func(t *testing.T) {
				t.Parallel()
				content := map[string]any{"decision": "allow", "remember": "arguments-session"}
				if tt.free != nil {
					content["free-1"] = tt.free
				}
				u := says("accept", content)
				cs := way.connect(t, newDesk(t, elicit.New(elicit.Options{}), hitl.Options{Remember: hitl.Session, OfferMembers: true}).server, u.client())
				for _, name := range []string{"Ada", "Bob"} {
					_, _ = cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_customer", Arguments: map[string]any{"name": name}})
				}
				asked := u.asked()
				if len(asked) != tt.asked {
					t.Fatalf("asked %d times, want %d", len(asked), tt.asked)
				}
				form, _ := json.Marshal(asked[0].RequestedSchema)
				if want := `"free-1":{"description":"any name as name","title":"Leave name free in what is remembered","type":"boolean"}`; !strings.Contains(string(form), want) {
					t.Errorf("the form is %s, want %s in it", form, want)
				}
			})
		}
	}
}

// The user chooses the end of an approval for always among those of the form.
func TestEndIsChosen(t *testing.T) {
	t.Parallel()
	for end, want := range map[any]time.Duration{nil: 30 * 24 * time.Hour, "1 week": 7 * 24 * time.Hour, "2 weeks": 0, 7: 0} {
		content := map[string]any{"decision": "allow", "remember": "arguments-always"}
		if end != nil {
			content["always"] = end
		}
		d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{Remember: hitl.Always})
		cs := ways[0].connect(t, d.server, says("accept", content).client())
		_, _ = cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_customer", Arguments: map[string]any{"name": "Ada"}})
		all, err := d.store.List(t.Context())
		if err != nil || len(all) == 1 && all[0].Until.Sub(all[0].Since).Round(time.Second) != want || len(all) == 0 && want != 0 {
			t.Errorf("%v: got %+v, %v", end, all, err)
		}
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
