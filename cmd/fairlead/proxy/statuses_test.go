package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// turningAway are the statuses by which HTTP turns a request away because of how it was sent: its token, method, size,
// media type or address. One that is not among them may come after the call was executed.
var turningAway = []int{401, 403, 405, 406, 407, 411, 413, 414, 415, 421, 426, 431}

// unlessAnswered are those that turn a request away, but that a server also gives to the error of a call. With a session
// 404 ends it, and the call is made in the next one.
var unlessAnswered = []int{400, 410}

const (
	turned  = "Nothing has happened"
	unknown = "may or may not have happened"
)

// firstOf is what the model reads of a call that was answered by a status with a body.
func firstOf(body string, status int) string {
	none := status == http.StatusNoContent || status == http.StatusNotModified // they have no body
	switch {
	case strings.HasSuffix(body, "an error to the call") && !none:
		return "it failed"
	case strings.HasSuffix(body, "the result of the call") && !none:
		return `"done 1"`
	case slices.Contains(turningAway, status):
		return turned
	case slices.Contains(unlessAnswered, status) && !strings.HasSuffix(body, "the result of another"):
		return turned
	case status == http.StatusTooManyRequests:
		return `"done 1"` // of the next attempt
	}
	return unknown
}

// A call is answered by each status of HTTP, with and without a message. The outcome of a call that the
// server may have executed is unknown, and it is not sent again; one that it has turned away may be made again.
func TestEveryStatusOfHTTP(t *testing.T) {
	t.Parallel()
	statuses := []int{299, 399, 419, 499, 520, 599}
	for status := 200; status < 600; status++ {
		if http.StatusText(status) != "" {
			statuses = append(statuses, status)
		}
	}
	for name, body := range map[string]string{
		"B326: no body":                      "",
		"B326: a text":                       "no thing here",
		"B326: an error to the call":         `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"it failed"}}`,
		"B326: an error to nobody":           `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"it failed"}}`,
		"B326: the result of the call":       `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done 1"}]}}`,
		"B326: the result of another":        `{"jsonrpc":"2.0","id":"other","result":{"content":[{"type":"text","text":"done 1"}]}}`,
		"B326: half of a message":            `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"te`,
		"B326: two messages in one body":     `{"jsonrpc":"2.0","id":%[1]s,"result":{}}{"jsonrpc":"2.0","id":%[1]s,"result":{}}`,
		"B326: a list in place of a message": `[1]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range statuses {
				if status == http.StatusNotFound { // see TestSessionThatTheServerHasEnded
					continue
				}
				u := newUpstream(t, http.StatusNotFound)
				var sent atomic.Int32
				u.hooked(func(w http.ResponseWriter, m upMessage) bool {
					if m.Method != "tools/call" || sent.Add(1) > 1 {
						return false
					}
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					text := body
					if strings.Contains(body, "%") {
						text = fmt.Sprintf(body, m.ID)
					}
					_, _ = io.WriteString(w, text)
					return true
				})
				client := u.client(t, proxy.Options{Confirm: approve(true)})
				first := client.call(deleteOne)
				once := sent.Load()
				again := client.call(deleteOne)
				twice := sent.Load()
				if want := firstOf(name, status); !strings.Contains(first, want) {
					t.Errorf("%d: got %s, want %s", status, first, want)
				}
				attempts, sends := int32(1), 1
				switch {
				case !strings.Contains(first, `"done 1"`) && !slices.Contains(turningAway, status) && !strings.Contains(first, turned):
					sends = 0 // it may have happened
				case status == http.StatusTooManyRequests && !strings.HasSuffix(name, "to the call") && !strings.HasSuffix(name, "of the call"):
					attempts = 2 // it asks to come again
				}
				if once != attempts || twice != attempts+int32(sends) {
					t.Errorf("%d: the call was sent %d times, and the same once more %d times, want %d and %d: %s", status, once, twice-once, attempts, sends, again)
				}
				if held := strings.Contains(again, "an earlier call with the same effect"); held != (sends == 0) {
					t.Errorf("%d: the same call once more: %s", status, again)
				}
			}
		})
	}
}
