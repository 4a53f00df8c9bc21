package command_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/command"
	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// startProxy runs the program until the test ends, and returns where it serves. A Redis
// whose answer is late at the start is tried again.
func startProxy(t *testing.T, server string, flags ...string) (url string) {
	t.Helper()
	for range 10 {
		if url = tryProxy(t, server, flags); url != "" {
			return url
		}
	}
	t.Fatal("no proxy starts")
	return ""
}

// tryProxy returns "" where the proxy does not start.
func tryProxy(t *testing.T, server string, flags []string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	errs, written := io.Pipe()
	ended, serves := make(chan int, 1), make(chan string, 1)
	remember := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(remember, []byte(`{"cache": {"*": "on"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"proxy", "--policy", remember, "--replicas", "2", "--approve", "deny", "--listen", "127.0.0.1:0", server}
	go func() {
		ended <- command.Run(ctx, append(args, flags...), strings.NewReader(""), io.Discard, written)
		_ = written.Close()
	}()
	t.Cleanup(stop)
	go func() {
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			t.Log(lines.Text())
			if _, url, ok := strings.Cut(lines.Text(), "serving MCP at "); ok {
				serves <- url
			}
		}
		close(serves)
	}()
	url, ok := <-serves
	if !ok {
		t.Logf("the proxy ended with %d", <-ended)
		return ""
	}
	t.Cleanup(func() {
		stop()
		for range serves { // until it has said its last word
			continue
		}
		if code := <-ended; code != 0 {
			t.Errorf("the proxy ended with %d", code)
		}
	})
	return url
}

func TestBadStoreIsOneClearLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ url, want string }{
		"nobody there": {"redis://:secret@127.0.0.1:1/0", "127.0.0.1:1: nothing listens there"},
		"no URL":       {"localhost:6379", "redis://"},
		"empty":        {"", "--store is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var code int
			var errs string
			for range 10 { // a connection that takes its time is another error
				if code, _, errs = told(t, "proxy", "--store-can-approve", "--store", c.url, "https://example.com/mcp"); strings.Contains(errs, c.want) {
					break
				}
			}
			if code != 2 || !strings.Contains(errs, c.want) || strings.Contains(errs, "secret") {
				t.Errorf("exit %d: %s", code, errs)
			}
		})
	}
}

// A Redis without a key could answer for a person, and is not used without a flag that accepts this.
func TestRedisWithoutAKeyIsRefused(t *testing.T) {
	t.Parallel()
	url := redistest.New(t).URL()
	for _, args := range [][]string{{"proxy"}, {"approvals", "list"}, {"approvals", "revoke"}} {
		args = append(args, "--store", url)
		if args[1] == "revoke" {
			args = append(args, "4KJX")
		}
		code, _, errs := told(t, append(args, "https://example.com/mcp")...)
		for _, want := range []string{"FAIRLEAD_STORE_KEY is not set", "answer for a person", "openssl rand -hex 32", "--store-can-approve"} {
			if code != 2 || !strings.Contains(errs, want) {
				t.Errorf("%v: exit %d, want %q: %s", args, code, want, errs)
			}
		}
	}
}

// A file or folder that can approve is not used if every user may write to it.
func TestWhatCanApproveIsOnesOwn(t *testing.T) {
	t.Parallel()
	kept := func(t *testing.T) string {
		t.Helper()
		dir := t.TempDir()
		_, _, errs := told(t, "proxy", "--store", dir, "https://example.com/mcp")
		files, err := filepath.Glob(dir + "/approvals-*.jsonl")
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, %v: %s", files, err, errs)
		}
		return files[0]
	}
	for name, open := range map[string]func(t *testing.T) (file string, args []string){
		"the policy": func(t *testing.T) (string, []string) {
			t.Helper()
			name := file(t, "policy.json", "{}")
			return name, []string{"proxy", "--policy", name}
		},
		"the settings of access": func(t *testing.T) (string, []string) {
			t.Helper()
			name := file(t, "access.json", "{}")
			return name, []string{"proxy", "--listen", "127.0.0.1:0", "--access", name}
		},
		"the lock": func(t *testing.T) (string, []string) {
			t.Helper()
			name := file(t, "fairlead.lock", "{}")
			return name, []string{"proxy", "--lock", name}
		},
		"the folder of approvals": func(t *testing.T) (string, []string) {
			t.Helper()
			name := t.TempDir()
			return name, []string{"proxy", "--store", name}
		},
		"the approvals": func(t *testing.T) (string, []string) {
			t.Helper()
			name := kept(t)
			return name, []string{"proxy", "--store", filepath.Dir(name)}
		},
		"approvals that are listed": func(t *testing.T) (string, []string) {
			t.Helper()
			name := kept(t)
			return name, []string{"approvals", "list", "--store", filepath.Dir(name)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name, args := open(t)
			if err := os.Chmod(name, 0o777); err != nil {
				t.Fatal(err)
			}
			code, _, errs := told(t, append(args, "https://example.com/mcp")...)
			if code == 0 || !strings.Contains(errs, name+" can be written by every user") || !strings.Contains(errs, "chmod o-w") {
				t.Errorf("exit %d: %s", code, errs)
			}
		})
	}
}

func TestBadApprovalsAreOneClearLine(t *testing.T) {
	t.Parallel()
	nowhere := "postgres://fairlead:secret@127.0.0.1:1/fairlead"
	for want, flags := range map[string][]string{
		"--approvals: postgres: failed to connect": {"--approvals", nowhere},
		"--store keeps approvals already":          {"--approvals", nowhere, "--store", t.TempDir()},
	} {
		for _, command := range [][]string{{"proxy"}, {"approvals", "list"}} {
			args := append(append(command, flags...), "https://example.com/mcp")
			if code, _, errs := told(t, args...); code == 0 || !strings.Contains(errs, want) || strings.Contains(errs, "secret") {
				t.Errorf("%v: exit %d: %s", args, code, errs)
			}
		}
	}
}

// What one proxy has read the other knows, and what is refused is refused by both: of
// clients whose revision has no sessions, since a session's memory is its own. A Redis whose answer is late costs a second read, and then another thing is read.
func TestTwoProxiesInFrontOfOneServer(t *testing.T) {
	t.Parallel()
	share(t, func(int) {})
}

func TestTwoProxiesDuringAKeyRotation(t *testing.T) {
	old, next := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	share(t, func(proxy int) {
		if proxy == 0 {
			t.Setenv("FAIRLEAD_STORE_KEY", old+","+next)
		} else {
			t.Setenv("FAIRLEAD_STORE_KEY", next+", "+old)
			t.Setenv("FAIRLEAD_STORE_NAME_KEY", old)
		}
	})
}

// share tests two proxies in front of one server, with one Redis, after before was called for each.
func share(t *testing.T, before func(proxy int)) {
	t.Helper()
	var reads, deletions atomic.Int64
	server := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
	for name, count := range map[string]*atomic.Int64{"get_account": &reads, "delete_account": &deletions} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				count.Add(1)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
			})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	store := redistest.New(t).URL()
	var sessions []*mcp.ClientSession
	for i := range 2 {
		before(i)
		url := startProxy(t, web.URL+[]string{"", "/./"}[i], "--store-can-approve", "--store", store) // two spellings of one address
		session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).
			Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: "2026-07-28"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		sessions = append(sessions, session)
	}
	known := false
	for id := 0; id < 20 && !known; id++ {
		before := reads.Load()
		for i, session := range sessions {
			for name, wrong := range map[string]bool{"get_account": false, "delete_account": true} {
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"id": id}})
				if err != nil || res.IsError != wrong {
					t.Errorf("proxy %d: %s: %v, %+v", i, name, err, res)
				}
			}
		}
		known = reads.Load()-before == 1
	}
	if !known || deletions.Load() != 0 {
		t.Errorf("%d reads and %d deletions reached the server, want one that both know and 0", reads.Load(), deletions.Load())
	}
}

// A call whose answer was lost on the way to one proxy is held at the other, over each store that they can share.
func TestDoubtIsHeldAtTheOtherProxy(t *testing.T) {
	t.Parallel()
	for kind, flags := range map[string]func(t *testing.T) []string{
		"Redis": func(t *testing.T) []string {
			t.Helper()
			return []string{"--store-can-approve", "--store", redistest.New(t).URL()}
		},
		"PostgreSQL": func(t *testing.T) []string { t.Helper(); return []string{"--approvals", postgrestest.New(t).URL()} },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var executed atomic.Int64
			server := mcptest.New()
			mcptest.Add(server, mcptest.Tool("create_order", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				executed.Add(1)
				return mcptest.Text("done"), nil
			})
			var lose atomic.Bool // the next answer
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && lose.Swap(false) {
					executed.Add(1)
					conn, _, err := w.(http.Hijacker).Hijack()
					if err != nil {
						panic(err)
					}
					_ = conn.Close()
					return
				}
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(web.Close)
			shared := append(flags(t), "--name", "shop", "--policy", file(t, "policy.json", `{"rules": [{"tool": "shop/create_order", "decide": "allow", "class": "dangerous"}]}`))
			var sessions []*mcp.ClientSession
			for range 2 {
				transport := &mcp.StreamableClientTransport{Endpoint: startProxy(t, web.URL, shared...)}
				sessions = append(sessions, mcptest.Dial(t, nil, transport, mcptest.Modern))
			}
			call := func(replica int) string {
				res, err := sessions[replica].CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "create_order", Arguments: map[string]any{"n": 1}})
				if err != nil {
					t.Fatal(err)
				}
				text, _ := res.Content[0].(*mcp.TextContent)
				return text.Text
			}
			for _, session := range sessions {
				if _, err := session.ListTools(mcptest.Context(t), nil); err != nil {
					t.Fatal(err)
				}
			}
			lose.Store(true)
			for i, want := range []string{"create_order may or may not have happened", "create_order was not called: an earlier call with the same effect", "not approved"} {
				if got := call(min(i, 1)); !strings.Contains(got, want) {
					t.Errorf("call %d: got %q, want %q", i, got, want)
				}
			}
			if executed.Load() != 1 {
				t.Errorf("executed %d times", executed.Load())
			}
		})
	}
}

// What is remembered for a server that is started holds in its folder, whichever the store is.
func TestApprovalsAreOfAFolder(t *testing.T) { //nolint:paralleltest // it changes the folder
	exe, env := mcptest.Child(t, "lying")
	key, value, _ := strings.Cut(env, "=")
	t.Setenv(key, value)
	folders := []string{t.TempDir(), t.TempDir()}
	for _, dir := range folders {
		if err := os.Symlink(exe, filepath.Join(dir, "server")); err != nil {
			t.Fatal(err)
		}
	}
	policy := file(t, "policy.json", `{"approvals": {"remember": "always"}}`)
	for _, store := range []string{filepath.Join(t.TempDir(), "store"), redistest.New(t).URL()} {
		asked := 0
		for i, tt := range []struct{ folder, asked int }{{0, 1}, {0, 1}, {1, 2}, {1, 2}, {0, 2}} {
			t.Chdir(folders[tt.folder])
			in, toProxy := io.Pipe()
			fromProxy, out := io.Pipe()
			ended := make(chan int, 1)
			go func() {
				ended <- command.Run(context.Background(), []string{"proxy", "--policy", policy, "--store", store, "--store-can-approve", "--approve", "elicit", "--", "./server"}, in, out, io.Discard)
				_ = out.Close()
			}()
			client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked++
					content := map[string]any{"decision": "allow"}
					if form, _ := json.Marshal(req.Params.RequestedSchema); strings.Contains(string(form), `"arguments-always"`) {
						content["remember"] = "arguments-always" // which is offered after three approvals
					}
					return &mcp.ElicitResult{Action: "accept", Content: content}, nil
				},
			})
			session := mcptest.Dial(t, client, &mcp.IOTransport{Reader: fromProxy, Writer: toProxy}, mcptest.Legacy)
			for range 4 {
				if res, err := session.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_account", Arguments: map[string]any{"id": 7}}); err != nil || res.IsError {
					t.Errorf("%s, run %d: %+v, %v", store, i, res, err)
				}
			}
			if asked != 4*tt.asked {
				t.Errorf("%s, run %d: asked %d times, want %d", store, i, asked, 4*tt.asked)
			}
			_ = toProxy.Close()
			<-ended
		}
	}
}
