package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A system is a real chain in front of a real MCP server that counts what it does.
type system struct {
	tool     *middleware.Tool
	caller   middleware.ToolCaller
	executed atomic.Int64
	got      atomic.Value
}

func newSystem(t *testing.T, confirmer hitl.Confirmer) *system {
	t.Helper()
	s := new(system)
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "delete_file", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.executed.Add(1)
			s.got.Store(string(r.Params.Arguments))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deleted"}}}, nil
		})
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	tools := catalog.New(catalog.Options{})
	t.Cleanup(func() { _ = tools.Close() })
	if err := tools.Add(t.Context(), "files", session); err != nil {
		t.Fatal(err)
	}
	s.tool, _ = tools.Lookup("files", "delete_file")
	s.caller = chain.Standard{Confirm: hitl.New(confirmer, hitl.Options{Timeout: time.Minute, MaxPending: 1000})}.Then(tools)
	return s
}

// calls begins a call and says how it ended.
func (s *system) calls(ctx context.Context, arguments string) <-chan error {
	over := make(chan error, 1)
	go func() {
		_, err := s.caller.CallTool(ctx, middleware.Call{Tool: s.tool, Arguments: json.RawMessage(arguments), Scope: "ann"})
		over <- err
	}()
	return over
}

// goesIn opens a link on a real socket.
func goesIn(t *testing.T, in *inbox.Inbox, origin string) *browser {
	t.Helper()
	b := newBrowser(t, nil)
	b.origin = origin
	door := b.get(strings.TrimPrefix(in.Link(origin, "bob"), origin))
	b.post("/approvals/enter", url.Values{"token": {field(door.text, "token")}}).want(t, http.StatusOK)
	return b
}

// waiting returns the ids on the page once there are so many.
func (b *browser) waiting(n int) []string {
	b.tb.Helper()
	for b.tb.Context().Err() == nil {
		var ids []string
		for _, part := range strings.Split(b.get("/approvals/").text, `data-id="`)[1:] {
			id, _, _ := strings.Cut(part, `"`)
			ids = append(ids, id)
		}
		if len(ids) == n {
			return ids
		}
	}
	b.tb.Fatalf("there are never %d", n)
	return nil
}

// Whatever somebody tries who is not at the page, nothing is executed and the
// question waits for the person who is.
func TestAttack(t *testing.T) {
	t.Parallel()
	log := new(logged)
	in := inbox.New(inbox.Options{Logger: log.logger()})
	origin := listen(t, in)
	s := newSystem(t, in)
	person := goesIn(t, in, origin)
	over := s.calls(t.Context(), `{"path":"a.txt"}`)
	id := person.waiting(1)[0]
	form := person.form(id, "approve")
	path := "/approvals/question/" + id + "/decision"
	used := in.Link(origin, "")
	token, err := url.Parse(used)
	if err != nil {
		t.Fatal(err)
	}
	spent := url.Values{"token": {token.Query().Get("token")}}
	first := newBrowser(t, nil)
	first.origin = origin
	first.post("/approvals/enter", spent).want(t, http.StatusOK)

	// Another site's page in the person's own browser: its cookies and its form.
	evil := httptest.NewServer(http.NotFoundHandler())
	defer evil.Close()
	for _, site := range []string{"https://evil.example", evil.URL, "null"} {
		r := person.request(http.MethodPost, path, form.Encode())
		r.Header.Set("Origin", site)
		r.Header.Del("Sec-Fetch-Site")
		person.do(r).want(t, http.StatusForbidden)
	}
	// A name of theirs that leads to this machine.
	for _, host := range []string{"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""} {
		r := person.request(http.MethodPost, path, form.Encode())
		r.Host, r.Header["Origin"] = host, []string{"http://" + host}
		if host == "" {
			r.Host, r.URL.Host = "evil.example", strings.TrimPrefix(origin, "http://")
		}
		person.do(r).want(t, http.StatusMisdirectedRequest)
	}
	// A form that was stolen, without the cookie.
	thief := newBrowser(t, nil)
	thief.origin = origin
	thief.post(path, form).want(t, http.StatusUnauthorized)
	// A link that was used.
	thief.post("/approvals/enter", spent).want(t, http.StatusUnauthorized)
	thief.get("/approvals/").want(t, http.StatusUnauthorized)
	// An id and a digest of their own making, with a cookie.
	person.post("/approvals/question/"+strings.Repeat("A", 26)+"/decision", form).want(t, http.StatusNotFound)
	forged := url.Values{"decision": {"approve"}, "digest": {strings.Repeat("a", 64)}}
	person.post(path, forged).want(t, http.StatusConflict)
	person.get(path+"?"+form.Encode()).want(t, http.StatusMethodNotAllowed)

	if got := s.executed.Load(); got != 0 || len(in.Waiting()) != 1 {
		t.Fatalf("executed %d times, %d wait; want none and 1", got, len(in.Waiting()))
	}
	refused := strings.Count(log.String(), "inbox: refused")
	if refused != 3+4+1+2+3 {
		t.Errorf("%d refusals in the log, want 13:\n%s", refused, log.String())
	}
	if strings.Contains(log.String(), spent.Get("token")) {
		t.Error("the log holds a token")
	}

	// The person themselves, twenty times at once.
	var wg sync.WaitGroup
	var yes, decided atomic.Int64
	person.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for range 20 {
		wg.Go(func() {
			switch p := person.post(path, form); p.status {
			case http.StatusSeeOther:
				yes.Add(1)
			case http.StatusConflict:
				decided.Add(1)
			}
		})
	}
	wg.Wait()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if yes.Load() != 1 || decided.Load() != 19 || s.executed.Load() != 1 {
		t.Errorf("%d yes, %d decided already, executed %d times; want 1, 19 and 1", yes.Load(), decided.Load(), s.executed.Load())
	}
	// The same call once more: what was sent for the first one counts for nothing.
	ctx, cancel := context.WithCancel(t.Context())
	over = s.calls(ctx, `{"path":"a.txt"}`)
	second := person.waiting(1)[0]
	person.post("/approvals/question/"+second+"/decision", form).want(t, http.StatusConflict)
	cancel()
	if err := <-over; err == nil || s.executed.Load() != 1 {
		t.Errorf("got error %v, executed %d times", err, s.executed.Load())
	}
}

// A no reaches the model, an edit is what runs.
func TestRealChain(t *testing.T) {
	t.Parallel()
	in := inbox.New(inbox.Options{})
	s, b := newSystem(t, in), goesIn(t, in, listen(t, in))
	over := s.calls(t.Context(), `{"path":"a.txt"}`)
	b.decides(b.waiting(1)[0], "deny", "reason", "archive it").want(t, http.StatusOK)
	denied, ok := errors.AsType[*hitl.DeniedError](<-over)
	if !ok || denied.Reason != "archive it" || denied.By != "bob" || s.executed.Load() != 0 {
		t.Errorf("got %+v, executed %d times", denied, s.executed.Load())
	}
	over = s.calls(t.Context(), `{"path":"a.txt"}`)
	b.decides(b.waiting(1)[0], "edit", "arguments", `{"path":"b.txt"}`).want(t, http.StatusOK)
	if err := <-over; err != nil || s.got.Load() != `{"path":"b.txt"}` || s.executed.Load() != 1 {
		t.Errorf("got error %v, executed %d times, with %v", err, s.executed.Load(), s.got.Load())
	}
	const calls = 50
	var all []<-chan error
	for i := range calls {
		all = append(all, s.calls(t.Context(), fmt.Sprintf(`{"path":"%d"}`, i)))
	}
	var wg sync.WaitGroup
	for i, id := range b.waiting(calls) {
		wg.Go(func() { b.decides(id, [2]string{"approve", "deny"}[i%2]).want(t, http.StatusOK) })
	}
	wg.Wait()
	yes := 0
	for _, over := range all {
		if <-over == nil {
			yes++
		}
	}
	if yes != calls/2 || s.executed.Load() != 1+calls/2 {
		t.Errorf("%d yes, executed %d times", yes, s.executed.Load())
	}
}
