//go:build unix

package command

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connected runs fairlead connect with a home folder.
func connected(t *testing.T, program, home, answer string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"connect"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "APPDATA=" + home, "USERPROFILE=" + home}, strings.NewReader(answer)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the exit code is what matters
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// The client of a guarded server starts the proxy, which lists the server's tools and records the calls; and undone, the
// file is as it was.
func TestConnect(t *testing.T) {
	t.Parallel()
	program, home := programtest.Path(t), t.TempDir()
	exe, env := mcptest.Child(t, "lying")
	const key = "X-Key"
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(key) != "sesame" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		server := mcp.NewServer(&mcp.Implementation{Name: "remote", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{Name: "list_things", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}).ServeHTTP(w, r)
	}))
	t.Cleanup(remote.Close)
	file := filepath.Join(home, ".cursor", "mcp.json")
	quoted := func(text string) string { b, _ := json.Marshal(text); return string(b) }
	before := "{\n  // mine\n  \"mcpServers\": {\n    \"crm\": {\"command\": \"env\", \"args\": [" + quoted(env) + ", " + quoted(exe) + "]},\n" +
		`    "login": {"url": ` + quoted(remote.URL) + "},\n" + `    "remote": {"url": ` + quoted(remote.URL) + `, "headers": {"X-Key": "sesame"}}` + "\n  }\n}\n"
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	same := func(when string) {
		t.Helper()
		if now, err := os.ReadFile(file); err != nil || string(now) != before {
			t.Fatalf("%s: %v, %s", when, err, now)
		}
	}
	if code, out, errs := connected(t, program, home, "", "--dry-run"); code != 1 || !strings.Contains(errs, "would be changed") || !strings.Contains(out, "guard: crm, remote") ||
		!strings.Contains(out, "login wants a login (status 401)") || strings.Contains(out, "sesame") {
		t.Errorf("got %d, %s, %s", code, out, errs)
	}
	same("after a dry run")
	for _, answer := range []string{"", "n\n", "perhaps\n"} {
		if code, _, errs := connected(t, program, home, answer); code != 1 || !strings.Contains(errs, "nothing was changed") {
			t.Errorf("%q: got %d, %s", answer, code, errs)
		}
	}
	same("without a yes")
	if code, out, errs := connected(t, program, home, "y\n"); code != 0 {
		t.Fatalf("got %d, %s, %s", code, out, errs)
	}
	if code, _, errs := connected(t, program, home, "", "--dry-run"); code != 0 || !strings.Contains(errs, "nothing to change") {
		t.Errorf("a second time: got %d, %s", code, errs)
	}
	for name, tool := range map[string]string{"crm": "", "remote": "list_things"} {
		if tools := entryTools(t, file, name, home); len(tools) == 0 || tool != "" && !slices.Contains(tools, tool) {
			t.Errorf("%s: got %q", name, tools)
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".fairlead", "calls.jsonl")); err != nil {
		t.Error(err)
	}
	if code, out, errs := connected(t, program, home, "", "--undo", "--yes"); code != 0 {
		t.Errorf("got %d, %s, %s", code, out, errs)
	}
	same("undone")
	if _, err := os.Stat(filepath.Join(home, ".cursor", "hooks.json")); !os.IsNotExist(err) {
		t.Errorf("the hooks stayed: %v", err)
	}
}

// entryTools starts a server of a client's file as the client would, and returns the names of its tools.
func entryTools(t *testing.T, file, name, home string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Servers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(strings.Replace(string(text), "// mine", "", 1)), &config); err != nil {
		t.Fatal(err)
	}
	entry := config.Servers[name]
	cmd := exec.CommandContext(t.Context(), entry.Command, entry.Args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	for name, value := range entry.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// A program that a package manager has downloaded to run once is not there any more when a client starts it.
func TestConnectWantsAProgramThatStays(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".cursor", "mcp.json"), []byte(`{"mcpServers": {"a": {"command": "x"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, stays := range map[string]bool{".npm/_npx/ab12/node_modules/fairlead/bin": false, "pnpm/dlx-1234/a": false, "bunx-0-x/a": false, "lib/node_modules/npx/bin": true} {
		program := filepath.Join(home, folder, "fairlead")
		if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(programtest.Path(t), program); err != nil { // a program that is being written cannot be run
			t.Fatal(err)
		}
		code, stdout, stderr := connected(t, program, home, "", "--dry-run")
		if refused := strings.Contains(stderr, "npm install --global"); refused == stays || strings.Contains(stdout, folder+"/fairlead") != stays {
			t.Errorf("%s: got exit code %d, %s, %s", folder, code, stderr, stdout)
		}
	}
}

// After the changes the next steps are named: Codex' question alone where Codex was changed, and nothing to take back
// after that was done.
func TestConnectNamesTheNextSteps(t *testing.T) {
	t.Parallel()
	program, home := programtest.Path(t), t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".codeium", "windsurf"), 0o700); err != nil {
		t.Fatal(err)
	}
	// One line, as a program may write it: the diff shows all of what is added.
	if err := os.WriteFile(filepath.Join(home, ".codeium", "windsurf", "mcp_config.json"),
		[]byte(`{"mcpServers": {"first": {"command": "x"}, "second": {"command": "x"}, "last": {"command": "the-last-program"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "my guard")
	_, stdout, stderr := connected(t, program, home, "y\n", "--dir", dir)
	if !strings.Contains(stdout, `"--", "the-last-program"`) {
		t.Errorf("the diff does not show the last server: %s", stdout)
	}
	for _, want := range []string{"fairlead approve", "audit show '" + dir + "/calls.jsonl'", "connect --undo --dir '" + dir + "'"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q does not name %q", stderr, want)
		}
	}
	if strings.Contains(stderr, "Codex") {
		t.Errorf("Codex was not changed: %s", stderr)
	}
	if _, _, stderr := connected(t, program, home, "y\n", "--undo", "--dir", dir); strings.Contains(stderr, "--undo") || strings.Contains(stderr, "approve") {
		t.Errorf("after it was taken back: %s", stderr)
	}
}
