package proxy_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/contrib/otel"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// The span of a request has what the conventions want of its connection; the span of a call that was not sent has not.
func TestSpansDescribeTheConnection(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"pipe", "tcp"} {
		eachVersion(t, func(t *testing.T, version string) {
			want := map[string]string{
				"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "mcp.protocol.version": version, "network.transport": transport,
			}
			var mu sync.Mutex
			var session, last string // as the server got them
			servers := []proxy.Server{child(t, "things")}
			if transport == "tcp" {
				want["network.protocol.name"] = "http"
				handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return things() }, &mcp.StreamableHTTPOptions{Stateless: version >= mcptest.Modern})
				web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					if strings.Contains(string(body), "tools/call") {
						mu.Lock()
						session, last = r.Header.Get("Mcp-Session-Id"), string(body)
						mu.Unlock()
					}
					r.Body = io.NopCloser(bytes.NewReader(body))
					handler.ServeHTTP(w, r)
				}))
				t.Cleanup(web.Close)
				servers = []proxy.Server{{Name: "things", URL: web.URL}}
			}
			for _, approved := range []bool{true, false} {
				spans := tracetest.NewInMemoryExporter()
				f := connect(t, version, proxy.Options{
					Servers: servers, Confirm: approve(approved),
					Telemetry: otel.New(otel.Options{TracerProvider: trace.NewTracerProvider(trace.WithSyncer(spans))}),
				}, nil)
				f.call(t, "list_things", nil)
				f.call(t, "delete_thing", nil)
				got := make(map[string]map[string]string)
				for _, s := range spans.GetSpans() {
					got[s.Name] = make(map[string]string)
					for _, kv := range s.Attributes {
						got[s.Name][string(kv.Key)] = kv.Value.String()
					}
					maps.DeleteFunc(got[s.Name], func(key, _ string) bool { return strings.HasPrefix(key, "fairlead.") })
				}
				for _, tool := range []string{"list_things", "delete_thing"} {
					whole, sent := got["execute_tool "+tool], got["tools/call "+tool]
					if tool == "delete_thing" && !approved {
						if sent != nil || whole["error.type"] != "denied" || whole["mcp.protocol.version"] != "" {
							t.Errorf("denied: %v and %v", whole, sent)
						}
						continue
					}
					mu.Lock()
					if id := sent["jsonrpc.request.id"]; id == "" || transport == "tcp" && approved && tool == "delete_thing" && !strings.Contains(last, `"`+id+`"`) {
						t.Errorf("%s: the request is %q, and the server got %s", tool, id, last)
					}
					if want["gen_ai.tool.name"] = tool; session != "" {
						want["mcp.session.id"] = session
					}
					mu.Unlock()
					delete(sent, "jsonrpc.request.id")
					if diff := cmp.Diff(want, sent); diff != "" {
						t.Errorf("%s (-want +got):\n%s", tool, diff)
					}
				}
				if (want["mcp.session.id"] != "") != (transport == "tcp" && version == mcptest.Legacy) {
					t.Errorf("the session is %q", session)
				}
			}
		})
	}
}
