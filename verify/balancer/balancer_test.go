// Package balancer checks that clients of each revision of the protocol can call through replicas of the proxy behind
// a load balancer which sends each request to the next replica.
package balancer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/verify/internal/repo"
	"github.com/fairlead-go/fairlead/verify/internal/rpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var program string // that was built

func TestMain(m *testing.M) { os.Exit(repo.WithProgram(m.Run, &program)) }

// A fleet is two processes of the proxy on one Redis, before a server of notes, and behind HAProxy.
type fleet struct {
	url      string // of the load balancer
	redis    *redistest.Server
	replicas [2]*exec.Cmd

	mu     sync.Mutex
	served map[string]int // requests, by the replica
	made   map[string]int // executions at the server, by tool and arguments
}

// start starts a fleet. Without redis-server or haproxy it skips the test.
func start(t *testing.T) *fleet {
	t.Helper()
	if err := repo.DependsOnCode(); err != nil {
		t.Fatal(err)
	}
	balancer, err := exec.LookPath("haproxy")
	if err != nil {
		if balancer = "/usr/sbin/haproxy"; exec.Command(balancer, "-v").Run() != nil {
			fmt.Fprintf(os.Stderr, "SKIPPED, NOT TESTED: %s: no haproxy; apt-get install -y haproxy\n", t.Name())
			t.Skip("there is no haproxy")
		}
	}
	f := &fleet{redis: redistest.New(t), served: make(map[string]int), made: make(map[string]int)}
	server := mcptest.New()
	for _, name := range []string{"list_notes", "create_note", "delete_note"} {
		mcptest.Add(server, mcptest.Tool(name, ""), func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.made[name+string(arguments)]++
			return mcptest.Text("done"), nil
		})
	}
	upstream, _ := mcptest.HTTPTransport(t, server, mcptest.Legacy)
	dir := t.TempDir()
	var addresses []any
	for i := range f.replicas {
		cmd := exec.CommandContext(t.Context(), program, "proxy", "--listen", "127.0.0.1:0", "--replicas", "2", "--store", f.redis.URL(), "--approve", "elicit", upstream.Endpoint)
		cmd.Env = append(os.Environ(), "FAIRLEAD_STORE_KEY="+strings.Repeat("ab", 32))
		addresses = append(addresses, serving(t, cmd))
		f.replicas[i] = cmd
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f.url = "http://" + l.Addr().String() + "/mcp"
	config := filepath.Join(dir, "haproxy.cfg")
	// Each request is sent to the next replica, and to the other one if there is no connection to it.
	text := fmt.Sprintf(`
defaults
  mode http
  timeout connect 5s
  timeout client 5m
  timeout server 5m
  retries 3
  option redispatch 1
frontend mcp
  bind fd@3
  default_backend replicas
backend replicas
  balance roundrobin
  http-response set-header Replica %%s
  server a %s
  server b %s
`, addresses...)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), balancer, "-db", "-f", config)
	cmd.ExtraFiles = []*os.File{file}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return f
}

// serving starts a replica and returns its address.
func serving(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
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
			if _, url, ok := strings.Cut(lines.Text(), "serving MCP at http://"); ok {
				address <- strings.TrimSuffix(url, "/mcp")
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
	at := mcptest.Wait(t, "the address of a replica", address)
	if at == "" {
		t.Fatal("a replica does not serve")
	}
	return at
}

// RoundTrip counts which replica answers a client's request.
func (f *fleet) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		f.mu.Lock()
		f.served[res.Header.Get("Replica")]++
		f.mu.Unlock()
	}
	return res, err
}

// dial returns a session of a client, which answers questions.
func (f *fleet) dial(t *testing.T, version, answer string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: answer, Content: map[string]any{"decision": "allow"}}, nil
		},
	})
	return mcptest.Dial(t, client, &mcp.StreamableClientTransport{Endpoint: f.url, HTTPClient: &http.Client{Transport: f}}, version)
}

// call makes a call and returns its text.
func call(t *testing.T, cs *mcp.ClientSession, tool string, arguments any) (string, bool) {
	t.Helper()
	res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text, _ := json.Marshal(res.Content)
	return string(text), res.IsError
}

// Whichever replica a request comes to, each call is answered and each write is made once; a question is asked and its
// answer counts. Calls go on at the other replica when one has been killed.
func TestRequestsSpreadOverReplicas(t *testing.T) {
	t.Parallel()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			want := make(map[string]int)
			var sessions []*mcp.ClientSession
			for n := range 3 {
				cs := f.dial(t, version, "accept")
				sessions = append(sessions, cs)
				if _, err := cs.ListTools(mcptest.Context(t), nil); err != nil {
					t.Fatal(err)
				}
				for i := range 6 {
					if text, failed := call(t, cs, "list_notes", map[string]int{"page": i}); failed {
						t.Fatal("a read:", text)
					}
					note := map[string]string{"title": fmt.Sprintf("%d-%d", n, i)}
					if text, failed := call(t, cs, "create_note", note); failed {
						t.Fatal("a write:", text)
					}
					want[fmt.Sprintf(`create_note{"title":"%d-%d"}`, n, i)] = 1
				}
				for i := range 2 {
					if text, failed := call(t, cs, "delete_note", map[string]string{"id": fmt.Sprintf("%d-%d", n, i)}); failed {
						t.Fatal("a deletion that the person approved:", text)
					}
					want[fmt.Sprintf(`delete_note{"id":"%d-%d"}`, n, i)] = 1
				}
			}
			if text, failed := call(t, f.dial(t, version, "decline"), "delete_note", map[string]string{"id": "kept"}); !failed {
				t.Error("a deletion that the person declined:", text)
			}
			f.mu.Lock()
			for what, times := range f.made {
				if !strings.HasPrefix(what, "list_") && times != want[what] {
					t.Errorf("%s was executed %d times, want %d", what, times, want[what])
				}
				delete(want, what)
			}
			for what := range want {
				t.Errorf("%s was not executed", what)
			}
			t.Logf("requests by replica: %v", f.served)
			if f.served["a"] < 10 || f.served["b"] < 10 {
				t.Errorf("the requests were not spread: %v", f.served)
			}
			f.mu.Unlock()

			if err := f.replicas[0].Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for i, cs := range sessions {
				note := map[string]string{"title": fmt.Sprintf("after the loss %d", i)}
				for end := time.Now().Add(time.Minute); ; {
					res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "create_note", Arguments: note})
					if err == nil && !res.IsError {
						break
					}
					if time.Now().After(end) {
						t.Fatalf("a call after the loss of a replica: %v, %v", res, err)
					}
				}
			}
		})
	}
}

// A session is its user's and ends with its DELETE, at whichever replica that comes to; one that never was is refused.
func TestSessionAtAnotherReplica(t *testing.T) {
	t.Parallel()
	f := start(t)
	send := func(method, session, body string) (status int, id, text string) {
		res, err := rpc.Send(mcptest.Context(t), f, method, f.url, session, body)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var all bytes.Buffer
		_, _ = all.ReadFrom(res.Body)
		return res.StatusCode, res.Header.Get("Mcp-Session-Id"), all.String()
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	status, id, text := send(http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if status != http.StatusOK || id == "" {
		t.Fatalf("initialize: got HTTP %d, %s", status, text)
	}
	for range 4 {
		if status, _, text := send(http.MethodPost, id, list); status != http.StatusOK || !strings.Contains(text, "list_notes") {
			t.Errorf("tools/list: got HTTP %d, %s", status, text)
		}
	}
	for range 2 {
		if status, _, text := send(http.MethodPost, id+"x", list); status != http.StatusNotFound {
			t.Errorf("a session that never was: got HTTP %d, %s", status, text)
		}
	}
	if status, _, text := send(http.MethodDelete, id, ""); status != http.StatusNoContent {
		t.Errorf("the DELETE: got HTTP %d, %s", status, text)
	}
	if f.served["a"] < 2 || f.served["b"] < 2 {
		t.Errorf("the requests were not spread: %v", f.served)
	}
}
