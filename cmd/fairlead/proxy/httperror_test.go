package proxy_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

const deleteOne = `{"name":"delete_thing","arguments":{"id":1}}`

// A call that HTTP has turned away did not happen: the model reads so, the same call is not held, and the log has the
// server's reason.
func TestCallThatHTTPTurnsAwayIsNotUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     int
		body, told string
	}{
		{401, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"refused before it ran"}}`, "did not accept the token"},
		{401, `{"error":"invalid_token","error_description":"refused before it ran"}`, "did not accept the token"},
		{403, "refused before it ran", "does not let this client"},
		{413, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"refused before it ran"}}`, "too long"},
		{415, "refused before it ran", "HTTP 415"},
		{400, "refused before it ran", "HTTP 400"},
	} {
		t.Run(fmt.Sprint(c.status, c.body), func(t *testing.T) {
			t.Parallel()
			u, log := newUpstream(t, http.StatusNotFound), newLines(t)
			var refused atomic.Int32
			u.hooked(func(w http.ResponseWriter, m upMessage) bool {
				if m.Method != "tools/call" || refused.Add(1) > 1 {
					return false
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
				return true
			})
			client := u.client(t, proxy.Options{Confirm: approve(true), Logger: slog.New(slog.NewTextHandler(log, nil))})
			first := client.call(deleteOne)
			if !strings.Contains(first, "was not called") || !strings.Contains(first, c.told) || !strings.Contains(first, "Nothing has happened") {
				t.Errorf("the model is told %s", first)
			}
			if !strings.Contains(log.String(), "refused before it ran") {
				t.Error("the log lacks the server's reason")
			}
			if again := client.call(deleteOne); !strings.Contains(again, "done 1") {
				t.Errorf("the same call again: %s", again)
			}
			if greeted, executed := u.counts(); greeted != 1 || len(executed) != 1 {
				t.Errorf("%d sessions, executed %q", greeted, executed)
			}
		})
	}
}

// A read may have been executed, is repeated since that is harmless, and is turned away then. The model reads of both
// attempts, and not that nothing has happened.
func TestReadThatIsTurnedAwayWhenItIsRepeated(t *testing.T) {
	t.Parallel()
	for status, told := range map[int]string{
		http.StatusUnauthorized: "did not accept the token", http.StatusForbidden: "does not let this client",
		http.StatusRequestEntityTooLarge: "too long", http.StatusUnsupportedMediaType: "HTTP 415",
	} {
		t.Run(fmt.Sprintf("B421: %d after 502", status), func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t, http.StatusNotFound)
			var sent atomic.Int32
			u.hooked(func(w http.ResponseWriter, m upMessage) bool {
				switch {
				case m.Method != "tools/call":
					return false
				case sent.Add(1) == 1:
					w.WriteHeader(http.StatusBadGateway)
				default:
					w.WriteHeader(status)
				}
				return true
			})
			got := u.client(t, proxy.Options{}).call(`{"name":"read_thing","arguments":{"id":1}}`)
			if sent.Load() != 2 || !strings.Contains(got, "read_thing may have run, but no result came") || !strings.Contains(got, told) {
				t.Errorf("it was sent %d times, and the model is told %s", sent.Load(), got)
			}
			if strings.Contains(got, "Nothing has happened") || strings.Contains(got, "not called") {
				t.Errorf("the model is told of the last attempt alone: %s", got)
			}
		})
	}
}

// What HTTP may have given after the call began is unknown.
func TestCallThatHTTPFailsIsUnknown(t *testing.T) {
	t.Parallel()
	for _, status := range []int{408, 409, 500, 502, 504} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t, http.StatusNotFound)
			u.hooked(func(w http.ResponseWriter, m upMessage) bool {
				if m.Method == "tools/call" {
					w.WriteHeader(status)
				}
				return m.Method == "tools/call"
			})
			client := u.client(t, proxy.Options{Confirm: approve(true)})
			if got := client.call(deleteOne); !strings.Contains(got, "may or may not have happened") {
				t.Errorf("got %s", got)
			}
		})
	}
}

// A session that the server has ended is opened anew, and what it turned away is made in the next one: each call
// once, whatever its class, and any number of them at once.
func TestSessionThatTheServerHasEnded(t *testing.T) {
	t.Parallel()
	for _, gone := range []int{http.StatusNotFound, http.StatusBadRequest} {
		t.Run(fmt.Sprint(gone), func(t *testing.T) {
			t.Parallel()
			u, log := newUpstream(t, gone), newLines(t)
			client := u.client(t, proxy.Options{Confirm: approve(true), Logger: slog.New(slog.NewTextHandler(log, nil))})
			client.call(deleteOne)
			for round := range 3 {
				u.forget()
				var calling sync.WaitGroup
				for i := range 10 {
					calling.Go(func() {
						if got := client.call(fmt.Sprintf(`{"name":"delete_thing","arguments":{"id":"%d-%d"}}`, round, i)); !strings.Contains(got, "done ") {
							t.Errorf("a write: %s", got)
						}
					})
				}
				calling.Go(func() {
					id := fmt.Sprint("read-", round)
					got := client.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"resources/read","params":{"uri":"x://y"}}`, id), fmt.Sprintf("%q", id))
					if !strings.Contains(got, `{"method":"resources/read"}`) {
						t.Errorf("what passes: %s", got)
					}
				})
				calling.Wait()
			}
			greeted, executed := u.counts()
			if len(executed) != 31 || greeted != 4 {
				t.Errorf("%d calls were executed in %d sessions, want 31 in 4", len(executed), greeted)
			}
			if !strings.Contains(log.String(), "no such session here") {
				t.Error("the log lacks the server's reason")
			}
		})
	}
}

// A call that the next session turns away too was not made, and is not tried for ever.
func TestServerThatKnowsNoSession(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, http.StatusNotFound)
	client := u.client(t, proxy.Options{Confirm: approve(true)})
	client.call(deleteOne)
	u.hooked(func(w http.ResponseWriter, m upMessage) bool {
		if m.Method == "tools/call" {
			w.WriteHeader(http.StatusNotFound)
		}
		return m.Method == "tools/call"
	})
	got := client.call(deleteOne)
	if !strings.Contains(got, "was not called") || strings.Contains(got, "may or may not") {
		t.Errorf("the model is told %s", got)
	}
	if _, executed := u.counts(); len(executed) != 1 {
		t.Errorf("executed %q", executed)
	}
}
