package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// vault is a server with secrets, whose answers differ from call to call.
func vault() *mcp.Server {
	s := mcptest.New()
	calls := 0
	add := func(name, schema string, answer func(arguments string) (*mcp.CallToolResult, error)) {
		tool := mcptest.Tool(name, "")
		tool.InputSchema = json.RawMessage(schema)
		mcptest.Add(s, tool, func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			calls++
			return answer(string(arguments))
		})
	}
	const login = `{"type":"object","properties":{"user":{"type":"string"},"password":{"type":"string"}}}`
	add("get_item", `{"type":"object"}`, func(arguments string) (*mcp.CallToolResult, error) {
		res := mcptest.Text(fmt.Sprintf("%s <%d> & more", arguments, calls))
		res.StructuredContent = json.RawMessage(fmt.Sprintf(`{"z":%d,"a":1.50,"big":12345678901234567890}`, calls))
		return res, nil
	})
	add("get_session", login, func(arguments string) (*mcp.CallToolResult, error) {
		return mcptest.Text("token: ghp_16C7e42F292c6912E7710c838347Ae178B4a; " + arguments), nil
	})
	add("crash", `{"type":"object"}`, func(string) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(1)
		return nil, nil
	})
	add("set_item", login, func(arguments string) (*mcp.CallToolResult, error) {
		if strings.Contains(arguments, "bad") {
			return nil, errors.New("refused with " + arguments)
		}
		return mcptest.Text(fmt.Sprintf("item %d", calls)), nil
	})
	return s
}

// speaks starts a command that speaks MCP, and returns a function that sends a request and returns the answer as it was
// written ("" if there is none), and one that ends its input, by signals if there are any, and returns what it wrote to
// standard error.
func speaks(t *testing.T, args ...string) (ask func(method, params string) string, end func(...os.Signal) (int, string)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "FAIRLEAD_TEST_CHILD=vault")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, id := bufio.NewReader(out), 0
	ask = func(method, params string) string {
		t.Helper()
		id++
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return ""
			}
			if strings.Contains(line, fmt.Sprintf(`"id":%d,`, id)) {
				return strings.TrimSpace(line)
			}
		}
	}
	end = func(signals ...os.Signal) (int, string) {
		for _, s := range signals {
			_ = cmd.Process.Signal(s)
		}
		if signals == nil {
			_ = in.Close()
		}
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode(), errs.String()
	}
	ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return ask, end
}

const planted = "Tr0ub4dor-and-3"

// What was answered is in the file, however the session ends.
func TestRecordEnds(t *testing.T) {
	t.Parallel()
	program, dir := programtest.Path(t), t.TempDir()
	exe, _ := mcptest.Child(t, "vault")
	for name, c := range map[string]struct {
		crash   bool
		signals []os.Signal
		code    int
		said    string
	}{
		"the client ends":          {false, nil, exitOK, "the session is in"},
		"the server dies":          {true, nil, exitUnreachable, `ended before its client did: its process ended: exit status 1 (it said: out of memory)`},
		"an interrupt":             {false, []os.Signal{os.Interrupt}, exitOK, "the session is in"},
		"the recorder itself dies": {false, []os.Signal{os.Kill}, -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".json")
			ask, end := speaks(t, program, "record", "--out", file, "--", exe)
			want := ask("tools/call", `{"name":"get_item","arguments":{"id":1}}`)
			if c.crash {
				if got := ask("tools/call", `{"name":"crash","arguments":{}}`); got != "" {
					t.Errorf("the answer of a dead server is %s", got)
				}
			}
			if code, errs := end(c.signals...); code != c.code || !strings.Contains(errs, c.said) {
				t.Errorf("exit %d, want %d: %s", code, c.code, errs)
			}
			ask, end = speaks(t, program, "replay", file)
			if got := ask("tools/call", `{"name":"get_item","arguments":{"id":1}}`); got != want {
				t.Errorf("the replay answers %s, want %s", got, want)
			}
			if got := ask("tools/call", `{"name":"crash","arguments":{}}`); c.crash && !strings.Contains(got, "calls/1 of crash has no answer in the recording: no answer came") {
				t.Errorf("the call without an answer is answered %s", got)
			}
			end()
		})
	}
}

// A server behind a URL is recorded as one behind a command is.
func TestRecordOverHTTP(t *testing.T) {
	t.Parallel()
	program, file := programtest.Path(t), filepath.Join(t.TempDir(), "session.json")
	_, h := mcptest.HTTPTransport(t, vault(), mcptest.Legacy)
	ask, end := speaks(t, program, "record", "--out", file, h.URL)
	want := ask("tools/call", `{"name":"get_item","arguments":{"id":1}}`)
	if code, errs := end(); code != exitOK {
		t.Errorf("exit %d: %s", code, errs)
	}
	ask, end = speaks(t, program, "replay", file)
	if got := ask("tools/call", `{"name":"get_item","arguments":{"id":1}}`); got != want || !strings.Contains(got, "structuredContent") {
		t.Errorf("the replay answers %s, want %s", got, want)
	}
	end()
}

func TestRecordAndReplayRefuse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte("{\n\"format\": \"fairlead recording 1\",\n\"calls\": [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"record", "--server", "a=true", "--server", "b=true"}, exitUsage, "a recording has one server; take it out of the file by --server NAME"},
		{[]string{"record"}, exitUsage, "no server is named"},
		{[]string{"record", "--out", filepath.Join(dir, "no", "such.json"), "--", "true"}, exitUsage, "no such file or folder"},
		{[]string{"record", "--out", filepath.Join(dir, "a.json"), "--", filepath.Join(dir, "missing")}, exitUnreachable, "cannot be reached"},
		{[]string{"replay"}, exitUsage, "FILE is missing"},
		{[]string{"replay", filepath.Join(dir, "none.json")}, exitUsage, "none.json"},
		{[]string{"replay", broken}, exitUsage, "broken.json: line 4: not valid JSON: it ends too early; a file holds one session of one server: restore it, or record anew"},
	} {
		if code, _, stderr := program(t, "", c.args...); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, want %d: %s", c.args, code, c.code, stderr)
		}
	}
}
