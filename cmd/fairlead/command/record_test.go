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

	"github.com/fairlead-go/fairlead/mcptest"
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
	add("set_item", login, func(arguments string) (*mcp.CallToolResult, error) {
		if strings.Contains(arguments, "bad") {
			return nil, errors.New("refused with " + arguments)
		}
		return mcptest.Text(fmt.Sprintf("item %d", calls)), nil
	})
	return s
}

// speaks starts a command that speaks MCP, and returns a function that sends a request and returns the answer as it was
// written, and one that ends its input and returns what it wrote to standard error.
func speaks(t *testing.T, args ...string) (ask func(method, params string) string, end func() (int, string)) {
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
				t.Fatalf("%v\n%s", err, errs.String())
			}
			if strings.Contains(line, fmt.Sprintf(`"id":%d,`, id)) {
				return strings.TrimSpace(line)
			}
		}
	}
	end = func() (int, string) {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode(), errs.String()
	}
	ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return ask, end
}

const planted = "Tr0ub4dor-and-3"

// A session is recorded in front of a server, and then the same client has the same answers from the file alone.
func TestReplayAnswersAsTheServerDid(t *testing.T) {
	t.Parallel()
	program, file := built(t), filepath.Join(t.TempDir(), "session.json")
	exe, _ := mcptest.Child(t, "vault")
	calls := []string{
		`{"name":"get_item","arguments":{"id":1,"of":"x"}}`,
		`{"name":"get_item","arguments":{"of":"x","id":1}}`,
		`{"name":"get_session","arguments":{"user":"ada","password":"` + planted + `"}}`,
		`{"name":"set_item","arguments":{"user":"ada","password":"` + planted + `"}}`,
		`{"name":"set_item","arguments":{"user":"bad","password":"` + planted + `"}}`,
		`{"name":"nothing","arguments":{}}`,
	}
	session := func(ask func(method, params string) string) (tools string, answers []string) {
		tools = ask("tools/list", `{}`)
		for _, c := range calls {
			answers = append(answers, ask("tools/call", c))
		}
		return tools, answers
	}
	ask, end := speaks(t, program, "record", "--out", file, "--", exe)
	tools, want := session(ask)
	code, errs := end()
	if code != exitOK || !strings.Contains(errs, "the session is in") {
		t.Fatalf("exit %d: %s", code, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s\n%s", errs, text)
	if bytes.Contains(text, []byte(planted)) || bytes.Count(text, []byte("{secret 1}")) != 5 || bytes.Contains(text, []byte("ghp_")) {
		t.Error("a secret is in the file, or its placeholder is not the same everywhere")
	}
	ask, end = speaks(t, program, "replay", file)
	again, answers := session(ask)
	for i, got := range answers {
		if i == 2 { // the server made this secret: the client gets its placeholder
			want[i] = strings.ReplaceAll(want[i], "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "{secret 2}")
		}
		if got != want[i] {
			t.Errorf("%s was answered\n%s\nand by the replay\n%s", calls[i], want[i], got)
		}
	}
	if got := again; !strings.Contains(got, strings.TrimSuffix(strings.SplitN(tools, `"tools":`, 2)[1], "}}")) {
		t.Errorf("the tools are\n%s\nand were\n%s", got, tools)
	}
	if got := ask("tools/call", `{"name":"get_item","arguments":{"id":2,"of":"x"}}`); !strings.Contains(got, "/id: recorded 1, now 2") {
		t.Errorf("an unrecorded call was answered with %s", got)
	}
	if code, errs := end(); code != exitOK {
		t.Errorf("exit %d: %s", code, errs)
	}
}
