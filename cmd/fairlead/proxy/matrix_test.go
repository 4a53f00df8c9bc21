package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serve puts a server of the SDK behind a socket.
func serve(t testing.TB, server *mcp.Server, version string) proxy.Server {
	t.Helper()
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: version >= mcptest.Modern}))
	t.Cleanup(h.Close)
	return proxy.Server{Name: "things", URL: h.URL}
}

// listenOn starts a proxy over HTTP and returns its URL.
func listenOn(t testing.TB, o proxy.Options) string {
	t.Helper()
	log := newLines(t)
	o.Stderr = log
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	url, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- p.ListenAndServe(ctx, "127.0.0.1:0", func(u string) { url <- u }) }()
	t.Cleanup(func() {
		stop()
		if err := mcptest.Wait(t, "the proxy to end", ended); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return mcptest.Wait(t, "the proxy to listen", url)
}

// eachWay tries clients over both transports, servers over both, at both revisions.
func eachWay(t *testing.T, o proxy.Options, client func() *mcp.ClientOptions, test func(t *testing.T, cs *mcp.ClientSession, version string)) {
	t.Helper()
	for _, version := range mcptest.Versions {
		for _, to := range []string{"stdio", "HTTP"} {
			for _, from := range []string{"stdio", "HTTP"} {
				t.Run(from+" to "+to+" "+version, func(t *testing.T) {
					t.Parallel()
					o := o
					o.Servers = []proxy.Server{child(t, "things")}
					if to == "HTTP" {
						o.Servers = []proxy.Server{serve(t, things(), version)}
					}
					if from == "stdio" {
						test(t, connect(t, version, o, client()).ClientSession, version)
						return
					}
					test(t, mcptest.Dial(t, mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, client()),
						&mcp.StreamableClientTransport{Endpoint: listenOn(t, o)}, version), version)
				})
			}
		}
	}
}

func callTool(t testing.TB, cs *mcp.ClientSession, name string, arguments any) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

func TestEveryWayThrough(t *testing.T) {
	t.Parallel()
	eachWay(t, proxy.Options{}, func() *mcp.ClientOptions { return nil }, func(t *testing.T, cs *mcp.ClientSession, version string) {
		if got := cs.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("the client speaks %s", got)
		}
		list, err := cs.ListTools(mcptest.Context(t), nil)
		if err != nil || len(list.Tools) != len(thingNames) {
			t.Fatalf("got %v, %v", list, err)
		}
		if got := text(t, callTool(t, cs, "list_things", nil)); got != "a, b" {
			t.Errorf("got %q", got)
		}
		if res := callTool(t, cs, "delete_thing", map[string]any{"id": "a"}); !res.IsError {
			t.Error("a dangerous call went through with nobody to ask")
		}
	})
}

// The person behind the client is asked in whichever way its revision has.
func TestClientsUserIsAsked(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"allow", "deny"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			client := func() *mcp.ClientOptions {
				return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked.Add(1)
					if !strings.Contains(r.Params.Message, "things/delete_thing: dangerous") {
						t.Errorf("the form says %q", r.Params.Message)
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": answer}}, nil
				}}
			}
			t.Cleanup(func() {
				if got := asked.Load(); got != 8 {
					t.Errorf("asked %d times, want once in each of 8 ways", got)
				}
			})
			eachWay(t, proxy.Options{Confirm: elicit.New(elicit.Options{})}, client, func(t *testing.T, cs *mcp.ClientSession, _ string) {
				res := callTool(t, cs, "delete_thing", map[string]any{"id": "a"})
				if got := text(t, res); res.IsError == (answer == "allow") || answer == "allow" && got != "it is gone" {
					t.Errorf("got %v %q", res.IsError, got)
				}
			})
		})
	}
}

// A client that cannot show a form falls back to somebody else.
func TestFallback(t *testing.T) {
	t.Parallel()
	form := elicit.New(elicit.Options{})
	for _, c := range []struct {
		name    string
		confirm hitl.Confirmer
		want    bool
	}{
		{"nobody else", proxy.Fallback(form), false},
		{"somebody else", proxy.Fallback(form, approve(true)), true},
		{"who says no", proxy.Fallback(form, approve(false)), false},
		{"both at once", proxy.First(form, approve(true)), true},
		{"only the first counts", proxy.First(approve(false), hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
			<-ctx.Done()
			return hitl.Decision{Verdict: hitl.Approved}, nil
		})), false},
		{"one that panics is none", proxy.First(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { panic("x") }), approve(true)), true},
		{"one that fails is none", proxy.First(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			return hitl.Decision{Verdict: hitl.Approved}, errors.New("x")
		}), approve(false)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachVersion(t, func(t *testing.T, version string) {
				f := connect(t, version, proxy.Options{Confirm: c.confirm}, nil)
				if res := f.call(t, "delete_thing", nil); res.IsError == c.want {
					t.Errorf("got %v %q", res.IsError, text(t, res))
				}
			})
		})
	}
}

// raw speaks to a proxy by hand.
type raw struct {
	t    testing.TB
	in   *io.PipeWriter
	out  chan map[string]json.RawMessage
	done chan error
}

func connectRaw(t testing.TB, o proxy.Options, change ...func(*proxy.Proxy)) *raw {
	t.Helper()
	log := newLines(t)
	o.Stderr, o.Logger = log, slog.New(slog.NewTextHandler(log, nil))
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(p)
	}
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	r := &raw{t: t, in: toProxy, out: make(chan map[string]json.RawMessage, 100), done: make(chan error, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.done <- p.ServeLines(context.Background(), in, out)
		_ = out.Close()
	}()
	go func() {
		for d := json.NewDecoder(fromProxy); ; {
			var m map[string]json.RawMessage
			if d.Decode(&m) != nil {
				close(r.out)
				return
			}
			r.out <- m
		}
	}()
	t.Cleanup(func() {
		_ = toProxy.Close()
		mcptest.Wait(t, "the proxy to end", ended) // its servers write to ledgers until then
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return r
}

func (r *raw) send(text string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, text+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *raw) next() map[string]json.RawMessage {
	r.t.Helper()
	return mcptest.Wait(r.t, "a message of the proxy's", r.out)
}

// answer waits for the answer to a request.
func (r *raw) answer(id string) map[string]json.RawMessage {
	r.t.Helper()
	for {
		m := r.next()
		if m == nil {
			r.t.Fatalf("no answer to %s", id)
		}
		if string(m["id"]) == id && m["method"] == nil {
			return m
		}
	}
}

func (r *raw) initialize(capabilities string) {
	r.t.Helper()
	r.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"clientInfo":{"name":"raw","version":"1"}}}`)
	r.answer(`"i"`)
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// A client that goes away, or cancels, while a person thinks leaves nothing behind that
// could be said yes to.
func TestClientThatGoesAwayLeavesNoOpenGrant(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"closes", "cancels"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			asked, over := make(chan struct{}), make(chan struct{})
			ledger := t.TempDir() + "/ledger"
			r := connectRaw(t, proxy.Options{
				Servers: []proxy.Server{child(t, "things", ledgerKey+"="+ledger)},
				Confirm: hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
					close(asked)
					<-ctx.Done()
					close(over)
					return hitl.Decision{Verdict: hitl.Approved}, nil // too late
				}),
			})
			r.initialize("{}")
			r.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"delete_thing","arguments":{}}}`)
			mcptest.Wait(t, "the question", asked)
			if way == "closes" {
				_ = r.in.Close()
				if err := mcptest.Wait(t, "the proxy to end", r.done); err != nil {
					t.Error(err)
				}
			} else {
				r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
			}
			mcptest.Wait(t, "the end of the question", over)
			if way == "cancels" {
				r.send(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"list_things"}}`)
				for m := r.next(); string(m["id"]) != "8"; m = r.next() {
					if string(m["id"]) == "7" {
						t.Errorf("a cancelled call was answered: %s", m["result"])
					}
				}
			}
			if got := ledgerOf(t, ledger); slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "delete") }) {
				t.Errorf("the server did %v", got)
			}
		})
	}
}
