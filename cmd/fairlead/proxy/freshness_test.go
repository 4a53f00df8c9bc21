package proxy_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// inProcess returns a server of the SDK behind a pipe.
func inProcess(name string, server *mcp.Server) proxy.Server {
	return proxy.Server{Name: name, Open: func() (io.ReadWriteCloser, error) {
		here, there := net.Pipe()
		go func() { _ = server.Run(context.Background(), &mcp.IOTransport{Reader: there, Writer: there}) }()
		return here, nil
	}}
}

func textOf(t *testing.T, cs *mcp.ClientSession, name string) string {
	t.Helper()
	res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: name})
	if err != nil || res.IsError || len(res.Content) == 0 {
		t.Fatalf("%s: %+v, %v", name, res, err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// With the defaults a file that another process changes is read as it is now.
func TestFileThatAnotherProcessChanges(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, version string) {
		path := filepath.Join(t.TempDir(), "notes.txt")
		server := mcptest.New()
		for _, name := range []string{"read_file", "get_notes"} { // a volatile one and a shared one
			mcptest.Add(server, mcptest.Tool(name, "Returns the text."), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				text, err := os.ReadFile(path)
				return mcptest.Text(string(text)), err
			})
		}
		url := listenOn(t, proxy.Options{Servers: []proxy.Server{inProcess("files", server)}})
		cs := mcptest.Dial(t, mcptest.NewClient(), &mcp.StreamableClientTransport{Endpoint: url}, version)
		for _, want := range []string{"one", "two"} {
			if out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf "$0" > "$1"`, want, path).CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
			for _, name := range []string{"read_file", "get_notes"} {
				if got := textOf(t, cs, name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
		}
	})
}

// A read after the write of another client is new, where the policy caches.
func TestReadAfterAWriteOfAnotherClient(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, version string) {
		var n atomic.Int64
		server := mcptest.New()
		for _, name := range []string{"get_ticket", "add_ticket"} {
			mcptest.Add(server, mcptest.Tool(name, ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				if name == "add_ticket" {
					n.Add(1)
				}
				return mcptest.Text(strconv.FormatInt(n.Load(), 10)), nil
			})
		}
		url := listenOn(t, proxy.Options{
			Servers: []proxy.Server{inProcess("crm", server)}, Confirm: approve(true), Policy: decided(t, `{"cache": {"crm/*": "on"}}`),
		})
		var clients [2]*mcp.ClientSession
		for i := range clients {
			clients[i] = mcptest.Dial(t, mcptest.NewClient(), &mcp.StreamableClientTransport{Endpoint: url}, version)
		}
		textOf(t, clients[0], "get_ticket")
		n.Add(1) // past the proxy
		if got := textOf(t, clients[0], "get_ticket"); got != "0" {
			t.Errorf("a second read: got %q, want the one that is cached", got)
		}
		textOf(t, clients[1], "add_ticket")
		if got := textOf(t, clients[0], "get_ticket"); got != "2" {
			t.Errorf("after the write: got %q", got)
		}
	})
}

// By default identical reads in flight are one call, and no later one.
func TestReadsInFlightAreOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPlain(strings.ReplaceAll(readThing, "thing", "ticket"), `{"name":"get_status","inputSchema":{"type":"object"}}`)
		p := s.proxy(t, proxy.Options{Trust: true})
		a, b := s.client(t, p), s.client(t, p)
		s.hold, s.held = make(chan struct{}), "_"
		for _, name := range []string{"read_ticket", "get_status"} {
			answers := make(chan string, 2)
			for _, c := range []*lineClient{a, b} {
				go func() { answers <- c.call(`{"name":"` + name + `"}`) }()
			}
			synctest.Wait()
			close(s.hold)
			if first, second := <-answers, <-answers; strings.Contains(first, "error") || strings.Contains(second, "error") {
				t.Error(first, second)
			}
			s.hold = make(chan struct{})
		}
		close(s.hold)
		a.call(`{"name":"read_ticket"}`)
		if got := strings.Join(s.calls(), " "); strings.Count(got, "read_ticket") != 2 || strings.Count(got, "get_status") != 2 {
			t.Errorf("the server executed %s; want one for two reads in flight, one more, and two that are volatile", got)
		}
	})
}

// A write through the proxy ends what another client has read.
func TestWriteOfOneClientEndsWhatAnotherHasRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPlain(readThing, writeThing)
		p := s.proxy(t, proxy.Options{Trust: true, Confirm: approve(true), Policy: decided(t, `{"cache": {"*": "1m"}}`)})
		a, b := s.client(t, p), s.client(t, p)
		first := a.call(`{"name":"read_thing"}`)
		if again := a.call(`{"name":"read_thing"}`); len(s.calls()) != 1 {
			t.Fatalf("a second read was not answered by the first: %s, %s", first, again)
		}
		b.call(`{"name":"add_thing"}`)
		if got := a.call(`{"name":"read_thing"}`); !strings.Contains(got, `"text":"3"`) {
			t.Errorf("after another client's write: %s", got)
		}
	})
}

// Proxies of several processes with one folder know of each other's writes: their reads, and their own writes, leave what
// is cached where it is right.
func TestWriteOfAnotherProcessEndsWhatWasRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, folder := newPlain(readThing, writeThing), t.TempDir()
		client := func() *lineClient {
			return s.client(t, s.proxy(t, proxy.Options{Trust: true, Confirm: approve(true), Writes: writes(t, folder), Policy: decided(t, `{"cache": {"*": "1m"}}`)}))
		}
		a, b := client(), client()
		for i, step := range []struct {
			client   *lineClient
			tool     string
			executed int // calls, by then
		}{
			{a, "read_thing", 1},
			{a, "read_thing", 1},
			{b, "read_thing", 2},
			{a, "read_thing", 2},
			{b, "add_thing", 3},
			{a, "read_thing", 4},
			{a, "read_thing", 4},
			{b, "read_thing", 5},
			{a, "read_thing", 5},
			{a, "add_thing", 6},
			{a, "read_thing", 7},
			{a, "read_thing", 7},
			{b, "read_thing", 8},
		} {
			got := step.client.call(`{"name":"` + step.tool + `"}`)
			if executed := len(s.calls()); executed != step.executed {
				t.Fatalf("step %d, %s: the servers have executed %d calls, want %d: %s", i, step.tool, executed, step.executed, got)
			}
		}
	})
}

// A write that ends after its call ends what was read meanwhile: as a task, or by an answer that is not waited for any more.
func TestWriteThatEndsLaterEndsWhatWasRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end     string
		another bool // the reader is a client of another process
	}{
		"a task":                           {`{"taskId":"t1","status":"completed","result":{"content":[]}}`, false},
		"a task that ends":                 {`{"taskId":"t1","status":"cancelled"}`, false},
		"a late answer":                    {``, false},
		"a task of another process":        {`{"taskId":"t1","status":"completed","result":{"content":[]}}`, true},
		"a late answer of another process": {``, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			end, folder := tt.end, t.TempDir()
			s := newPlain(readThing, writeThing)
			s.hold, s.held = make(chan struct{}), "add_thing"
			if end != "" {
				close(s.hold)
				s.answer = func(method, params string) string {
					if method == "tools/call" && strings.Contains(params, "add_thing") {
						return `{"resultType":"task","taskId":"t1","status":"working"}`
					}
					return ""
				}
			}
			process := func() *proxy.Proxy {
				return s.proxy(t, proxy.Options{Trust: true, Confirm: approve(true), Writes: writes(t, folder), Policy: decided(t, `{"cache": {"*": "10m"}, "timeout": {"default": "5s", "cap": "5s"}}`)})
			}
			p := process()
			writer, reader := s.client(t, p), s.client(t, p)
			if tt.another {
				reader = s.client(t, process())
			}
			writer.call(`{"name":"add_thing","arguments":{}}`)
			time.Sleep(2 * time.Minute)
			before := reader.call(`{"name":"read_thing"}`)
			if reader.call(`{"name":"read_thing"}`); len(s.calls()) != 2 {
				t.Fatalf("%s: a second read was not answered by the first: %v", name, s.calls())
			}
			if end == "" {
				close(s.hold)
			} else {
				s.tell(`{"jsonrpc":"2.0","method":"notifications/tasks","params":` + end + `}`)
			}
			synctest.Wait()
			reader.call(`{"name":"read_thing"}`)
			if len(s.calls()) != 3 {
				t.Errorf("%s: what was read before is still %s", name, before)
			}
		})
	}
}
