package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// childMode makes the test binary a server of the kind that the environment names.
const childMode = "FAIRLEAD_AGENT_TEST_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(childMode) {
	case "":
		os.Exit(m.Run())
	case "rubbish":
		fmt.Println("hello, this is no MCP")
	case "dies":
		serve(func() { fmt.Fprintln(os.Stderr, "out of cheese"); os.Exit(7) })
	case "odd":
		oddList()
	case "good":
		serve(func() {})
	}
}

// serve is a server on stdin and stdout with some odd tools.
func serve(onEcho func()) {
	s := mcp.NewServer(&mcp.Implementation{Name: "odd", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "get_echo"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		onEcho()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "echo"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "get_zero"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "zero"}}}, nil, nil
	})
	// The parent closes our input when it is done.
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

// child is the command line of this binary as a server.
func child(t *testing.T, mode string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(childMode, mode)
	return "'" + self + "'"
}

// playReal runs the program outside a bubble, with processes and sockets.
func playReal(t *testing.T, env map[string]string, args ...string) ran {
	t.Helper()
	return program(t, "", env, args...)(t.Context())
}

func TestABadServerIsOneClearLine(t *testing.T) {
	const closed = "http://127.0.0.1:1" // no other test's server can be given this port
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	for _, c := range []struct{ name, server, mode, want string }{
		{"a command that is not there", "no-such-command-here --now", "", "no-such-command-here"},
		{"a command that ends at once", "false", "", `the server "false" failed`},
		{"rubbish", "", "rubbish", "failed"},
		{"nothing listens", closed, "", closed},
		{"no MCP there", web.URL, "", web.URL},
		{"an open quote", "'x", "", "quote"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := c.server
			if c.mode != "" {
				server = child(t, c.mode)
			}
			r := playReal(t, nil, "--server", server)
			if r.code != 1 || strings.Count(strings.TrimSpace(r.err), "\n") > 0 || !strings.Contains(r.err, c.want) {
				t.Errorf("exit %d, %q", r.code, r.err)
			}
		})
	}
}

func TestAServerThatDiesMidwayIsNamed(t *testing.T) {
	r := playReal(t, nil, "--server", child(t, "dies"), "--json")
	if r.code != 1 || !strings.Contains(r.err, "failed") || !strings.Contains(r.err, "out of cheese") {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
	if s := r.summary(t); s["calls"] != 2 {
		t.Errorf("it did not go on with the other tool: %v", s)
	}
}

func TestAForeignServerIsExplored(t *testing.T) {
	r := playReal(t, nil, "--server", child(t, "good"), "--json")
	s := r.summary(t)
	if r.code != 0 || s["calls"] != 2 || s["asked"] != 0 {
		t.Errorf("exit %d, %v, %s", r.code, s, r.err)
	}
}

func TestABadFolderIsOneClearLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{"not there": filepath.Join(t.TempDir(), "none"), "a file": file}
	if _, err := os.Stat("/proc/self"); err == nil {
		cases["not writable"] = "/proc/self" // for root too
	}
	for name, dir := range cases {
		t.Run(name, func(t *testing.T) {
			r := playReal(t, nil, "--dir", dir)
			if r.code != 1 || strings.Count(strings.TrimSpace(r.err), "\n") > 0 || !strings.Contains(r.err, dir) || !strings.Contains(r.err, "choose one") {
				t.Errorf("exit %d, %q", r.code, r.err)
			}
		})
	}
}

func TestUsageErrorsEndWithTwo(t *testing.T) {
	for _, args := range [][]string{
		{"--nonsense"}, {"--yes", "maybe"}, {"--flaky", "2"}, {"--flaky", "NaN"}, {"--rate", "-1"}, {"--rate", "Inf"}, {"--purge"},
		{"--repl", "--script", "x"}, {"--server", "x", "--dir", "y"}, {"--server", "x", "--flaky", "0.1"}, {"--dir", ""}, {"--server", " "}, {"a goal"},
		{"--store", ""}, {"--store", "redis://localhost:6379"}, {"--replicas", "2"}, {"--replicas", "0"},
	} {
		r := playReal(t, nil, args...)
		if r.code != 2 || r.out != "" || strings.Count(strings.TrimSpace(r.err), "\n") > 0 || !strings.HasPrefix(r.err, "agent: ") {
			t.Errorf("%q: exit %d, %q, %q", args, r.code, r.out, r.err)
		}
	}
	if r := playReal(t, nil, "--store", "redis://localhost:6379"); !strings.Contains(r.err, "go -C contrib/redis run ./examples/agent --store redis://localhost:6379") {
		t.Errorf("--store in a program without an engine: %q", r.err)
	}
	if r := playReal(t, nil, "--help"); r.code != 0 || !strings.Contains(r.out, "exit codes") || r.err != "" {
		t.Errorf("--help: exit %d, %q", r.code, r.err)
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestABadScriptIsOneClearLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "it is empty"},
		{"cut off", `[{"tool": "list_files"}`, "ends in the middle"},
		{"no list", "{\n\"tool\": 1}", "line 1"},
		{"no JSON", "[\n{tool}]", "line 2"},
		{"an unknown member", `[{"tool": "list_files", "args": {}}]`, "args"},
		{"no tool", `[{"arguments": {}}]`, "call 1 names no tool"},
		{"more behind it", `[] []`, "goes on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := script(t, c.text)
			r := play(t, "", "--script", path)
			if r.code != 1 || strings.Count(strings.TrimSpace(r.err), "\n") > 0 || !strings.Contains(r.err, path) || !strings.Contains(r.err, c.want) {
				t.Errorf("exit %d, %q", r.code, r.err)
			}
		})
	}
	if r := play(t, "", "--script", "/no/such/file"); r.code != 1 || !strings.Contains(r.err, "/no/such/file") {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
}

func TestAScriptGoesOnAfterABadCall(t *testing.T) {
	huge, err := json.Marshal(map[string]string{"path": strings.Repeat("x", 10<<20)})
	if err != nil {
		t.Fatal(err)
	}
	path := script(t, `[
		{"tool": "no_such_tool", "arguments": {}},
		{"tool": "list_files", "arguments": [1]},
		{"tool": "list_files", "arguments": "x"},
		{"tool": "read_file", "arguments": {"path": "notes.txt", "path": "REPORT.md"}},
		{"tool": "read_file", "arguments": `+string(huge)+`},
		{"tool": "read_file", "arguments": {"path": "../../etc/passwd"}},
		{"tool": "read_file", "arguments": {"path": 7}},
		{"tool": "files/read_file", "arguments": {"path": "notes.txt"}},
		{"tool": "files__read_file", "arguments": {"path": "notes.txt"}}
	]`)
	r := play(t, "", "--script", path, "--json")
	if s := r.summary(t); r.code != 1 || s["calls"] != 8 || s["cache_hits"] != 1 {
		t.Errorf("exit %d, %v", r.code, s)
	}
	var states []string
	for _, e := range r.events(t) {
		switch e["event"] {
		case "call":
			states = append(states, e["state"].(string))
		case "problem":
			if text := e["text"].(string); !strings.Contains(text, "no_such_tool") || !strings.Contains(text, "there are: create_file") {
				t.Errorf("the unknown tool is reported as %q", text)
			}
		}
	}
	if got, want := strings.Join(states, " "), "error error error error failed failed done done"; got != want {
		t.Errorf("the calls came out as %q, want %q", got, want)
	}
	r = play(t, "", "--script", path)
	for _, want := range []string{"no_such_tool", "arguments of files/list_files are refused", "leaves the folder", "more than the limit of"} {
		if !strings.Contains(strings.Join(strings.Fields(r.out), " "), want) {
			t.Errorf("the transcript does not say %q", want)
		}
	}
	for line := range strings.Lines(r.out) {
		if n := len([]rune(line)); n > 200 {
			t.Errorf("a line has %d characters: %.80s…", n, line)
		}
	}
}

// oddList is a server by hand whose list has what no server should list.
func oddList() {
	in := json.NewDecoder(os.Stdin)
	for {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if in.Decode(&req) != nil {
			return
		}
		answer := `"error":{"code":-32601,"message":"no such method"}`
		switch req.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`
		case "tools/list":
			answer = `"result":{"tools":[
				{"name":"get_good","inputSchema":{"type":"object"}},
				{"name":"get_twin","description":"first","inputSchema":{"type":"object"}},
				{"name":"get_twin","description":"second","inputSchema":{"type":"object"}},
				{"name":"get no\u001b[31m name","inputSchema":{"type":"object"}},
				{"name":"get_list","inputSchema":{"type":"array"}}]}`
		case "tools/call":
			answer = `"result":{"content":[{"type":"text","text":"fine\u001b[2Jx"}]}`
		}
		if req.ID != nil {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", req.ID, strings.Join(strings.Fields(answer), " "))
		}
	}
}

func TestBadToolsAreReportedAndTheOthersGoOn(t *testing.T) {
	r := playReal(t, nil, "--server", child(t, "odd"))
	if r.code != 0 || !strings.Contains(r.out, "✓ get_good") || !strings.Contains(r.out, "fine") {
		t.Errorf("the good tool was not called: exit %d\n%s%s", r.code, r.out, r.err)
	}
	for _, tool := range []string{"get_twin", "get no", "get_list"} {
		if !strings.Contains(r.out, "! server/"+tool) && !strings.Contains(r.out, tool) {
			t.Errorf("%s is not reported:\n%s", tool, r.out)
		}
	}
	if strings.Contains(r.out, "\x1b") {
		t.Errorf("the server's control characters reach the terminal:\n%q", r.out)
	}
}
