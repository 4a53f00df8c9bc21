package mount_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The server is busy. The error reports it, and when to retry.
func ExampleRoundTripper() {
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newBackend().server }, nil)
	busy := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if busy {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	session, err := mcptest.NewClient().Connect(context.Background(), &mcp.StreamableClientTransport{
		Endpoint:             server.URL,
		HTTPClient:           &http.Client{Transport: mount.RoundTripper(nil)},
		DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		panic(err)
	}
	defer func() { busy = false; _ = session.Close() }()

	tool, err := middleware.NewTool("files", mcptest.Tool("list_notes", ""), readOnly)
	if err != nil {
		panic(err)
	}
	busy = true
	_, err = classed(mount.Session(session)).CallTool(context.Background(), middleware.Call{Tool: tool})
	after, _ := middleware.RetryAfter(err)
	fmt.Println("refused before execution:", middleware.Refused(err))
	fmt.Println("come back in:", after)
	// Output:
	// refused before execution: true
	// come back in: 30s
}

// A request that certainly did not arrive is still sent again, with and without a header that
// promises idempotence.
func TestRoundTripperLetsTheHarmlessReplayPass(t *testing.T) {
	var asked int
	base := transport(func(r *http.Request) (*http.Response, error) {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		asked++
		return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
	})
	for _, method := range []string{http.MethodPost, http.MethodPut} {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://x", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := mount.RoundTripper(base).RoundTrip(req)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		_ = res.Body.Close()
	}
	if asked != 2 {
		t.Errorf("the body was to be had %d times, want 2", asked)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that asks a read to wait is waited for, and the caller's deadline is
// the end of it.
func TestB133RetryAfterOverHTTPPacesTheChain(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			caller, executed := overHTTP(t, mcptest.Modern, time.Minute, status == http.StatusServiceUnavailable,
				func(w http.ResponseWriter, _ *http.Request, _ []byte) {
					w.Header().Set("Retry-After", "80")
					w.WriteHeader(status)
				})
			ctx, cancel := context.WithTimeout(t.Context(), 70*time.Second)
			defer cancel()
			began := time.Now()
			_, err := caller.CallTool(ctx, middleware.Call{Tool: unclassed(t, "srv", "list_notes")})
			after, ok := middleware.RetryAfter(err)
			if err == nil || !ok || after != 80*time.Second {
				t.Errorf("got %v, want an error with 80 s", err)
			}
			if took := time.Since(began); took > 60*time.Second || executed() > 1 {
				t.Errorf("it took %v and %d executions, want the error at once", took, executed())
			}
		})
	}
}

// A handshake follows a server to another path of the same host, once, and what comes later goes there at once. A call
// is not sent again, and the error has the address to use.
func TestHandshakeFollowsAServerToAnotherPath(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		keeps := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
		var got []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = append(got, r.Method+" "+r.URL.Path+" "+string(body))
			switch r.URL.Path {
			case "/mcp":
				http.Redirect(w, r, "/mcp/", status)
			case "/twice":
				http.Redirect(w, r, "/mcp", status)
			case "/away":
				http.Redirect(w, r, "http://localhost.example:1/mcp/?secret=1", status)
			}
		}))
		client := &http.Client{Transport: mount.RoundTripper(http.DefaultTransport)}
		post := func(path, body string) error {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			res, err := client.Do(req)
			if err == nil {
				_ = res.Body.Close()
			}
			return err
		}
		const call, hello = `{"method":"tools/call"}`, `{"method":"initialize"}`
		if err := post("/mcp", call); err == nil || !strings.Contains(err.Error(), server.URL+"/mcp/, which is not followed") {
			t.Errorf("%d: a call: got %v", status, err)
		}
		for _, path := range []string{"/twice", "/away"} {
			if err := post(path, hello); err == nil || strings.Contains(err.Error(), "secret=1, which") {
				t.Errorf("%d: %s: got %v", status, path, err)
			}
		}
		got = nil
		if err := post("/mcp", hello); (err == nil) != keeps {
			t.Errorf("%d: got %v", status, err)
		}
		if keeps {
			if err := post("/mcp", call); err != nil {
				t.Errorf("%d: a call afterwards: %v", status, err)
			}
			if want := []string{"POST /mcp " + hello, "POST /mcp/ " + hello, "POST /mcp/ " + call}; !slices.Equal(got, want) {
				t.Errorf("%d: the server got %q, want %q", status, got, want)
			}
		} else if len(got) != 1 {
			t.Errorf("%d: the server got %q", status, got)
		}
		server.Close()
	}
}

// One approval is one delivery: a POST that is redirected is not sent again.
func TestRedirectOfAPostIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			http.Redirect(w, r, "/elsewhere?secret=1", status)
		}))
		client := &http.Client{Transport: mount.RoundTripper(nil)}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		if err == nil || asked.Load() != 1 || !strings.Contains(err.Error(), "is not followed") {
			t.Errorf("%d: %d requests, error %v", status, asked.Load(), err)
		}
		server.Close()
	}
}
