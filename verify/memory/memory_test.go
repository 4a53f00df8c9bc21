// Package memory measures how much memory the built proxy has under load, and checks that it stays within its limit.
package memory

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/verify/internal/repo"
	"github.com/fairlead-go/fairlead/verify/internal/rpc"
)

var program string // that was built

func TestMain(m *testing.M) { os.Exit(repo.WithProgram(m.Run, &program)) }

// A proxy is a process of the program in front of a server over HTTP.
type proxy struct {
	url string
	cmd *exec.Cmd
}

// start starts the program with a memory limit of Go in MiB, 0 for none.
func start(t *testing.T, upstream string, limit int, args ...string) *proxy {
	t.Helper()
	if err := repo.DependsOnCode(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("SKIPPED: this system has no /proc, where the memory of a process is read")
	}
	cmd := exec.CommandContext(t.Context(), program, append(append([]string{"proxy", "--listen", "127.0.0.1:0", "--approve", "elicit"}, args...), upstream)...)
	if limit > 0 {
		cmd.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%dMiB", limit))
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, over := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(over)
		defer close(address)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if _, url, ok := strings.Cut(lines.Text(), "serving MCP at "); ok {
				address <- url
				continue
			}
			fmt.Fprintln(t.Output(), lines.Text())
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-over
		_ = cmd.Wait()
	})
	url := mcptest.Wait(t, "the address of the proxy", address)
	if url == "" {
		t.Fatal("the proxy does not serve")
	}
	return &proxy{url, cmd}
}

// peak returns the most memory that the process has had, as the kernel counts it, in MiB.
func (p *proxy) peak(t *testing.T) int { return p.status(t, "VmHWM:") }

// resident returns the memory that the process has now, in MiB.
func (p *proxy) resident(t *testing.T) int { return p.status(t, "VmRSS:") }

func (p *proxy) status(t *testing.T, field string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), field)
	if !found {
		t.Fatalf("there is no %s in\n%s", field, text)
	}
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb >> 10
}

// post sends a message in a session, "" for none, and returns the session of the answer, its status and how long its body
// is. The body is not kept.
func (p *proxy) post(t *testing.T, session, message string) (of string, status int, size int64) {
	t.Helper()
	res, err := rpc.Send(t.Context(), http.DefaultTransport, http.MethodPost, p.url, session, message)
	if err != nil {
		t.Error(err)
		return "", 0, 0
	}
	defer res.Body.Close()
	if size, err = io.Copy(io.Discard, res.Body); err != nil {
		t.Error(err)
	}
	return res.Header.Get("Mcp-Session-Id"), res.StatusCode, size
}

// open begins a session and lists the tools.
func (p *proxy) open(t *testing.T) (session string) {
	t.Helper()
	session, status, _ := p.post(t, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if status != http.StatusOK {
		t.Fatalf("a session was answered with status %d", status)
	}
	p.post(t, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.post(t, session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	return session
}

// A way is how a server sends its results.
type way string

const (
	withLength way = "JSON with a length"
	chunked    way = "JSON without a length"
	events     way = "a stream of events"
)

// upstream is a server with a number of tools, whose results have so many bytes of text.
func upstream(t *testing.T, tools, size int, by way) string {
	t.Helper()
	var list bytes.Buffer
	for i := range tools {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"name":"list_things_%d","description":"Lists the things of kind %d that are in the store, with their names, their ids and the time of their last change.",`+
			`"inputSchema":{"type":"object","properties":{"kind":{"type":"string","description":"the kind of the things that are listed"},"limit":{"type":"integer","description":"how many there are at most"}}},`+
			`"annotations":{"readOnlyHint":true}}`, i, i)
	}
	text := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		begin, end := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":`, m.ID), "}"
		var body []byte
		switch m.Method {
		case "initialize":
			body = []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
		case "tools/list":
			body = append(append([]byte(`{"tools":[`), list.Bytes()...), `]}`...)
		case "tools/call":
			begin, body, end = begin+`{"content":[{"type":"text","text":"`, text, `"}]}`+end
		default:
			body = []byte("{}")
		}
		switch {
		case by == events:
			w.Header().Set("Content-Type", "text/event-stream")
			begin, end = "event: message\ndata: "+begin, end+"\n\n"
		default:
			w.Header().Set("Content-Type", "application/json")
			if by == withLength {
				w.Header().Set("Content-Length", strconv.Itoa(len(begin)+len(body)+len(end)))
			}
		}
		for _, part := range [][]byte{[]byte(begin), body, []byte(end)} {
			if _, err := w.Write(part); err != nil {
				return // the proxy does not wait for it any more
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// together makes n calls at the same time, in sessions of their own, and returns how many of them had a whole result.
func (p *proxy) together(t *testing.T, n, size int) (whole int) {
	t.Helper()
	sessions := make([]string, n)
	for i := range sessions {
		sessions[i] = p.open(t)
	}
	var calls sync.WaitGroup
	sizes := make([]int64, n)
	for i, session := range sessions {
		calls.Go(func() {
			_, _, sizes[i] = p.post(t, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_things_0","arguments":{"kind":"%d"}}}`, i))
		})
	}
	calls.Wait()
	for _, got := range sizes {
		if got >= int64(size) {
			whole++
		}
	}
	return whole
}

const mb = 1 << 20

// Of the example for Kubernetes, in MiB.
const (
	goLimit  = 400
	podLimit = 512
)

// Eight results of 50 MB at once, however the server sends them, all reach their clients, in the memory that the example for
// Kubernetes has. Without -short, a table of other numbers is logged.
func TestResultsInFlight(t *testing.T) {
	for _, by := range []way{withLength, chunked, events} {
		for _, n := range []int{1, 2, 8} {
			if n < 8 && testing.Short() {
				continue
			}
			t.Run(fmt.Sprintf("%d, %s", n, by), func(t *testing.T) {
				p := start(t, upstream(t, 1, 50*mb, by), goLimit)
				whole, peak := p.together(t, n, 50*mb), p.peak(t)
				t.Logf("%d at once, %s: peak %d MiB, then %d MiB", n, by, peak, p.resident(t))
				if whole != n {
					t.Errorf("%d of %d results are whole", whole, n)
				}
				if peak >= podLimit {
					t.Errorf("the proxy had %d MiB, and the example allows it %d", peak, podLimit)
				}
			})
		}
	}
}

// Sessions at a server with many tools share the catalog. The table is logged.
func TestSessionsAndTools(t *testing.T) {
	const sessions = 20
	for _, tools := range []int{100, 1000, 5000} {
		t.Run(fmt.Sprintf("%d tools", tools), func(t *testing.T) {
			p := start(t, upstream(t, tools, 16, withLength), goLimit)
			p.open(t)
			first := p.resident(t)
			for range sessions - 1 {
				p.open(t)
			}
			t.Logf("%d tools: one session %d MiB, %d sessions %d MiB, peak %d MiB", tools, first, sessions, p.resident(t), p.peak(t))
			if peak := p.peak(t); peak >= podLimit {
				t.Errorf("the proxy had %d MiB, and the example allows it %d", peak, podLimit)
			}
		})
	}
}
