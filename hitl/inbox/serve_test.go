package inbox_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/hitl/inbox"
)

// listen serves an inbox on a real socket.
func listen(t *testing.T, in *inbox.Inbox) (origin string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, stopped := make(chan string, 1), make(chan error, 1)
	go func() { stopped <- in.ListenAndServe(ctx, "127.0.0.1:0", func(origin string) { ready <- origin }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	select {
	case origin = <-ready:
	case err := <-stopped:
		t.Fatal(err)
	}
	return origin
}

func TestListenAndServeIsForThisMachine(t *testing.T) {
	t.Parallel()
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:80", "127.0.0.1", ""} {
		ctx, stop := context.WithCancel(t.Context())
		err := inbox.New(inbox.Options{}).ListenAndServe(ctx, address, func(string) {
			t.Errorf("%q is served", address)
			stop()
		})
		stop()
		if err == nil || !strings.HasPrefix(err.Error(), "inbox: ") {
			t.Errorf("%q: got error %v", address, err)
		}
	}
}
