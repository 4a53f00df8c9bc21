package command

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestCall(t *testing.T) {
	t.Parallel()
	url := lying(t)
	for name, c := range map[string]struct {
		stdin       string
		args        []string
		code        int
		out, stderr string
	}{
		"a read":                          {"", []string{"get_account"}, exitOK, "done \x1b[31m {}\n", ""},
		"null for no arguments":           {"", []string{"get_account", "--arguments", " null"}, exitOK, "{}", ""},
		"with arguments":                  {"", []string{"get_account", "--arguments", `{"id":7}`}, exitOK, "done \x1b[31m {\"id\":7}\n", ""},
		"by server and name":              {"", []string{"server/get_account"}, exitOK, "done \x1b[31m {}\n", ""},
		"arguments by stdin":              {` {"id":8}` + "\n", []string{"get_account", "--arguments", "-"}, exitOK, `{"id":8}`, ""},
		"a yes":                           {"y\n", []string{"delete_account"}, exitOK, "done", " asks for server/delete_account"},
		"a no":                            {"n\n", []string{"delete_account"}, exitFindings, "", "fairlead: server/delete_account was not called: you denied it\n"},
		"a no with guidance":              {"archive it\n", []string{"delete_account"}, exitFindings, "", "archive it"},
		"silence":                         {"", []string{"delete_account"}, exitFindings, "", "\nfairlead: server/delete_account was not called: nobody approved it (the input has ended)\n"},
		"an edit":                         {"e\n{\"id\":9}\ny\n", []string{"delete_account"}, exitOK, `{"id":9}`, ""},
		"arguments by stdin leave no yes": {"{}\ny\n", []string{"delete_account", "--arguments", "-"}, exitUsage, "", "want a JSON object"},
		"nobody is there to say yes":      {"{}", []string{"delete_account", "--arguments", "-"}, exitFindings, "", "was not called: nobody approved it (standard input has the arguments, so that you cannot be asked; give them after --arguments)\n"},
		"no such tool":                    {"", []string{"get_acount"}, exitUsage, "", `there is no tool "get_acount"; did you mean "get_account"?` + "\nThere are delete_account, get_account, send_message"},
		"no such tool of this server":     {"", []string{"other/get_account"}, exitUsage, "", "there is no tool"},
		"arguments are cut off":           {"", []string{"get_account", "--arguments", `{"id":`}, exitUsage, "", "want a JSON object"},
		"a member twice is not passed on": {"", []string{"get_account", "--arguments", `{"id":1,"id":2}`}, exitFindings, "", "id"},
		"a record in a missing folder":    {"", []string{"get_account", "--audit", "/nowhere/a.jsonl"}, exitUsage, "", "/nowhere/a.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := program(t, c.stdin, append(append([]string{"call"}, c.args...), named(url))...)
			if code != c.code || c.out == "" && stdout != "" || !strings.Contains(stdout, c.out) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit %d, stdout %q, stderr %q; want %d, %q and %q", code, stdout, stderr, c.code, c.out, c.stderr)
			}
		})
	}
}

func TestCallPrintsTheToolsResult(t *testing.T) {
	t.Parallel()
	server := mcptest.New()
	mcptest.Add(server, mcptest.Tool("get_all", ""), func(_ context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "text"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("1234")},
			&mcp.ResourceLink{URI: "file:///a"}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", Text: "inside"}},
		}}, nil
	})
	mcptest.Add(server, mcptest.Tool("get_failed", ""), func(_ context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such file"}}}, nil
	})
	_, h := mcptest.ConnectHTTP(t, server, nil, mcptest.Modern)
	code, stdout, _ := program(t, "", "call", "get_all", h.URL)
	if want := "text\n[an image, image/png, 4 bytes; it is not shown]\n[a resource: file:///a]\ninside\n"; code != exitOK || stdout != want {
		t.Errorf("exit %d and %q, want %q", code, stdout, want)
	}
	code, stdout, stderr := program(t, "", "call", "get_failed", named(h.URL))
	if code != exitFindings || stdout != "no such file\n" || !strings.Contains(stderr, "server/get_failed says that it failed") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	code, stdout, _ = program(t, "", "call", "get_failed", "--json", h.URL)
	var res struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(stdout), &res); err != nil || code != exitFindings || !res.IsError || res.Content[0].Text != "no such file" {
		t.Errorf("exit %d, %v, %s", code, err, stdout)
	}
}

func TestTwoServersWithOneToolHaveToBeNamed(t *testing.T) {
	t.Parallel()
	a, b := named(lying(t)), named(lying(t))
	if code, _, stderr := program(t, "", "call", "get_account", a, b); code != exitUsage || !strings.Contains(stderr, "SERVER/NAME") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := program(t, "", "call", "server-2/get_account", a, b); code != exitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// A tool that differs from the lock file is not called, whatever its class.
func TestCallKeepsToTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	if code, _, stderr := program(t, "", "lock", "accept", "--yes", "--lock", path, named(lying(t))); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := program(t, "", "call", "get_account", "--lock", path, named(lying(t))); code != exitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
	_, changed := mcptest.ConnectHTTP(t, honest(), nil, mcptest.Modern)
	if code, stdout, stderr := program(t, "", "call", "get_account", "--lock", path, named(changed.URL)); code != exitFindings || stdout != "" || !strings.Contains(stderr, "changed since it was accepted") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
