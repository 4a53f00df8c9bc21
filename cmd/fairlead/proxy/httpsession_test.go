package proxy_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Over HTTP the sender of a call without an id hears that it was refused.
func TestCallWithoutAnIDIsRefusedOverHTTP(t *testing.T) {
	t.Parallel()
	s := newPlain(deleteThing)
	r := &recorder{header: make(http.Header)}
	const body = `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_thing","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	mirrors(req, body)
	s.proxy(t, proxy.Options{Confirm: approve(true)}).Handler(t.Context()).ServeHTTP(r, req)
	if r.status != http.StatusBadRequest || len(s.calls()) > 0 {
		t.Errorf("status %d, executed %q", r.status, s.calls())
	}
}

type recorder struct {
	header http.Header
	status int
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }

// A session over HTTP ends when its client has been silent for long. Who listens, or waits
// for an answer, is there.
func TestOnlyASilentClientLosesItsSession(t *testing.T) {
	t.Parallel()
	const note, request = `{"method":"notifications/x"}`, `{"id":1,"method":"resources/read","params":{"uri":"x://y"}}`
	for name, c := range map[string]struct {
		listens bool
		posts   string
	}{
		"says nothing":                        {},
		"once it has said something":          {posts: note},
		"while it listens":                    {listens: true},
		"while it listens, having said more":  {true, note},
		"while it waits for an answer":        {posts: request},
		"while it listens and waits for that": {true, request},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				listen, post, _, ended := proxy.NewIdle()
				ctx, leave := context.WithCancel(context.Background())
				do := func(h http.HandlerFunc) {
					go h(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", nil))
					synctest.Wait()
				}
				over := func() bool {
					time.Sleep(proxy.SessionIdle + time.Second)
					select {
					case <-ended:
						return true
					default:
						return false
					}
				}
				if c.listens {
					do(listen)
				}
				if c.posts != "" {
					do(post(c.posts))
				}
				if got, want := over(), !c.listens && c.posts != request; got != want {
					t.Errorf("its session has ended: %v, want %v", got, want)
				}
				leave()
				if !over() {
					t.Error("its session goes on when it has gone")
				}
			})
		})
	}
}

// A wall is the way to a client that never reads.
type wall struct {
	*httptest.ResponseRecorder

	until time.Time
}

func (w *wall) SetWriteDeadline(until time.Time) error {
	w.until = until
	return nil
}

func (w *wall) Write([]byte) (int, error) {
	if w.until.IsZero() {
		select {} // for ever
	}
	time.Sleep(time.Until(w.until))
	return 0, os.ErrDeadlineExceeded
}

// A client that does not read holds up a server for so long, once.
func TestClientThatDoesNotReadIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		listen, _, say, _ := proxy.NewIdle()
		ctx, leave := context.WithCancel(context.Background())
		go listen(&wall{ResponseRecorder: httptest.NewRecorder()}, httptest.NewRequestWithContext(ctx, http.MethodGet, "/mcp", nil))
		synctest.Wait()
		start := time.Now()
		for range 3 {
			say()
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("the server waited for %v", took)
		}
		leave()
		synctest.Wait()
	})
}

// A client over HTTP that breaks off its call while a person thinks has cancelled it.
func TestClientOverHTTPThatBreaksOff(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, version string) {
		asked, over := make(chan struct{}), make(chan struct{})
		ledger := t.TempDir() + "/ledger"
		url := listenOn(t, proxy.Options{
			Servers: []proxy.Server{child(t, "things", ledgerKey+"="+ledger)},
			Confirm: hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
				close(asked)
				<-ctx.Done()
				close(over)
				return hitl.Decision{Verdict: hitl.Approved}, nil // too late
			}),
		})
		cs := mcptest.Dial(t, nil, &mcp.StreamableClientTransport{Endpoint: url}, version)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "delete_thing"}); err == nil {
			t.Error("the call went through")
		}
		mcptest.Wait(t, "the end of the question", over)
		if got := ledgerOf(t, ledger); len(got) > 0 {
			t.Errorf("the server did %v", got)
		}
	})
}

// Clients whose requests have the same IDs, and are under way at once, get their own
// answers.
func TestClientsAtOnce(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, version string) {
		const clients = 3
		asked := make(chan string, clients)
		all := make(chan struct{})
		go func() {
			for range clients {
				<-asked
			}
			close(all)
		}()
		url := listenOn(t, proxy.Options{
			Servers: []proxy.Server{child(t, "things")},
			Confirm: hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
				asked <- string(r.Arguments)
				select {
				case <-all:
				case <-ctx.Done():
					return hitl.Decision{}, ctx.Err()
				}
				return hitl.Decision{Reason: "not " + string(r.Arguments)}, nil
			}),
		})
		done := make(chan bool, clients)
		for i := range clients {
			go func() {
				cs := mcptest.Dial(t, nil, &mcp.StreamableClientTransport{Endpoint: url}, version)
				res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_thing", Arguments: map[string]any{"id": i}})
				done <- err == nil && cs.InitializeResult().ProtocolVersion == version && strings.Contains(res.Content[0].(*mcp.TextContent).Text, fmt.Sprintf(`not {"id":%d}`, i))
			}()
		}
		for range clients {
			if !mcptest.Wait(t, "a client", done) {
				t.Error("a client did not get its own answer")
			}
		}
	})
}

// A client over HTTP that does not read keeps no other from ending.
func TestClientOverHTTPThatDoesNotRead(t *testing.T) {
	t.Parallel()
	s, dir := moody(t, "a", `
		*flood*) pad=$(head -c 60000 /dev/zero | tr '\0' x); i=0
			while [ $i -lt 500 ]; do echo $i >> flood; say "\"method\":\"notifications/$pad\""; i=$((i+1)); done;;`)
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{s}})
	session := ""
	do := func(method, body string) {
		req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body)) // the test's own ends before the proxy
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Mcp-Session-Id", session)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		session = res.Header.Get("Mcp-Session-Id") + session
	}
	do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	do(http.MethodGet, "") // which nobody reads
	do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/flood"}`)
	said, since := 0, 0
	until(t, "the server to get no further", func() bool {
		now := len(ledgerOf(t, filepath.Join(dir, "flood")))
		if since++; now != said {
			said, since = now, 0
		}
		return said > 0 && since > 50
	})
}
