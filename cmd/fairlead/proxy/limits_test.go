package proxy_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// post sends a message in a session, "" for none, and returns the response without its body.
func post(t testing.TB, client *http.Client, url, session, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res
}

// refusedForNow fails the test unless a response is 429 with a time.
func refusedForNow(t *testing.T, what string, res *http.Response) {
	t.Helper()
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("%s: got %s, to come again after %q", what, res.Status, res.Header.Get("Retry-After"))
	}
}

func TestOneUserOpensEverySession(t *testing.T) {
	t.Parallel()
	a, as := opened(t)
	a.Sessions = 100
	log := newLines(t)
	url := listenOn(t, proxy.Options{
		Servers: []proxy.Server{serve(t, things(), mcptest.Legacy)}, Access: a, Policy: decided(t, `{}`), Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	ann, bob := as("ann", "*.all"), as("bob", "*.all")
	open := 0
	for range 100 {
		if res := post(t, ann, url, "", initialize); res.StatusCode == http.StatusOK {
			open++
		} else {
			refusedForNow(t, "a session over the share", res)
		}
	}
	if open != 20 {
		t.Errorf("one user has %d sessions of 100, want a fifth", open)
	}
	if text := log.String(); strings.Count(text, "a request was refused") != 1 || !strings.Contains(text, "user=ann ") {
		t.Errorf("the log has not one line with the user:\n%s", text)
	}
	if res := post(t, bob, url, "", initialize); res.StatusCode != http.StatusOK {
		t.Errorf("another user got %s", res.Status)
	}
	cs := mcptest.Dial(t, mcptest.NewClient(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: bob}, mcptest.Modern)
	if got := text(t, callTool(t, cs, "list_things", map[string]any{})); got != "a, b" {
		t.Errorf("another user without a session got %q", got)
	}
	res, err := http.Get(strings.TrimSuffix(url, "/mcp") + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Errorf("the proxy is not ready: %s", res.Status)
	}
}

// When users with several sessions have taken all places, one who has none gets one of theirs that is quiet.
func TestPlaceOfAUserWithSeveralSessions(t *testing.T) {
	t.Parallel()
	a, as := opened(t)
	a.Sessions, a.PerUser.Sessions = 4, 3
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{serve(t, things(), mcptest.Legacy)}, Access: a, Policy: decided(t, `{}`)})
	ann, bob, carl := as("ann", "*.all"), as("bob", "*.all"), as("carl", "*.all")
	var anns []string
	for range 3 {
		anns = append(anns, post(t, ann, url, "", initialize).Header.Get("Mcp-Session-Id"))
	}
	bobs := post(t, bob, url, "", initialize).Header.Get("Mcp-Session-Id")
	ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	post(t, ann, url, anns[0], ping) // so that the second is the quietest
	if res := post(t, carl, url, "", initialize); res.StatusCode != http.StatusOK {
		t.Fatalf("the third user got %s", res.Status)
	}
	for i, want := range []int{200, 404, 200} {
		if res := post(t, ann, url, anns[i], ping); res.StatusCode != want {
			t.Errorf("session %d of the user with most: got %s, want %d", i, res.Status, want)
		}
	}
	if res := post(t, bob, url, bobs, ping); res.StatusCode != http.StatusOK {
		t.Errorf("the only session of a user: got %s", res.Status)
	}
	refusedForNow(t, "a second session, when nobody has more than two", post(t, carl, url, "", initialize))
}

// A user whose requests wait has no further ones taken, but can still cancel one; others go on.
func TestRequestsOfOneUser(t *testing.T) {
	t.Parallel()
	a, as := opened(t)
	a.Requests, a.PerUser.Requests = 3, 2
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	confirm := hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
		asked <- struct{}{}
		select {
		case <-answer:
		case <-ctx.Done():
		}
		return hitl.Decision{}, ctx.Err()
	})
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{serve(t, things(), mcptest.Legacy)}, Access: a, Policy: decided(t, `{}`), Confirm: confirm})
	ann, bob := as("ann", "*.all"), as("bob", "*.all")
	session := post(t, ann, url, "", initialize).Header.Get("Mcp-Session-Id")
	ended := make(chan struct{}, 2)
	for i := range 2 {
		go func() {
			post(t, ann, url, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"delete_thing","arguments":{"of":"%d"}}}`, 10+i, i))
			ended <- struct{}{}
		}()
		mcptest.Wait(t, "a question", asked)
	}
	ping := `{"jsonrpc":"2.0","id":20,"method":"ping"}`
	refusedForNow(t, "the third request", post(t, ann, url, session, ping))
	if res := post(t, bob, url, "", initialize); res.StatusCode != http.StatusOK {
		t.Errorf("another user got %s", res.Status)
	}
	if res := post(t, ann, url, session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":10}}`); res.StatusCode != http.StatusAccepted {
		t.Errorf("a cancellation got %s", res.Status)
	}
	mcptest.Wait(t, "the call that was cancelled", ended)
	// A client may read the end of an answer before its place is free.
	until(t, "a request in the place of the one that was cancelled to be taken", func() bool {
		return post(t, ann, url, session, ping).StatusCode == http.StatusOK
	})
	close(answer)
	mcptest.Wait(t, "the other call", ended)
}

func TestQuestionsOfOneUser(t *testing.T) {
	t.Parallel()
	a, as := opened(t)
	a.PerUser.Questions = 1
	asked := make(chan string, 10)
	ctx, over := context.WithCancel(t.Context())
	t.Cleanup(over)
	confirm := hitl.ConfirmerFunc(func(wait context.Context, r hitl.Request) (hitl.Decision, error) {
		asked <- r.Scope
		select {
		case <-ctx.Done():
		case <-wait.Done():
		}
		return hitl.Decision{}, context.Canceled
	})
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{serve(t, things(), mcptest.Legacy)}, Access: a, Policy: decided(t, `{}`), Confirm: confirm})
	dial := func(user string) *mcp.ClientSession {
		return mcptest.Dial(t, mcptest.NewClient(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: as(user, "*.all")}, mcptest.Legacy)
	}
	ann, bob := dial("ann"), dial("bob")
	call := func(cs *mcp.ClientSession, of string) {
		_, _ = cs.CallTool(ctx, &mcp.CallToolParams{Name: "delete_thing", Arguments: map[string]any{"of": of}}) // it waits until the test ends
	}
	go call(ann, "1")
	mcptest.Wait(t, "the first question", asked)
	second := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, _ := ann.CallTool(ctx, &mcp.CallToolParams{Name: "delete_thing", Arguments: map[string]any{"of": "2"}})
		second <- res
	}()
	select {
	case of := <-asked:
		t.Fatalf("a second question of %q", of)
	case res := <-second:
		if res == nil {
			t.Fatal("the second question of a user has no answer")
		}
		if got := text(t, res); !res.IsError || !strings.Contains(got, "too many of your calls wait for an answer") {
			t.Errorf("the second question of a user: got %q", got)
		}
	}
	go call(bob, "3")
	if got := mcptest.Wait(t, "the question of another user", asked); got != "bob" {
		t.Errorf("got a question of %q", got)
	}
}

// Bodies that have to be read whole are bounded together.
func TestBodiesOfOneUser(t *testing.T) {
	t.Parallel()
	a, as := opened(t)
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{serve(t, things(), mcptest.Legacy)}, Access: a, Policy: decided(t, `{}`)})
	send := func(user string) *http.Response { // a body that is not sent to its end
		in, out := io.Pipe()
		t.Cleanup(func() { _ = out.Close() })
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, in)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := as(user, "").Do(req)
		if err != nil {
			return nil // the test has ended
		}
		_ = res.Body.Close()
		return res
	}
	got := make(chan *http.Response, 4)
	for range 3 { // of 32 MB each at most, two for one user
		go func() { got <- send("ann") }()
	}
	refusedForNow(t, "the third body", mcptest.Wait(t, "an answer", got))
	if res := post(t, as("bob", ""), url, "", initialize); res.StatusCode != http.StatusOK {
		t.Errorf("another user got %s", res.Status)
	}
}
