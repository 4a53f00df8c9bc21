package proxy_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestWhatIsRefusedOverHTTP(t *testing.T) {
	t.Parallel()
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{child(t, "things")}})
	for _, c := range []struct {
		name, method, body string
		header             map[string]string
		want               int
	}{
		{"a client", "POST", initialize, nil, 200},
		{"a page from elsewhere", "POST", initialize, map[string]string{"Origin": "https://evil.example"}, 403},
		{"a page of no site", "POST", initialize, map[string]string{"Origin": "null"}, 403},
		{"a page of this machine", "POST", initialize, map[string]string{"Origin": "http://localhost:3000"}, 200},
		{"a name that leads here", "POST", initialize, map[string]string{"Host": "evil.example"}, 403},
		{"a form", "POST", initialize, map[string]string{"Content-Type": "text/plain"}, 415},
		{"no JSON", "POST", "hello", nil, 400},
		{"no session", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, 400},
		{"an unknown session", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, map[string]string{"Mcp-Session-Id": "x"}, 404},
		{"a batch", "POST", `[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, nil, 400},
		{"a stream of no session", "GET", "", nil, 405},
		{"a stream of an unknown session", "GET", "", map[string]string{"Mcp-Session-Id": "x"}, 404},
		{"another method", "PUT", "", map[string]string{"Mcp-Session-Id": "x"}, 405},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), c.method, url, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			for name, value := range c.header {
				req.Header.Set(name, value)
			}
			if host := c.header["Host"]; host != "" {
				req.Host = host
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if body, _ := io.ReadAll(res.Body); res.StatusCode != c.want {
				t.Errorf("got %s %s, want %d", res.Status, body, c.want)
			}
		})
	}
}

func TestPortThatIsInUse(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := proxy.New(proxy.Options{Servers: []proxy.Server{child(t, "things")}})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{l.Addr().String(): "choose another address", "0.0.0.0:0": "can be reached from other machines"} {
		if err := p.ListenAndServe(t.Context(), address, func(string) { t.Error("it listens") }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", address, err, want)
		}
	}
}

// Clients over HTTP have servers of their own, or share one where the revision has no
// sessions; in either case each gets its own answers and its own progress.
func TestClientsDoNotMeet(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, version string) {
		url := listenOn(t, proxy.Options{Servers: []proxy.Server{child(t, "features")}, Policy: decided(t, `{}`)})
		done := make(chan int, 4)
		for range cap(done) {
			go func() {
				progress := make(chan any, 100)
				client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
					ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.ProgressToken },
				})
				cs := mcptest.Dial(t, client, &mcp.StreamableClientTransport{Endpoint: url}, version)
				params := &mcp.CallToolParams{Name: "get_progress", Arguments: map[string]any{}}
				params.SetProgressToken("same")
				if _, err := cs.CallTool(mcptest.Context(t), params); err != nil {
					t.Error(err)
				}
				for range 3 {
					if got := mcptest.Wait(t, "progress", progress); got != "same" {
						t.Errorf("got the token %v", got)
					}
				}
				done <- len(progress)
			}()
		}
		for range cap(done) {
			if more := mcptest.Wait(t, "a client", done); more != 0 {
				t.Errorf("a client got %d notifications of others", more)
			}
		}
	})
}

// More sessions than there is room for are refused; those that are open go on. Each answer is read to its end: a client that
// leaves before its handshake is answered, as it is after a second if that takes longer, has no session.
func TestRoomForSessions(t *testing.T) {
	t.Parallel()
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{serve(t, things(), mcptest.Legacy)}})
	open := func() *http.Response {
		res, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res
	}
	healthy := func(path string, want int) {
		t.Helper()
		res, err := http.Get(strings.TrimSuffix(url, "/mcp") + path)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != want {
			t.Errorf("%s is %d, want %d", path, res.StatusCode, want)
		}
	}
	healthy("/readyz", http.StatusOK)
	var last *http.Response
	for i := range 100 {
		if last = open(); last.StatusCode != http.StatusOK {
			t.Fatalf("session %d: got %d", i, last.StatusCode)
		}
	}
	if got := open(); got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
		t.Errorf("the session after that: got %d, to come again after %q", got.StatusCode, got.Header.Get("Retry-After"))
	}
	healthy("/readyz", http.StatusOK) // or an orchestrator would take it from the clients that it serves
	healthy("/healthz", http.StatusOK)
	end, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	end.Header.Set("Mcp-Session-Id", last.Header.Get("Mcp-Session-Id"))
	if res, err := http.DefaultClient.Do(end); err != nil || res.Body.Close() != nil {
		t.Fatal(err)
	}
	if got := open(); got.StatusCode != http.StatusOK {
		t.Errorf("after one has ended: got %d", got.StatusCode)
	}
}

// Where no server is there, the session that all clients share ends, and none stays behind.
func TestSharedSessionThatFailsLeavesNoServerBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{
		{Name: "twice", Dir: dir, Command: []string{"sh", "-c", "[ -e once ] || { touch once; read -r line; exit 1; }; touch again; cat > /dev/null; touch ended"}},
		{Name: "once", Dir: dir, Command: []string{"sh", "-c", "read -r line; until [ -e again ]; do sleep 0.01; done; exit 1"}},
	}})
	body := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + mcptest.Modern + `"}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	mirrors(req, body)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	exists(t, filepath.Join(dir, "ended"))
}
