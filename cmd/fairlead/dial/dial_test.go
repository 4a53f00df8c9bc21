package dial_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server's headers go to it, and to no other host that it may lead to.
func TestHeadersStayWithTheirHost(t *testing.T) {
	t.Parallel()
	for name, sse := range map[string]bool{"streamable HTTP": false, "SSE": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan string, 100)
			note := func(who string) func(*http.Request) {
				return func(r *http.Request) { seen <- who + " " + r.Header.Get("Authorization") + r.Header.Get("X-Key") }
			}
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				note("other")(r)
				http.NotFound(w, r)
			}))
			t.Cleanup(other.Close)
			own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				note("own")(r)
				http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusTemporaryRedirect)
			}))
			t.Cleanup(own.Close)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			target := dial.Words(own.URL)
			target.SSE, target.Header = sse, map[string]string{"Authorization": "Bearer s3cret", "X-Key": "s3cret"}
			if _, err := dial.Connect(t.Context(), client, target); err == nil {
				t.Fatal("there is no server")
			}
			all := map[string]int{}
			for range len(seen) { // not closed, since a request that nobody waits for may come yet
				all[<-seen]++
			}
			if _, led := all["other "]; led != sse { // a POST is not led anywhere
				t.Errorf("got %v", all)
			}
			delete(all, "other ")
			if all["own Bearer s3crets3cret"] == 0 || len(all) != 1 {
				t.Errorf("got %v", all)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Nor do they go where everybody on the way can read them.
func TestHeadersStayWithTheirScheme(t *testing.T) {
	t.Parallel()
	server, err := url.Parse("https://example.com/mcp")
	if err != nil {
		t.Fatal(err)
	}
	var sent string
	way := dial.Headers(roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = r.Header.Get("Authorization")
		return &http.Response{Body: http.NoBody}, nil
	}), server, map[string]string{"Authorization": "Bearer s3cret"})
	for to, want := range map[string]string{"https://example.com/other": "Bearer s3cret", "http://example.com/mcp": "", "https://example.com:8443/mcp": ""} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := way.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); sent != want {
			t.Errorf("%s: got %q, want %q", to, sent, want)
		}
	}
}

// What goes wrong on the way to a server does not tell its key.
func TestFaultsKeepSecrets(t *testing.T) {
	t.Parallel()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	for name, target := range map[string]dial.Target{
		"in the query":     dial.Words("http://127.0.0.1:1/mcp?api_key=abcdef123456"),
		"as a password":    dial.Words("http://ada:abcdef123456@127.0.0.1:1/mcp"),
		"in its last word": dial.Words("sh", "-c", "echo refused: token=abcdef123456 >&2"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := dial.Connect(t.Context(), client, target)
			if err == nil || strings.Contains(err.Error(), "abcdef123456") {
				t.Errorf("got %v", err)
			}
		})
	}
}
