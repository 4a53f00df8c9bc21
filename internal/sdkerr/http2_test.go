package sdkerr_test

import (
	"bytes"
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/sdkerr"
)

// A server that has executed a request can reset it as one that it has not executed, or leave it out of a GOAWAY.
// By itself net/http then sends it again.
func TestHTTP2SendsNoPostASecondTime(t *testing.T) {
	for name, end := range map[string]func(*mcptest.HTTP2Stream){"REFUSED_STREAM": (*mcptest.HTTP2Stream).Refuse, "GOAWAY": (*mcptest.HTTP2Stream).GoAway} {
		for _, c := range []struct {
			name  string
			wrap  func(http.RoundTripper) http.RoundTripper
			twice bool
		}{
			{"without RoundTripper", func(b http.RoundTripper) http.RoundTripper { return b }, true},
			{"with it", sdkerr.RoundTripper, false},
			{"with two of ours", func(b http.RoundTripper) http.RoundTripper { return sdkerr.RoundTripper(sdkerr.RoundTripper(b)) }, false},
			{"with one that adds a header beneath", func(b http.RoundTripper) http.RoundTripper { return sdkerr.RoundTripper(adding("X")(b)) }, false},
		} {
			t.Run(name+" "+c.name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var executed atomic.Int32
				url, transport := mcptest.ServeHTTP2(t, func(s *mcptest.HTTP2Stream) {
					if executed.Add(1) > 1 {
						cancel() // it goes on for a minute
					}
					end(s)
				})
				ctx, w := sdkerr.Watch(ctx)
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(`{"act":1}`)))
				if err != nil {
					t.Fatal(err)
				}
				res, err := (&http.Client{Transport: c.wrap(transport)}).Do(req)
				if err == nil {
					_ = res.Body.Close()
					t.Fatalf("got HTTP %s", res.Status)
				}
				if got := executed.Load(); got > 1 != c.twice || got == 0 {
					t.Errorf("the server executed it %d times (%v)", got, err)
				}
				if !c.twice {
					check(t, sdkerr.Sort(t.Context(), w, "srv", "act", err), unknown)
				}
			})
		}
	}
}
