package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestWhatIsRefusedOverHTTP(t *testing.T) {
	t.Parallel()
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{child(t, "things")}})
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
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
		{"a session that is none", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, map[string]string{"Mcp-Session-Id": "x"}, 404},
		{"a batch", "POST", `[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, nil, 400},
		{"a stream of no session", "GET", "", nil, 405},
		{"a stream of a session that is none", "GET", "", map[string]string{"Mcp-Session-Id": "x"}, 404},
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

// A person has so much time, and then it is a no.
func TestSilenceIsADenial(t *testing.T) {
	t.Parallel()
	f := connect(t, mcptest.Legacy, proxy.Options{
		Policy: decided(t, `{"approvals": {"timeout": "50ms"}}`),
		Confirm: hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
			<-ctx.Done()
			return hitl.Decision{}, ctx.Err()
		}),
	}, nil)
	if res := f.call(t, "delete_thing", nil); !res.IsError || !strings.Contains(text(t, res), "it was not approved") {
		t.Errorf("got %q", text(t, res))
	}
}

// More sessions than there is room for are refused; those that are open go on.
func TestRoomForSessions(t *testing.T) {
	t.Parallel()
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{serve(t, things(), mcptest.Legacy)}})
	open := func() *http.Response {
		res, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
		if err != nil {
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
	healthy("/readyz", http.StatusServiceUnavailable)
	healthy("/healthz", http.StatusOK)
	end, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	end.Header.Set("Mcp-Session-Id", last.Header.Get("Mcp-Session-Id"))
	if res, err := http.DefaultClient.Do(end); err != nil || res.Body.Close() != nil {
		t.Fatal(err)
	}
	healthy("/readyz", http.StatusOK)
}

// What the SDK's types have no place for passes all the same: members of a tool, kinds of
// content, kinds of results. Where definitions are pinned, a tool's members do not, since
// no pin covers them.
func TestWhatTheSDKDoesNotKnowPasses(t *testing.T) {
	t.Parallel()
	const odd = `{"zeal":[1,2.50],"name":"get_odd","inputSchema":{"type":"object"},"execution":{"x":1}}`
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"odd":{}},"serverInfo":{"name":"odd","version":"1"},"more":1}`,
		"tools/list": `{"tools":[` + odd + `],"more":[]}`,
		"tools/call": `{"content":[{"type":"smell","of":"pine"}],"more":true}`,
		"odd/method": `{"odd":1e3}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, results[m.Method])
	}))
	t.Cleanup(server.Close)
	r := connectRaw(t, proxy.Options{Servers: []proxy.Server{{Name: "odd", URL: server.URL}}})
	for i, method := range []string{"initialize", "odd/method", "tools/list", "tools/call"} {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":"get_odd","protocolVersion":"2025-11-25"}}`, i, method))
		got := string(r.answer(strconv.Itoa(i))["result"])
		if method == "tools/list" { // it is put together anew
			if !strings.Contains(got, odd) || !strings.Contains(got, `"more":[]`) {
				t.Errorf("%s: got %s", method, got)
			}
		} else if got != results[method] {
			t.Errorf("%s: got %s, want %s", method, got, results[method])
		}
	}
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

// Where no server is there, the session that all clients share ends, and none stays behind.
func TestSharedSessionThatFailsLeavesNoServerBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{
		{Name: "twice", Dir: dir, Command: []string{"sh", "-c", "[ -e once ] || { touch once; read -r line; exit 1; }; touch again; cat > /dev/null; touch ended"}},
		{Name: "once", Dir: dir, Command: []string{"sh", "-c", "read -r line; until [ -e again ]; do sleep 0.01; done; exit 1"}},
	}})
	body := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + mcptest.Modern + `"}}}`
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	exists(t, filepath.Join(dir, "ended"))
}

// A client over HTTP that does not read keeps nobody from ending.
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
