package elicit_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/mount/serve"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A desk is a server of ours whose delete_customer asks by elicitation.
type desk struct {
	server *mcp.Server
	ran    atomic.Int64
	store  *record
}

type customer struct {
	Name string `json:"name"`
}

func newDesk(t testing.TB, c hitl.Confirmer, o hitl.Options) *desk {
	t.Helper()
	d := &desk{server: mcptest.New(), store: &record{Store: approvals.NewMemory(), states: make(map[string][]approvals.State), over: make(chan struct{})}}
	o.Store = d.store
	std := chain.Standard{Output: output.New(output.Options{}), Confirm: hitl.New(c, o)}
	s := serve.New(d.server, "crm", serve.Options{Chain: std.Middleware()})
	for _, name := range []string{"delete_customer", "purge_customer"} {
		err := serve.AddTool(s, &mcp.Tool{Name: name, Description: "Delete a customer."}, annotation.Destructive(),
			func(_ context.Context, _ *mcp.CallToolRequest, in customer) (*mcp.CallToolResult, any, error) {
				d.ran.Add(1)
				return mcptest.Text("deleted " + in.Name), nil, nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d *desk) want(t testing.TB, runs int64) {
	t.Helper()
	if got := d.ran.Load(); got != runs {
		t.Errorf("the tool ran %d times, want %d", got, runs)
	}
}

// A record is a store that remembers the states of each question.
type record struct {
	hitl.Store

	mu     sync.Mutex
	ids    []string
	states map[string][]approvals.State
	over   chan struct{} // closed when the first question has come to nothing
}

func (r *record) Add(ctx context.Context, a approvals.Approval) error {
	err := r.Store.Add(ctx, a)
	r.note(a.ID, a.State, err)
	return err
}

func (r *record) Advance(ctx context.Context, id string, c approvals.Change) error {
	err := r.Store.Advance(ctx, id, c)
	r.note(id, c.To, err)
	return err
}

func (r *record) note(id string, s approvals.State, err error) {
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.states[id]) == 0 {
		r.ids = append(r.ids, id)
	}
	r.states[id] = append(r.states[id], s)
	if id == r.ids[0] && s == approvals.Void {
		close(r.over)
	}
}

// of returns the way of the n-th question.
func (r *record) of(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n >= len(r.ids) {
		return "never asked"
	}
	var way []string
	for _, s := range r.states[r.ids[n]] {
		way = append(way, string(s))
	}
	return strings.Join(way, " ")
}

// A user answers every form alike and keeps what was shown.
type user struct {
	mu     sync.Mutex
	shown  []*mcp.ElicitParams
	answer *mcp.ElicitResult
	err    error
}

func (u *user) handle(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.shown = append(u.shown, req.Params)
	return u.answer, u.err
}

func (u *user) asked() []*mcp.ElicitParams {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.shown
}

func says(action string, content map[string]any) *user {
	return &user{answer: &mcp.ElicitResult{Action: action, Content: content}}
}

var yes = map[string]any{"decision": "allow"}

func (u *user) client() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: u.handle})
}

// byHand is a client that shows the legs of a call to the test.
func byHand() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: says("cancel", nil).handle, MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
}

// ways are the transports and revisions over which a client is asked.
var ways = []struct {
	name    string
	connect func(t testing.TB, s *mcp.Server, c *mcp.Client) *mcp.ClientSession
}{
	{"memory " + mcptest.Legacy, func(t testing.TB, s *mcp.Server, c *mcp.Client) *mcp.ClientSession {
		return mcptest.ConnectVersion(t, s, c, mcptest.Legacy)
	}},
	{"memory " + mcptest.Modern, func(t testing.TB, s *mcp.Server, c *mcp.Client) *mcp.ClientSession {
		return mcptest.ConnectVersion(t, s, c, mcptest.Modern)
	}},
	{"http " + mcptest.Legacy, func(t testing.TB, s *mcp.Server, c *mcp.Client) *mcp.ClientSession {
		cs, _ := mcptest.ConnectHTTP(t, s, c, mcptest.Legacy)
		return cs
	}},
	{"http " + mcptest.Modern, func(t testing.TB, s *mcp.Server, c *mcp.Client) *mcp.ClientSession {
		cs, _ := mcptest.ConnectHTTP(t, s, c, mcptest.Modern)
		return cs
	}},
}

// stateless serves an old revision without sessions, where nobody can be asked.
func stateless(t testing.TB, s *mcp.Server, c *mcp.Client) *mcp.ClientSession {
	t.Helper()
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(h.Close)
	return mcptest.Dial(t, c, &mcp.StreamableClientTransport{Endpoint: h.URL, MaxRetries: -1, DisableStandaloneSSE: true}, mcptest.Legacy)
}

func remove(t testing.TB, cs *mcp.ClientSession) (*mcp.CallToolResult, error) {
	t.Helper()
	return cs.CallTool(mcptest.Context(t), first())
}

// first is the first leg of a call.
func first() *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "delete_customer", Arguments: json.RawMessage(`{"name":"Ada"}`)}
}

// second is the leg that answers what came of the first one.
func second(res *mcp.CallToolResult, answer *mcp.ElicitResult) *mcp.CallToolParams {
	p := first()
	p.RequestState, p.InputResponses = res.RequestState, make(mcp.InputResponseMap)
	for key := range res.InputRequests {
		p.InputResponses[key] = answer
	}
	return p
}

// text is what the model would read.
func text(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}
