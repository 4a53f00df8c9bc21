package mount

import (
	"net/http"

	"github.com/fairlead-go/fairlead/internal/sdkerr"
)

// RoundTripper prepares the HTTP client of a session, before it connects:
//
//	&mcp.StreamableClientTransport{
//		Endpoint:   url,
//		HTTPClient: &http.Client{Transport: mount.RoundTripper(nil)},
//	}
//
// With it an error says what the SDK drops: the status, and how long the server
// asked to be left alone (Retry-After). HTTP 429 counts as refused before
// execution where one request was all that was sent. HTTP 503 does not, since a
// server may have begun before it gave up; its Retry-After paces the repetition
// of what may be repeated.
//
// It also keeps net/http from sending a POST a second time by itself when the
// connection breaks, which it does for requests with an Idempotency-Key header,
// whoever added it: that is for the chain to decide. What certainly did not
// arrive it still sends again.
//
// It goes around transports of the host's that add headers or log, and inside one
// that repeats. A nil base is http.DefaultTransport.
func RoundTripper(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return sdkerr.RoundTripper(base)
}
