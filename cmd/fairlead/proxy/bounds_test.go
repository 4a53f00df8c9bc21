package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
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

// A thousand requests of two servers are open at once, under the same IDs. Each gets the answer that the client gives to
// it, though they are answered in another order.
func TestThousandRequestsOfServersAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("B332: answered the other way round", func(t *testing.T) {
		t.Parallel()
		const each = 500
		a, b, r := twoServers(t, proxy.Options{Confirm: approve(true)})
		answers := make(chan string, 2*each)
		for name, s := range map[string]*plain{"a": a, "b": b} {
			s.answered = func(line string) { answers <- name + " " + line }
		}
		r.initialize(`{"sampling":{}}`)
		go func() {
			for i := range each {
				for name, s := range map[string]*plain{"a": a, "b": b} {
					s.tell(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{"messages":[],"of":"%s %d"}}`, i, name, i))
				}
			}
		}()
		var ids, of []string
		for len(ids) < 2*each {
			if m := r.next(); string(m["method"]) == `"sampling/createMessage"` {
				var params struct{ Of string }
				if err := json.Unmarshal(m["params"], &params); err != nil {
					t.Fatal(err)
				}
				ids, of = append(ids, string(m["id"])), append(of, params.Of)
			}
		}
		for i := range ids {
			i = len(ids) - 1 - i
			r.send(`{"jsonrpc":"2.0","id":` + ids[i] + `,"result":{"to":"` + of[i] + `"}}`)
		}
		got := make(map[string]bool)
		for range 2 * each {
			line := mcptest.Wait(t, "an answer", answers)
			name, message, _ := strings.Cut(line, " ")
			var m struct {
				ID     int
				Result struct{ To string }
			}
			if err := json.Unmarshal([]byte(message), &m); err != nil || m.Result.To != fmt.Sprintf("%s %d", name, m.ID) || got[m.Result.To] {
				t.Fatalf("the server got %s (%v)", line, err)
			}
			got[m.Result.To] = true
		}
	})
}
