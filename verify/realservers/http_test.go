package realservers_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/verify/internal/rpc"
)

// serving starts a process that serves HTTP and returns the URL that it prints.
func serving(t *testing.T, l ledger, url string, command ...string) string {
	t.Helper()
	process := exec.CommandContext(t.Context(), command[0], command[1:]...)
	process.Env = append(os.Environ(), l.env())
	r, w := io.Pipe()
	process.Stdout, process.Stderr = w, w
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = w.CloseWithError(process.Wait()) }()
	t.Cleanup(func() {
		_ = process.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, r)
	})
	found := make(chan string, 1)
	var text strings.Builder
	lines := bufio.NewReader(r)
	go func() {
		defer close(found)
		for {
			line, err := lines.ReadString('\n')
			text.WriteString(line)
			if m := regexp.MustCompile(url).FindStringSubmatch(line); m != nil {
				found <- m[1]
				go func() { _, _ = io.Copy(io.Discard, lines) }()
				return
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case at, ok := <-found:
		if !ok {
			t.Fatalf("%s printed no URL:\n%s", command[0], &text)
		}
		return at
	case <-time.After(patience):
		t.Fatalf("%s printed no URL in %v", command[0], patience)
		return ""
	}
}

// post sends one message to a proxy over HTTP and returns the response and its session.
func post(t *testing.T, url, session, body string) (text, of string) {
	t.Helper()
	res, err := rpc.Send(t.Context(), http.DefaultTransport, http.MethodPost, url, session, body)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got), res.Header.Get("Mcp-Session-Id")
}

// A redirector is a gateway on the way to a server. It hands on each call of a dangerous
// tool, and then redirects the client to itself, on the same host.
type redirector struct {
	backend   *httputil.ReverseProxy
	delivered atomic.Int32
}

func (g *redirector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.URL.Path = "/mcp"
	if !bytes.Contains(body, []byte("delete_path")) {
		g.backend.ServeHTTP(w, r)
		return
	}
	g.backend.ServeHTTP(httptest.NewRecorder(), r)
	http.Redirect(w, r, fmt.Sprintf("/again/%d", g.delivered.Add(1)), http.StatusTemporaryRedirect)
}
