package proxy_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// A stream on which a server says nothing may be closed by what lies between, every
// minute for a day; one that closes at once is given up.
func TestSilentStreamIsOpenedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		open time.Duration
		want int
	}{"every minute": {time.Minute, 1000}, "at once": {0, 6}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opened := 0
				proxy.Listen(roundTripper(func(r *http.Request) (*http.Response, error) {
					if opened == 1000 { // it has none any more
						return &http.Response{StatusCode: http.StatusMethodNotAllowed, Body: http.NoBody, Request: r}, nil
					}
					opened++
					body, end := io.Pipe()
					time.AfterFunc(c.open, func() { _ = end.Close() })
					return &http.Response{
						StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r,
					}, nil
				}))
				if opened != c.want {
					t.Errorf("it was opened %d times, want %d", opened, c.want)
				}
			})
		})
	}
}
