package proxy_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A request that is cancelled at once is cancelled, whether or not it has left.
func TestCancellationRightBehindItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := proxy.Cancelled(t, roundTripper(func(r *http.Request) (*http.Response, error) {
			select {
			case <-r.Context().Done():
				return nil, r.Context().Err()
			case <-time.After(time.Hour):
				return nil, errors.New("it was not cancelled")
			}
		}))
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// What goes wrong on the way to a server tells neither the client nor the log its key.
func TestFaultsKeepSecrets(t *testing.T) {
	t.Parallel()
	const secret = "abcdef123456"
	for name, server := range map[string]proxy.Server{
		"in the address":   {Name: "a", URL: "http://127.0.0.1:1/mcp?api_key=" + secret},
		"in its last word": {Name: "a", Command: []string{"sh", "-c", "read -r line; echo refused: token=" + secret + " >&2; exit 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := connectRaw(t, proxy.Options{Servers: []proxy.Server{server}})
			r.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
			for m := r.next(); m != nil; m = r.next() {
				if strings.Contains(string(m["error"]), secret) {
					t.Errorf("the client is told %s", m["error"])
				}
			}
			if err := mcptest.Wait(t, "the proxy to end", r.done); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v", err)
			}
		})
	}
}
