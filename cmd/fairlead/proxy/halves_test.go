package proxy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// A breaking server speaks over a socket. Its first connection ends after some bytes of the answer to one method; later
// ones answer everything.
type breaking struct {
	method string
	bytes  int

	mu     sync.Mutex
	conns  int
	called int
}

func (b *breaking) listen(t *testing.T) proxy.Server {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			b.conns++
			first := b.conns == 1
			b.mu.Unlock()
			go b.serve(conn, first)
		}
	}()
	return proxy.Server{Name: "plain", Open: func() (io.ReadWriteCloser, error) {
		return new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	}}
}

// answers are the results of a server with one tool.
func (b *breaking) answer(method string) string {
	switch method {
	case "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
	case "tools/list":
		return `{"tools":[` + deleteThing + `]}`
	case "tools/call":
		b.mu.Lock()
		defer b.mu.Unlock()
		b.called++
		return fmt.Sprintf(`{"content":[{"type":"text","text":"done %d"}]}`, b.called)
	}
	return `{}`
}

func (b *breaking) serve(conn net.Conn, first bool) {
	defer func() { _ = conn.Close() }()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var q mcptest.Request
		if json.Unmarshal(lines.Bytes(), &q) != nil || q.ID == nil {
			continue
		}
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", q.ID, b.answer(q.Method))
		if first && q.Method == b.method {
			_, _ = io.WriteString(conn, line[:min(b.bytes, len(line))])
			return
		}
		_, _ = io.WriteString(conn, line)
	}
}

func (b *breaking) calls() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.called
}

// The connection of a server ends at each byte of its answer to a call. The call is sent once; unless the whole message
// has come, it may or may not have happened, and the same call is held.
func TestHalfAnAnswerAtEveryByte(t *testing.T) {
	t.Parallel()
	const length = len(`{"jsonrpc":"2.0","id":"fairlead-12345678901234567890123456","result":{"content":[{"type":"text","text":"done 1"}]}}`)
	for n := range length + 2 {
		t.Run(fmt.Sprintf("B327: %d bytes", n), func(t *testing.T) {
			t.Parallel()
			b := &breaking{method: "tools/call", bytes: n}
			p, err := proxy.New(proxy.Options{Servers: []proxy.Server{b.listen(t)}, Confirm: approve(true)})
			if err != nil {
				t.Fatal(err)
			}
			c := new(plain).client(t, p)
			first := c.call(deleteOne)
			if whole := strings.Contains(first, "done 1"); whole {
				if n < length-10 {
					t.Errorf("%d bytes are read as %s", n, first)
				}
			} else if !strings.Contains(first, unknown) || n > length {
				t.Errorf("%d bytes are read as %s", n, first)
			} else if again := c.call(deleteOne); !strings.Contains(again, "an earlier call with the same effect") {
				t.Errorf("the same call once more: %s", again)
			}
			if b.calls() != 1 {
				t.Errorf("it was executed %d times", b.calls())
			}
		})
	}
}

// The connection of a server ends at each byte of its list. No tool of the part is listed; the next connection has all.
func TestHalfAListAtEveryByte(t *testing.T) {
	t.Parallel()
	length := len(`{"jsonrpc":"2.0","id":"fairlead-12345678901234567890123456","result":{"tools":[]}}`) + len(deleteThing)
	for n := 0; n < length+2; n += 3 {
		t.Run(fmt.Sprintf("B328: %d bytes", n), func(t *testing.T) {
			t.Parallel()
			b := &breaking{method: "tools/list", bytes: n}
			p, err := proxy.New(proxy.Options{Servers: []proxy.Server{b.listen(t)}, Confirm: approve(true)})
			if err != nil {
				t.Fatal(err)
			}
			c := new(plain).client(t, p)
			got := c.ask(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`, `"list"`)
			if strings.Contains(got, "thing") && !strings.Contains(got, deleteThing) || strings.Contains(got, `"tools":[]`) {
				t.Errorf("after %d bytes the client is shown %s", n, got)
			}
			if got := c.call(deleteOne); !strings.Contains(got, "done 1") || b.calls() != 1 {
				t.Errorf("after %d bytes: %s, %d calls", n, got, b.calls())
			}
		})
	}
}

// A client's message ends at each byte. No call is made before its line has ended.
func TestHalfARequestAtEveryByte(t *testing.T) {
	t.Parallel()
	const line = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_thing","arguments":{"n":1}}}`
	for n := range len(line) {
		t.Run(fmt.Sprintf("B329: %d bytes", n), func(t *testing.T) {
			t.Parallel()
			for _, end := range []string{"", "\n", "\n" + line[:n] + "\n"} {
				s := newPlain(deleteThing)
				r := connectRaw(t, proxy.Options{Servers: []proxy.Server{{Name: "plain", Open: s.open}}, Confirm: approve(true)})
				r.initialize("{}")
				if _, err := io.WriteString(r.in, line[:n]+end); err != nil {
					t.Fatal(err)
				}
				_ = r.in.Close()
				mcptest.Wait(t, "the end", r.done)
				if got := s.calls(); len(got) > 0 {
					t.Errorf("%d bytes and %q were executed as %q", n, end, got)
				}
			}
		})
	}
}

// An answer over HTTP ends at each byte of its body, as JSON and in a stream. The call is sent once, and the same call is
// held unless the whole message has come.
func TestHalfABodyAtEveryByte(t *testing.T) {
	t.Parallel()
	for kind, before := range map[string]string{"application/json": "", "text/event-stream": "event: message\ndata: "} {
		t.Run("B330: "+kind, func(t *testing.T) {
			t.Parallel()
			const result = `{"jsonrpc":"2.0","id":"fairlead-12345678901234567890123456","result":{"content":[{"type":"text","text":"done 1"}]}}`
			for n := 0; n < len(before)+len(result); n += 4 {
				u := newUpstream(t, http.StatusNotFound)
				var sent atomic.Int32
				u.hooked(func(w http.ResponseWriter, m upMessage) bool {
					if m.Method == "resources/read" || m.Method != "tools/call" || sent.Add(1) > 1 {
						return false
					}
					body := before + fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done 1"}]}}`, m.ID)
					conn, _, err := w.(http.Hijacker).Hijack()
					if err != nil {
						t.Error(err)
						return true
					}
					_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(body)+2, body[:min(n, len(body))])
					_ = conn.Close()
					return true
				})
				client := u.client(t, proxy.Options{Confirm: approve(true)})
				if first := client.call(deleteOne); !strings.Contains(first, unknown) {
					t.Errorf("%d bytes are read as %s", n, first)
				}
				if again := client.call(deleteOne); !strings.Contains(again, "an earlier call with the same effect") || sent.Load() != 1 {
					t.Errorf("after %d bytes the same call was sent %d times: %s", n, sent.Load(), again)
				}
			}
		})
	}
}
