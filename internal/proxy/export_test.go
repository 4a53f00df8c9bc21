package proxy

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
)

// Listen opens the stream of what a server says on its own, through a transport, again
// and again until it is given up.
func Listen(through http.RoundTripper) {
	r := newRemote(Server{Name: "a", URL: "http://a"}, slog.New(slog.DiscardHandler), sink{})
	r.client.Transport = through
	r.listen()
}

// Cancelled makes a request of a server without sessions and cancels it at once. It
// returns what came of it.
func Cancelled(t testing.TB, through http.RoundTripper) error {
	t.Helper()
	failed := make(chan error, 1)
	r := newRemote(Server{Name: "a", URL: "http://a"}, slog.New(slog.DiscardHandler), sink{failed: func(_ string, err error) { failed <- err }})
	r.client.Transport = through
	for _, text := range []string{
		`{"id":1,"method":"tools/list"}`,
		`{"method":"notifications/cancelled","params":{"requestId":1}}`,
	} {
		m, err := parseOne([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.send(context.Background(), m); err != nil {
			t.Fatal(err)
		}
	}
	return <-failed
}
