package proxy_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (f *front) call(t testing.TB, name string, arguments any) *mcp.CallToolResult {
	t.Helper()
	res, err := f.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

// connect puts a proxy in front of the server of things, and a client before it.
func connect(t testing.TB, version string, o proxy.Options, client *mcp.ClientOptions) *front {
	t.Helper()
	f := &front{ledger: t.TempDir() + "/ledger", log: newLines(t), served: make(chan error, 1)}
	if o.Servers == nil {
		o.Servers = []proxy.Server{child(t, "things", ledgerKey+"="+f.ledger)}
	}
	o.Stderr = f.log
	o.Logger = slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := p.ServeLines(t.Context(), in, out)
		_ = out.Close()
		f.served <- err
	}()
	// The servers write to the ledger to their end, so that its folder can go only then.
	t.Cleanup(func() { mcptest.Wait(t, "the proxy to end", ended) })
	f.ClientSession = mcptest.Dial(t, mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, client),
		&mcp.IOTransport{Reader: fromProxy, Writer: toProxy}, version)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.log.String())
		}
	})
	return f
}

func eachVersion(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

func approve(yes bool) hitl.Confirmer {
	return hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		if yes {
			return hitl.Decision{Verdict: hitl.Approved, By: "test"}, nil
		}
		return hitl.Decision{Reason: "not today"}, nil
	})
}

// text is the first text of a result.
func text(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) == 0 {
		t.Fatal("the result has no content")
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func names(t testing.TB, cs *mcp.ClientSession) []string {
	t.Helper()
	list, err := cs.ListTools(mcptest.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, tool := range list.Tools {
		all = append(all, tool.Name)
	}
	return all
}

func decided(t testing.TB, text string) func() *policy.Policy {
	t.Helper()
	p, err := policy.Parse("p.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return func() *policy.Policy { return p }
}

func callTool(t testing.TB, cs *mcp.ClientSession, name string, arguments any) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

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
	_, url := listening(t, o)
	return url
}

// listening is listenOn, and returns the proxy too.
func listening(t testing.TB, o proxy.Options) (*proxy.Proxy, string) {
	t.Helper()
	log := newLines(t)
	o.Stderr = log
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
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
	return p, mcptest.Wait(t, "the proxy to listen", url)
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
