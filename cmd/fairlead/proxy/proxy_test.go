package proxy_test

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestListsCallsAndRefuses(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, version string) {
		f := connect(t, version, proxy.Options{}, nil)
		if got := f.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("the client speaks %s", got)
		}
		list, err := f.ListTools(mcptest.Context(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if !slices.Equal(names, thingNames) {
			t.Errorf("got %v, want %v", names, thingNames)
		}
		if got := text(t, f.call(t, "list_things", nil)); got != "a, b" {
			t.Errorf("got %q", got)
		}
		res := f.call(t, "delete_thing", map[string]any{"id": "a"})
		if !res.IsError || !strings.Contains(text(t, res), "it was not approved") {
			t.Errorf("got %v %q, want an error that says why", res.IsError, text(t, res))
		}
		if got, want := ledgerOf(t, f.ledger), []string{"list {}"}; !slices.Equal(got, want) {
			t.Errorf("the server did %v, want %v", got, want)
		}
	})
}

// A host can put the proxy in front of a server of its own, and serve it from a handler of
// its own.
func TestServersInThisProcess(t *testing.T) {
	t.Parallel()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p, err := proxy.New(proxy.Options{Servers: []proxy.Server{{Name: "things", Open: func() (io.ReadWriteCloser, error) {
				here, there := net.Pipe()
				_, err := things().Connect(t.Context(), &mcp.IOTransport{Reader: there, Writer: there}, nil)
				return here, err
			}}}})
			if err != nil {
				t.Fatal(err)
			}
			h := httptest.NewServer(p.Handler(t.Context()))
			t.Cleanup(h.Close)
			cs := mcptest.Dial(t, mcptest.NewClient(), &mcp.StreamableClientTransport{Endpoint: h.URL + "/mcp"}, version)
			res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "list_things"})
			if err != nil || text(t, res) != "a, b" {
				t.Errorf("got %v, %v", res, err)
			}
		})
	}
}

// The requests to an URL go through the host's round tripper.
func TestServersRoundTripper(t *testing.T) {
	t.Parallel()
	transport, _ := mcptest.HTTPTransport(t, things(), mcptest.Legacy)
	var requests atomic.Int64
	f := connect(t, mcptest.Legacy, proxy.Options{Servers: []proxy.Server{{Name: "things", URL: transport.Endpoint, RoundTripper: roundTripper(func(r *http.Request) (*http.Response, error) {
		requests.Add(1)
		return http.DefaultTransport.RoundTrip(r)
	})}}}, nil)
	if got := text(t, f.call(t, "list_things", nil)); got != "a, b" || requests.Load() < 3 {
		t.Errorf("got %q by %d requests", got, requests.Load())
	}
}

func TestEverythingIsRecorded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "calls.jsonl")
	sink, err := audit.OpenFile(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if second, err := audit.OpenFile(file, slog.New(slog.DiscardHandler)); err != nil || second.Close() != nil {
		t.Errorf("a second proxy cannot record there: %v", err)
	}
	f := connect(t, mcptest.Legacy, proxy.Options{Audit: sink, Confirm: approve(true)}, nil)
	f.call(t, "list_things", nil)
	f.call(t, "delete_thing", map[string]any{"id": "a"})
	_ = f.Close()
	mcptest.Wait(t, "the proxy to end", f.served)
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := audit.Verify(file)
	if err != nil || report.State != audit.Whole || len(report.Open) > 0 {
		t.Errorf("got %+v, %v", report, err)
	}
	record, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"tool":"list_things"`, `"kind":"intent"`, `"tool":"delete_thing","class":"dangerous","outcome":"ok"`} {
		if !strings.Contains(string(record), want) {
			t.Errorf("there is no %s in\n%s", want, record)
		}
	}
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
