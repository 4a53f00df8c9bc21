package mount_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Over HTTP the marks are set in the body, a message at a time, and what is not an
// answer to one of the three methods passes as it is.
func TestTransportMarksWhatIsResolved(t *testing.T) {
	t.Parallel()
	const (
		list  = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","dynamicAnnotations":true}]}}`
		mark  = `"io.github.fairlead-go/resolution":{"dynamicAnnotations":true}`
		asked = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	)
	long := `{"result":{"tools":[{"name":"` + strings.Repeat("x", 33<<20) + `","dynamicAnnotations":true}]}}`
	for _, tt := range []struct {
		name, request, kind, body string
		status                    int
		encoding                  string
		marked                    bool
	}{
		{"JSON", asked, "application/json", list, 200, "", true},
		{"JSON with a charset", asked, "application/json; charset=utf-8", list, 200, "", true},
		{"events", asked, "text/event-stream", ": hello\n\nevent: message\ndata: {\"method\":\"x\"}\n\ndata: " + list + "\n\n", 200, "", true},
		{"an event without a space", asked, "text/event-stream", "data:" + list + "\r\n\r\n", 200, "", true},
		{"an event that is cut off", asked, "text/event-stream", "data: " + list, 200, "", false},
		{"another method", `{"method":"tools/call"}`, "application/json", list, 200, "", false},
		{"no message", `[`, "application/json", list, 200, "", false},
		{"another kind", asked, "text/plain", list, 200, "", false},
		{"an error's status", asked, "application/json", list, 500, "", false},
		{"compressed by hand", asked, "application/json", list, 200, "br", false},
		{"an error in JSON-RPC", asked, "application/json", `{"error":{"code":1},"id":1}`, 200, "", false},
		{"not JSON", asked, "application/json", "<html>", 200, "", false},
		{"empty", asked, "application/json", "", 200, "", false},
		{"too long to read, at a place that is not read", `{"method":"tools/call"}`, "application/json", long, 200, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := roundTrip(func(*http.Request) (*http.Response, error) {
				h := http.Header{"Content-Type": {tt.kind}, "Content-Length": {"1"}}
				if tt.encoding != "" {
					h.Set("Content-Encoding", tt.encoding)
				}
				return &http.Response{StatusCode: tt.status, Header: h, Body: io.NopCloser(iotest.HalfReader(strings.NewReader(tt.body)))}, nil
			})
			own := &mcp.StreamableClientTransport{HTTPClient: &http.Client{Transport: base}}
			prepared, ok := mount.Transport(own).(*mcp.StreamableClientTransport)
			if !ok || own.HTTPClient.Transport == nil || prepared == own || prepared.HTTPClient == own.HTTPClient {
				t.Fatal("the host's own transport was changed, or not prepared")
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", strings.NewReader(tt.request))
			if err != nil {
				t.Fatal(err)
			}
			res, err := prepared.HTTPClient.Transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(body), mark); got != tt.marked {
				t.Errorf("marked %v, want %v: %.200s", got, tt.marked, body)
			}
			if !tt.marked && string(body) != tt.body && strings.TrimSpace(string(body)) != strings.TrimSpace(tt.body) {
				t.Errorf("it did not pass as it is: %.200s", body)
			}
			if strings.Contains(tt.body, ": hello") && !strings.HasPrefix(string(body), ": hello\n\nevent: message\ndata: {\"method\":\"x\"}\n\ndata: ") {
				t.Errorf("the events around it were changed: %q", body)
			}
		})
	}
}

func TestTransportPassesOnFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, base := range map[string]roundTrip{
		"the request": func(*http.Request) (*http.Response, error) { return nil, broken },
		"the body": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(iotest.ErrReader(broken))}, nil
		},
	} {
		prepared := mount.Transport(&mcp.StreamableClientTransport{HTTPClient: &http.Client{Transport: base}}).(*mcp.StreamableClientTransport)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", strings.NewReader(`{"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		res, err := prepared.HTTPClient.Transport.RoundTrip(req)
		if err == nil {
			_, err = io.ReadAll(res.Body)
			_ = res.Body.Close()
		}
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if t := mount.Transport(&mcp.StreamableClientTransport{}).(*mcp.StreamableClientTransport); t.HTTPClient == nil || t.HTTPClient.Transport == nil {
		panic("a transport without a client was not prepared")
	}
}
