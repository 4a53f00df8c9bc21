package command

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A probed is a program that serves, with what it has logged.
type probed struct {
	base string // of its address

	mu   sync.Mutex
	text strings.Builder
}

func (p *probed) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// probe starts the program and returns once it answers probes.
func probe(t *testing.T, env []string, args ...string) *probed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), programtest.Path(t), append([]string{"proxy", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, at := new(probed), make(chan string, 10)
	go func() {
		defer close(at)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			p.text.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			if _, url, ok := strings.Cut(lines.Text(), " at http://"); ok {
				at <- "http://" + url[:strings.LastIndexByte(url, '/')]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		for range at { // until the log has ended
		}
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(p.log())
		}
	})
	p.base = mcptest.Wait(t, "the program to answer", at)
	return p
}

// until waits until /readyz has a status, also at the address where the program serves after its start, and
// returns the code and what is away.
func (p *probed) until(t *testing.T, want string) (code int, away map[string]string) {
	t.Helper()
	var last string
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); {
		if _, rest, ok := strings.Cut(p.log(), "serving MCP at "); ok {
			url, _, _ := strings.Cut(rest, "\n")
			p.base = strings.TrimSuffix(url, "/mcp")
		}
		res, err := http.Get(p.base + "/readyz")
		if err != nil {
			continue // it goes on to serve
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		var body struct {
			Status       string
			Dependencies []struct{ Name, Status, Refused string }
		}
		if err != nil || json.Unmarshal(text, &body) != nil {
			t.Fatalf("got %s, %v", text, err)
		}
		if last = string(text); body.Status != want {
			continue
		}
		away = make(map[string]string)
		for _, d := range body.Dependencies {
			if d.Status == "away" {
				away[d.Name] = d.Refused
			}
		}
		return res.StatusCode, away
	}
	t.Fatalf("got %s, want %s", last, want)
	return 0, nil
}

// notes is a server over HTTP.
func notes(t *testing.T) string {
	t.Helper()
	server := mcptest.New()
	mcptest.Add(server, mcptest.Tool("list_notes", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return mcptest.Text("a"), nil })
	at, _ := mcptest.HTTPTransport(t, server, mcptest.Legacy)
	return at.Endpoint
}

// A proxy that starts while its store is away waits for it, and reports its outages afterwards, with one line at the
// begin and one at the end of each, at the default level.
func TestStoreThatIsAway(t *testing.T) {
	t.Parallel()
	red := redistest.New(t)
	for name, c := range map[string]struct {
		dependency string
		flags      []string
		kill       func()
		start      func() error
	}{
		"Redis":      {depRedis, []string{"--store", red.URL()}, red.Kill, red.Start},
		"PostgreSQL": {depPostgres, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.kill == nil {
				db := postgrestest.New(t)
				c.flags, c.kill, c.start = []string{"--approvals", db.URL()}, db.Kill, db.Start
			}
			c.kill()
			p := probe(t, []string{keyVariable + "=" + strings.Repeat("0f", 32)}, append(c.flags, notes(t))...)
			code, away := p.until(t, "starting")
			if code != http.StatusServiceUnavailable || !strings.Contains(away[c.dependency], "calls that need an approval") {
				t.Errorf("at the start: got %d %q", code, away)
			}
			for path, want := range map[string]int{"/healthz": http.StatusOK, "/mcp": http.StatusServiceUnavailable} {
				res, err := http.Post(p.base+path, "application/json", strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				if _ = res.Body.Close(); res.StatusCode != want || want != http.StatusOK && res.Header.Get("Retry-After") == "" {
					t.Errorf("%s at the start: got %d", path, res.StatusCode)
				}
			}
			if err := c.start(); err != nil {
				t.Fatal(err)
			}
			if code, away := p.until(t, "ok"); code != http.StatusOK || len(away) > 0 {
				t.Errorf("after the start: got %d %q", code, away)
			}
			c.kill()
			if code, away := p.until(t, "degraded"); code != http.StatusOK || away[c.dependency] == "" {
				t.Errorf("in an outage: got %d %q", code, away)
			}
			if err := c.start(); err != nil {
				t.Fatal(err)
			}
			p.until(t, "ok")
			for strings.Count(p.log(), "health: a dependency is back") < 2 && t.Context().Err() == nil { // the line comes after the state
				runtime.Gosched()
			}
			for _, line := range []string{"health: a dependency is away", "health: a dependency is back"} {
				if got := strings.Count(p.log(), line); got != 2 {
					t.Errorf("%d times %q, want 2", got, line)
				}
			}
		})
	}
}

// A proxy that starts while the issuer of its tokens is away waits for it: probes are answered, a call is refused as one of
// an outage and not of its token, and afterwards the same token counts.
func TestIssuerThatIsAwayAtTheStart(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}}, Algorithms: []string{oidc.ES256}}
	var there atomic.Bool
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !there.Load() {
			panic(http.ErrAbortHandler) // the connection ends without an answer
		}
		keys.ServeHTTP(w, r)
	}))
	t.Cleanup(issuer.Close)
	keys.SetIssuer(issuer.URL)
	file := filepath.Join(t.TempDir(), "access.json")
	text := fmt.Sprintf(`{"hosts": ["127.0.0.1"], "tokens": {"issuer": %q, "audience": "here"}}`, issuer.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	token := oidctest.SignIDToken(key, "k", oidc.ES256, fmt.Sprintf(`{"iss":%q,"aud":"here","sub":"ann","exp":%d}`, issuer.URL, time.Now().Add(time.Hour).Unix()))
	p := probe(t, nil, "--access", file, notes(t))
	hello := func() (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+"/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header.Get("Retry-After") + " " + string(body)
	}
	if code, away := p.until(t, "starting"); code != http.StatusServiceUnavailable || away[depIssuer] != withoutKeys {
		t.Errorf("at the start: got %d %q", code, away)
	}
	if code, said := hello(); code != http.StatusServiceUnavailable || !strings.HasPrefix(said, "15 ") || !strings.Contains(said, "nothing was called") {
		t.Errorf("a call at the start: got %d %s", code, said)
	}
	there.Store(true)
	if code, away := p.until(t, "ok"); code != http.StatusOK || len(away) > 0 {
		t.Errorf("after the start: got %d %q", code, away)
	}
	if code, said := hello(); code != http.StatusOK {
		t.Errorf("a call after the start: got %d %s", code, said)
	}
	for _, line := range []string{"health: a dependency is away", "health: a dependency is back"} {
		if got := strings.Count(p.log(), line); got != 1 {
			t.Errorf("%d times %q, want 1", got, line)
		}
	}
}

// A record that was cut off is reported before a call meets it.
func TestRecordThatIsBroken(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	p := probe(t, nil, "--audit", name, notes(t))
	p.until(t, "ok")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if code, away := p.until(t, "degraded"); code != http.StatusOK || !strings.Contains(away[depRecord], "dangerous calls") {
		t.Errorf("got %d %q", code, away)
	}
}

// Settings that time does not mend end the start.
func TestStartDoesNotWaitForSettings(t *testing.T) {
	t.Parallel()
	red := redistest.New(t, "--requirepass", "x")
	server := "lists"
	code, _, said := runs(t, programtest.Path(t), server, "proxy", "--listen", "127.0.0.1:0", "--"+plainFlag, "--store", red.URL(), "--", "SERVER")
	if code == 0 || !strings.Contains(said, "rejects the user or password") {
		t.Errorf("got %d %s", code, said)
	}
	wrong := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(wrong.Close)
	file := filepath.Join(t.TempDir(), "access.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"hosts": ["127.0.0.1"], "tokens": {"issuer": %q, "audience": "here"}}`, wrong.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, said = runs(t, programtest.Path(t), server, "proxy", "--listen", "127.0.0.1:0", "--access", file, "--", "SERVER")
	if code == 0 || !strings.Contains(said, "the issuer of the tokens: 404 Not Found") {
		t.Errorf("got %d %s", code, said)
	}
}

// After a record that was not written, a disk without room for another one keeps the record away, although the file can be
// read. What looks for room leaves nothing behind.
func TestRecordIsBackOnceThereIsRoom(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, err := audit.OpenFile(filepath.Join(folder, "calls.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	full := &recording{name: filepath.Join(folder, "full", "calls.jsonl"), file: file} // in a folder that takes no files
	if err := full.healthy(t.Context()); err != nil {
		t.Errorf("before a record has failed: %v", err)
	}
	full.failed.Store(true)
	if full.healthy(t.Context()) == nil {
		t.Error("the record counts as back while nothing can be written")
	}
	if err := os.Mkdir(filepath.Join(folder, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := full.healthy(t.Context()); err != nil {
		t.Errorf("once there is room: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(folder, "full")); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}
