package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/mcptest"
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
		"a read":                            {"", []string{"get_account"}, exitOK, "done \x1b[31m {}\n", ""},
		"with arguments":                    {"", []string{"get_account", "--arguments", `{"id":7}`}, exitOK, "done \x1b[31m {\"id\":7}\n", ""},
		"by server and name":                {"", []string{"server/get_account"}, exitOK, "done \x1b[31m {}\n", ""},
		"arguments by stdin":                {` {"id":8}` + "\n", []string{"get_account", "--arguments", "-"}, exitOK, `{"id":8}`, ""},
		"a yes":                             {"y\n", []string{"delete_account"}, exitOK, "done", "server/delete_account: dangerous"},
		"a no":                              {"n\n", []string{"delete_account"}, exitFindings, "", "fairlead: server/delete_account was not called: you denied it\n"},
		"a no with guidance":                {"archive it\n", []string{"delete_account"}, exitFindings, "", "archive it"},
		"silence":                           {"", []string{"delete_account"}, exitFindings, "", "\nfairlead: server/delete_account was not called: nobody approved it (the input has ended)\n"},
		"an edit":                           {"e\n{\"id\":9}\ny\n", []string{"delete_account"}, exitOK, `{"id":9}`, ""},
		"arguments by stdin leave no yes":   {"{}\ny\n", []string{"delete_account", "--arguments", "-"}, exitUsage, "", "no JSON object"},
		"nobody is there to say yes":        {"{}", []string{"delete_account", "--arguments", "-"}, exitFindings, "", "was not called: nobody approved it (standard input has the arguments, so that you cannot be asked; give them after --arguments)\n"},
		"no such tool":                      {"", []string{"get_acount"}, exitUsage, "", `there is no tool "get_acount"; did you mean "get_account"?` + "\nThere are delete_account, get_account, send_message"},
		"no such tool of this server":       {"", []string{"other/get_account"}, exitUsage, "", "there is no tool"},
		"arguments are cut off":             {"", []string{"get_account", "--arguments", `{"id":`}, exitUsage, "", "no JSON object"},
		"a member twice is not passed on":   {"", []string{"get_account", "--arguments", `{"id":1,"id":2}`}, exitFindings, "", "id"},
		"a record in a folder that is none": {"", []string{"get_account", "--audit", "/nowhere/a.jsonl"}, exitUsage, "", "/nowhere/a.jsonl"},
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

func TestRecordIsWrittenShownAndVerified(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	url := lying(t)
	for _, call := range [][]string{
		{"y\n", "delete_account", `{"id":7,"password":"hunter2hunter2"}`},
		{"n\n", "send_message", `{}`},
		{"", "get_account", `{}`},
	} {
		_, _, stderr := program(t, call[0], "call", call[1], "--arguments", call[2], "--audit", path, url)
		if strings.Contains(stderr, "records are not in") {
			t.Fatal(stderr)
		}
	}
	code, stdout, stderr := program(t, "", "audit", "verify", path)
	if code != exitOK || !strings.Contains(stdout, "state      whole") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	for name, c := range map[string]struct {
		args  []string
		lines int
		has   string
	}{
		"all":           {nil, 4, ""},
		"by tool":       {[]string{"--tool", "delete_account"}, 2, "delete_account"},
		"by outcome":    {[]string{"--outcome", "denied"}, 1, "send_message"},
		"by class":      {[]string{"--class", "safe"}, 1, "get_account"},
		"by server":     {[]string{"--server", "other"}, 0, ""},
		"since":         {[]string{"--since", "1h"}, 4, ""},
		"two filters":   {[]string{"--class", "dangerous", "--outcome", "ok"}, 1, "delete_account"},
		"without ends":  {[]string{"--open"}, 0, ""},
		"as they stand": {[]string{"--json", "--tool", "delete_account", "--outcome", "ok"}, 1, `"outcome":"ok"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := program(t, "", append([]string{"audit", "show", path}, c.args...)...)
			if n := strings.Count(stdout, "\n"); code != exitOK || n != c.lines || strings.Count(stdout, c.has) < min(1, c.lines) {
				t.Errorf("exit %d, %d lines, want %d with %q:\n%s%s", code, n, c.lines, c.has, stdout, stderr)
			}
			if strings.Contains(stdout, "hunter2") {
				t.Error("a secret is shown")
			}
		})
	}
}

func TestShortCallIsShownAsShort(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	file, err := audit.OpenFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, took := range []time.Duration{121 * time.Microsecond, 1991806 * time.Microsecond} {
		if err := file.Write(t.Context(), audit.Record{Time: time.Now(), Kind: audit.End, Server: "shop", Tool: "get_status", Outcome: audit.OK, Took: took}); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	_, stdout, stderr := program(t, "", "audit", "show", path)
	if !strings.Contains(stdout, "ok in <1ms\n") || !strings.Contains(stdout, "ok in 1.992s\n") {
		t.Errorf("got %q, want a call of less than a millisecond and one of 1.992s; %s", stdout, stderr)
	}
}

func TestRecordThatWasChangedIsBroken(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "calls.jsonl")
		if code, _, stderr := program(t, "y\n", "call", "delete_account", "--audit", path, lying(t)); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		return path
	}
	edit := func(t *testing.T, path string, change func(string) string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(change(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		code   int
		want   string
	}{
		"changed": {func(t *testing.T, path string) {
			edit(t, path, func(s string) string { return strings.Replace(s, `"ok"`, `"denied"`, 1) })
		}, exitFindings, "damaged"},
		"an end cut off": {func(t *testing.T, path string) {
			edit(t, path, func(s string) string { return s[:strings.Index(s, "\n")+1] })
		}, exitFindings, "damaged"},
		"the head is gone": {func(t *testing.T, path string) {
			others, err := filepath.Glob(path + "?*")
			if err != nil || len(others) != 1 {
				t.Fatalf("%q, %v", others, err)
			}
			if err := os.Remove(others[0]); err != nil {
				t.Fatal(err)
			}
		}, exitFindings, "not attested"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t)
			c.change(t, path)
			for _, command := range []string{"verify", "show"} {
				code, stdout, stderr := program(t, "", "audit", command, path)
				if code != c.code || !strings.Contains(stderr, c.want) {
					t.Errorf("%s: exit %d, stdout %q, stderr %q; want %d and %q", command, code, stdout, stderr, c.code, c.want)
				}
			}
		})
	}
}

// A record that somebody wrote by hand moves no cursor.
func TestForgedRecordIsText(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	if err := os.WriteFile(path, []byte(`{"kind":"intent\u001b[2J","run":"r","n":1,"tool":"t","class":"safe"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stdout, stderr := program(t, "", "audit", "show", path); !strings.Contains(stdout, "intent") || strings.Contains(stdout+stderr, "\x1b") {
		t.Errorf("got %q and %q", stdout, stderr)
	}
}

// What was about to be done and has no end is named, by verify and by show.
func TestCallsWithoutAnEndAreNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	url := lying(t)
	for range 2 {
		if code, _, stderr := program(t, "y\n", "call", "delete_account", "--audit", path, named(url)); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	}
	// As a writer leaves it that is killed after the second intent: the head that it
	// wrote then says so. Without one nobody knows whether the end is there.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	cut := filepath.Join(t.TempDir(), "cut.jsonl")
	if err := os.WriteFile(cut, []byte(strings.Join(lines[:3], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := program(t, "", "audit", "verify", cut)
	if code != exitFindings || !strings.Contains(stdout, "It is unknown whether these happened: 1") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	_, stdout, _ = program(t, "", "audit", "show", "--open", cut)
	if strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "intent    server/delete_account") {
		t.Errorf("got %s", stdout)
	}
	_, stdout, _ = program(t, "", "audit", "verify", "--json", cut)
	var r struct {
		State string
		Open  []struct{ Tool string }
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.Open) != 1 || r.Open[0].Tool != "delete_account" {
		t.Errorf("%v in %s", err, stdout)
	}
}
