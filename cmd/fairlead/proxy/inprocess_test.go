package proxy_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
