package proxy_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// An upstream is a server over streamable HTTP with sessions. A hook may answer a request in its place.
type upstream struct {
	*httptest.Server

	gone int // the status for a session that it does not know

	mu       sync.Mutex
	sessions map[string]bool
	greeted  int
	executed []string
	hook     func(w http.ResponseWriter, m upMessage) bool
}

type upMessage struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

func newUpstream(t testing.TB, gone int) *upstream {
	t.Helper()
	u := &upstream{gone: gone, sessions: make(map[string]bool)}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m upMessage
	body, _ := io.ReadAll(r.Body)
	if json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	u.mu.Lock()
	hook, known := u.hook, u.sessions[r.Header.Get("Mcp-Session-Id")]
	u.mu.Unlock()
	switch {
	case hook != nil && hook(w, m):
	case m.Method == "initialize":
		id := rand.Text()
		u.mu.Lock()
		u.sessions[id] = true
		u.greeted++
		u.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", id)
		u.reply(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"up","version":"1"}}`)
	case !known:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(u.gone)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no such session here"}}`)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/list":
		u.reply(w, m, `{"tools":[`+strings.Join([]string{deleteThing, readThing}, ",")+`]}`)
	case m.Method == "tools/call":
		u.mu.Lock()
		u.executed = append(u.executed, string(m.Params))
		n := len(u.executed)
		u.mu.Unlock()
		u.reply(w, m, fmt.Sprintf(`{"content":[{"type":"text","text":"done %d"}]}`, n))
	default:
		u.reply(w, m, `{"method":"`+m.Method+`"}`)
	}
}

func (*upstream) reply(w http.ResponseWriter, m upMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// forget ends all sessions, as a restart of the server does.
func (u *upstream) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.sessions)
}

// hooked sets the hook.
func (u *upstream) hooked(hook func(w http.ResponseWriter, m upMessage) bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hook = hook
}

// counts returns how often a session was begun, and the params of the calls that were executed.
func (u *upstream) counts() (greeted int, executed []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.greeted, append([]string(nil), u.executed...)
}

// client is a client before a proxy before the upstream.
func (u *upstream) client(t *testing.T, o proxy.Options) *lineClient {
	t.Helper()
	o.Servers = []proxy.Server{{Name: "up", URL: u.URL}}
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return new(plain).client(t, p)
}
