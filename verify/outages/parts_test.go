//go:build unix

package outages

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An issuer signs the tokens of users.
type issuer struct {
	url string
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}}, Algorithms: []string{oidc.ES256}}
	served := httptest.NewServer(s)
	t.Cleanup(served.Close)
	s.SetIssuer(served.URL)
	return &issuer{served.URL, key}
}

func (i *issuer) token(user string) string {
	return oidctest.SignIDToken(i.key, "k", oidc.ES256, fmt.Sprintf(`{"iss":%q,"aud":"here","sub":%q,"exp":%d}`, i.url, user, time.Now().Add(time.Hour).Unix()))
}

// A ledger is the server, which notes what it has executed.
type ledger struct {
	url   string
	moody atomic.Bool // it loses answers after the effect, and answers with 500 before it

	mu    sync.Mutex
	times map[string]int // by the id
	reads int
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{times: make(map[string]int)}
	server := mcptest.New()
	yes, no := true, false
	for name, hints := range map[string]*mcp.ToolAnnotations{
		"get_item": {ReadOnlyHint: true, OpenWorldHint: &no}, "add_item": {DestructiveHint: &no, OpenWorldHint: &no}, "delete_item": {DestructiveHint: &yes, OpenWorldHint: &no},
	} {
		tool := mcptest.Tool(name, "")
		tool.Annotations = hints
		mcptest.Add(server, tool, func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			var a struct{ ID string }
			if err := json.Unmarshal(arguments, &a); err != nil {
				return nil, err
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if name == "get_item" {
				l.reads++
			} else {
				l.times[a.ID]++
			}
			return mcptest.Text("done " + a.ID), nil
		})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if l.moody.Load() && bytes.Contains(body, []byte(`"tools/call"`)) {
			switch mathrand.IntN(4) {
			case 0:
				http.Error(w, "not now", http.StatusInternalServerError)
				return
			case 1: // the effect happens, and its answer is lost
				handler.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		served.CloseClientConnections()
		served.Close()
	})
	l.url = served.URL
	return l
}

// A replica is a process of the proxy.
type replica struct {
	t          *testing.T
	at, record string
	args       []string

	mu   sync.Mutex
	cmd  *exec.Cmd
	peak int // MiB
	log  bytes.Buffer
}

func (p *replica) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = exec.CommandContext(context.Background(), program, p.args...)
	p.cmd.Env = append(os.Environ(), "FAIRLEAD_STORE_KEY="+strings.Repeat("ab", 32))
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// signal ends the process by a signal, and waits for its end.
func (p *replica) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.measure()
	_ = p.cmd.Process.Signal(s)
	_ = p.cmd.Wait()
}

func (p *replica) send(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.cmd.Process.Signal(s)
}

func (p *replica) suspend() { p.send(syscall.SIGSTOP) }
func (p *replica) resume()  { p.send(syscall.SIGCONT) }
func (p *replica) hangUp()  { p.send(syscall.SIGHUP) }

// measure keeps the most memory that a process of the replica has had.
func (p *replica) measure() {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text); m != nil {
		kb, _ := strconv.Atoi(string(m[1]))
		p.peak = max(p.peak, kb>>10)
	}
}

func (p *replica) end() {
	p.signal(syscall.SIGTERM)
	if p.t.Failed() {
		text := p.log.String()
		p.t.Logf("the log of %s:\n%s", filepath.Base(filepath.Dir(p.record)), text[max(0, len(text)-20_000):])
	}
}

// readyz returns the status of the replica.
func (p *replica) readyz() string {
	c := &http.Client{Timeout: 5 * time.Second}
	res, err := c.Get("http://" + p.at + "/readyz")
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	var body struct{ Status string }
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		return err.Error()
	}
	return body.Status
}
