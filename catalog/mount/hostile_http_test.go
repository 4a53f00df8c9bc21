package mount_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
)

// A hostile answer to one call, after the server has executed it or before.
type hostile func(w http.ResponseWriter, r *http.Request, id []byte)

func status(code int, retryAfter string) hostile {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		http.Error(w, "no", code)
	}
}

// says answers 200 with a body; it replaces ID by the id of the call.
func says(contentType, body string) hostile {
	return func(w http.ResponseWriter, _ *http.Request, id []byte) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", string(id)))
	}
}

// hangUp closes the connection, after some bytes of an answer.
func hangUp(linger int, raw string) hostile {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_ = conn.(*net.TCPConn).SetLinger(linger)
		_, _ = io.WriteString(conn, raw)
		_ = conn.Close()
	}
}

const (
	asJSON   = "application/json"
	asStream = "text/event-stream"
	answerID = `{"jsonrpc":"2.0","id":ID,"result":` + fine + `}`
)

// A server that misbehaves behind a real socket. It got every call whole; one that
// it refused before execution is not counted as executed.
func TestHostileHTTP(t *testing.T) {
	const unknown, answered, failed = "unknown", "answered", "failed"
	for _, c := range []struct {
		trial
		spoil    hostile
		executes bool
		silent   bool // nothing that answers the call will come
	}{
		{trial{"B125 EOF after execution", unknown, 1, answered, 2, false}, hangUp(-1, ""), true, false},
		{trial{"TCP reset after execution", unknown, 1, answered, 2, false}, hangUp(0, ""), true, false},
		{trial{"half a status line", unknown, 1, answered, 2, false}, hangUp(-1, "HTTP/1.1 20"), true, false},
		{trial{"no HTTP", unknown, 1, answered, 2, false}, hangUp(-1, "SSH-2.0-OpenSSH\r\n"), true, false},
		{trial{"500", unknown, 1, answered, 2, false}, status(500, ""), true, false},
		{trial{"502", unknown, 1, answered, 2, false}, status(502, ""), true, false},
		{trial{"503", unknown, 1, answered, 2, false}, status(503, ""), true, false},
		{trial{"503 for a day", unknown, 1, failed, 1, false}, status(503, "86400"), true, false},
		{trial{"504", unknown, 1, answered, 2, false}, status(504, ""), true, false},
		{trial{"429", answered, 1, answered, 1, false}, status(429, ""), false, false},
		{trial{"B133 429 for a day", "refused", 0, "refused", 0, false}, status(429, "86400"), false, false},
		{trial{"401", "refused", 0, "refused", 0, true}, status(401, ""), false, false},
		{trial{"404", "refused", 0, "refused", 0, true}, status(404, ""), false, false},
		{trial{"400 with a JSON-RPC error", "final", 1, "final", 1, false}, func(w http.ResponseWriter, _ *http.Request, id []byte) {
			w.Header().Set("Content-Type", asJSON)
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"x"}}`, id)
		}, true, false},
		{trial{"202 and words", unknown, 1, "failed", 1, true}, status(202, ""), true, false},
		{trial{"no body", unknown, 1, "failed", 1, true}, says(asJSON, ""), true, false},
		{trial{"half of the answer", unknown, 1, "failed", 1, true}, hangUp(-1, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\""), true, false},
		{trial{"a page", unknown, 1, "failed", 1, true}, says("text/html", "<html>"), true, false},
		{trial{"rubbish", unknown, 1, "failed", 1, true}, says(asJSON, "<html>"), true, false},
		{trial{"another id", unknown, 1, answered, 2, false}, says(asJSON, strings.ReplaceAll(answerID, "ID", "987654")), true, true},
		{trial{"the id as a text", unknown, 1, answered, 2, false}, says(asJSON, strings.ReplaceAll(answerID, "ID", `"ID"`)), true, true},
		{trial{"an empty stream", unknown, 1, answered, 2, false}, says(asStream, ""), true, false},
		{trial{"a stream of comments", unknown, 1, answered, 2, false}, says(asStream, ": nothing\n\n: nothing\n\n"), true, false},
		{trial{"a stream cut in its event", unknown, 1, "failed", 1, true}, says(asStream, "data: {\"jsonrpc\":\"2.0\","), true, false},
		{trial{"a stream of rubbish", unknown, 1, "failed", 1, true}, says(asStream, "data: <html>\n\n"), true, false},
		{trial{"a stream with another id", unknown, 1, answered, 2, false}, says(asStream, "data: "+strings.ReplaceAll(answerID, "ID", "987654")+"\n\n"), true, false},
		{trial{"a stream with the answer twice", answered, 1, answered, 1, false}, says(asStream, strings.Repeat("data: "+answerID+"\n\n", 2)), true, false},
		{trial{"a stream with the answer", answered, 1, answered, 1, false}, says(asStream, "data: "+answerID+"\n\n"), true, false},
		{trial{"a result of 4 MB", answered, 1, answered, 1, false}, func(w http.ResponseWriter, r *http.Request, id []byte) {
			says(asJSON, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[{"type":"text","text":"`+strings.Repeat("x", 4<<20)+`"}]}}`)(w, r, id)
		}, true, false},
		{trial{"B121 a value nested 9,000 deep", unknown, 1, "failed", 1, true},
			says(asJSON, `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"a":`+nested(9000)+`}}}`), true, false},
		{trial{"B121 the same in a stream", unknown, 1, "failed", 1, true},
			says(asStream, `data: {"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"a":`+nested(9000)+`}}}`+"\n\n"), true, false},
		{trial{"a redirect to nowhere", unknown, 1, answered, 2, false}, func(w http.ResponseWriter, r *http.Request, _ []byte) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version string) {
				c := c
				if c.name == "404" && version < mcptest.Modern { // it ended the session, which the next attempt finds
					c.write, c.read = "not sent", "not sent"
				}
				c.run(t, func(test func(*testing.T)) func(*testing.T) { return test }, func(t *testing.T) (middleware.ToolCaller, func() int) {
					perAttempt := 10 * time.Second
					if c.silent {
						perAttempt = time.Second // of a real clock
					}
					return overHTTP(t, version, perAttempt, c.executes, c.spoil)
				})
			})
		})
	}
}

// overHTTP connects a whole chain to a server that spoils its first answer to a
// call. Where that one was not executed it does not count.
func overHTTP(t *testing.T, version string, perAttempt time.Duration, executes bool, spoil hostile) (middleware.ToolCaller, func() int) {
	t.Helper()
	transport, h := mcptest.HTTPTransport(t, newBackend().server, version)
	transport.HTTPClient.Transport = mount.RoundTripper(transport.HTTPClient.Transport)
	cs := mcptest.Dial(t, nil, transport, version)
	var spoilt atomic.Bool
	var executed atomic.Int32
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var call mcptest.Request
		if json.Unmarshal(body, &call) != nil || call.Method != "tools/call" {
			return false
		}
		if !spoilt.CompareAndSwap(false, true) {
			executed.Add(1)
			return false
		}
		if executes {
			executed.Add(1)
		}
		spoil(w, r, call.ID)
		return true
	})
	return wholeWith(cs, &person{says: hitl.Approved}, perAttempt), func() int { return int(executed.Load()) }
}

// The session that a server has ended by one 404 cannot be opened anew beneath a chain. Each later call is one that was not
// sent, and the model reads what has ended and who can mend it.
func TestCallsAfterTheServerHasEndedTheSession(t *testing.T) {
	t.Parallel()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			caller, executed := overHTTP(t, version, 10*time.Second, false, status(http.StatusNotFound, ""))
			_, _ = caller.CallTool(mcptest.Context(t), middleware.Call{Scope: "ann", Tool: unclassed(t, "srv", "delete_file")})
			for range 2 {
				_, err := caller.CallTool(mcptest.Context(t), middleware.Call{Scope: "ann", Tool: unclassed(t, "srv", "list_notes")})
				if told := middleware.ForModel(err); !middleware.NotSent(err) || !strings.Contains(told, "The connection to its server has ended.") {
					t.Errorf("got %v; the model reads %q", err, told)
				}
			}
			if n := executed(); n != 0 {
				t.Errorf("%d calls were executed", n)
			}
		})
	}
}
