package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// A server that asks its client again and again fills its own share: further requests are answered with an error, and
// those of another server reach the client.
func TestServerThatAsksWithoutEnd(t *testing.T) {
	t.Parallel()
	refused := make(chan string, 2000)
	a, b, r := twoServers(t, proxy.Options{Confirm: approve(true)})
	b.answered = func(line string) {
		if strings.Contains(line, `"error"`) {
			refused <- line
		}
	}
	r.initialize(`{"sampling":{}}`)
	go func() {
		for i := range 1500 {
			b.tell(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{"messages":[],"n":%d}}`, i, i))
		}
		b.say("notifications/message", ownMessage)
	}()
	asked := 0
	for _, m := range r.methods() {
		if strings.Contains(m, "sampling/createMessage") {
			asked++
		}
	}
	until(t, "the refusals", func() bool { return len(refused) == 500 })
	if asked != 1000 {
		t.Errorf("the client got %d requests", asked)
	}
	if line := <-refused; !strings.Contains(line, "1000 requests of this server to answer") {
		t.Errorf("the server got %s", line)
	}
	a.tell(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[]}}`)
	a.say("notifications/message", ownMessage)
	if got := r.methods(); len(got) != 1 {
		t.Errorf("of the other server the client got %q", got)
	}
}

// A late is the writer and the body of a request whose body does not come: reading it ends at the deadline.
type late struct {
	recorder

	deadline chan time.Time
}

func (l *late) SetReadDeadline(at time.Time) error {
	if !at.IsZero() {
		l.deadline <- at
	}
	return nil
}

func (l *late) Read([]byte) (int, error) {
	time.Sleep(time.Until(<-l.deadline))
	return 0, os.ErrDeadlineExceeded
}

// A request whose body does not come is not kept for ever.
func TestBodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &late{recorder{header: make(http.Header)}, make(chan time.Time, 1)}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", io.Reader(l))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		began := time.Now()
		newPlain(deleteThing).proxy(t, proxy.Options{}).Handler(t.Context()).ServeHTTP(l, req)
		if took := time.Since(began); l.status != http.StatusRequestTimeout || took != time.Minute {
			t.Errorf("status %d after %v", l.status, took)
		}
	})
}
