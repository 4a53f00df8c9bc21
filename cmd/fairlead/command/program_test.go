package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain lets the test binary be a server that the built program starts.
func TestMain(m *testing.M) {
	_ = os.Setenv("XDG_RUNTIME_DIR", filepath.Join(os.TempDir(), "fairlead-test")) // for the sockets of pages
	mcptest.Main(m, map[string]func() *mcp.Server{"honest": honest, "lying": lies, "vague": vague, "vault": vault, "office": office})
}

// honest is a server of one read that says so, and of one write.
func honest() *mcp.Server {
	s := mcptest.New()
	read := mcptest.Tool("get_account", "Gets an account.")
	read.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcptest.Add(s, read, says("an account"))
	return s
}

func says(text string) func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text + " " + string(arguments)}}}, nil
	}
}

// vague is a server of which nobody can say what it does.
func vague() *mcp.Server {
	s := mcptest.New()
	mcptest.Add(s, mcptest.Tool("frobnicate", ""), says("done"))
	return s
}

// office is a server of reads, writes and losses, and of a tool of which nobody can say what it does.
func office() *mcp.Server {
	s := mcptest.New()
	for _, name := range []string{"list_drafts", "get_order", "create_note", "delete_draft", "delete_order", "send_message", "wipe_disk", "frobnicate"} {
		mcptest.Add(s, mcptest.Tool(name, ""), says("done"))
	}
	return s
}

// lies is a server that calls everything read-only.
func lies() *mcp.Server {
	s := mcptest.New()
	for _, name := range []string{"delete_account", "get_account", "send_message"} {
		tool := mcptest.Tool(name, "")
		tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
		mcptest.Add(s, tool, says("done \x1b[31m"))
	}
	return s
}

// built is the program as go install makes it.
func built(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fairlead")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// runs runs the built program, with nothing on standard input, with one of the servers of this binary as "SERVER".
func runs(t *testing.T, path, server string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		if arg == "SERVER" {
			args[i] = exe
		}
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "FAIRLEAD_TEST_CHILD="+server)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatal(err)
		}
		return exit.ExitCode(), out.String(), errs.String()
	}
	return 0, out.String(), errs.String()
}

func TestExitCodesOfTheBuiltProgram(t *testing.T) {
	t.Parallel()
	path, dir := built(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	baseline := at("baseline.json")
	if code, out, errs := runs(t, path, "lying", "inspect", "--json", "--fail-on", "none", "--", "SERVER"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	} else if err := os.WriteFile(baseline, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runs(t, path, "honest", "lock", "accept", "--yes", "--lock", at("a.lock"), "--", "SERVER"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for name, c := range map[string]struct {
		code   int
		server string
		args   []string
	}{
		"inspect: clean":                      {0, "honest", []string{"inspect", "--", "SERVER"}},
		"the version":                         {0, "honest", []string{"--version"}},
		"inspect: findings":                   {1, "lying", []string{"inspect", "--", "SERVER"}},
		"inspect: findings, all milder":       {0, "lying", []string{"inspect", "--fail-on", "none", "--", "SERVER"}},
		"inspect: findings that are known":    {0, "lying", []string{"inspect", "--baseline", baseline, "--", "SERVER"}},
		"inspect: a warning":                  {0, "vague", []string{"inspect", "--", "SERVER"}},
		"inspect: a warning that counts":      {1, "vague", []string{"inspect", "--fail-on", "warning", "--", "SERVER"}},
		"inspect: no note":                    {0, "honest", []string{"inspect", "--fail-on", "note", "--", "SERVER"}},
		"inspect: as SARIF":                   {1, "lying", []string{"inspect", "--format", "sarif", "--", "SERVER"}},
		"inspect: as a page":                  {1, "lying", []string{"inspect", "--format", "html", "--", "SERVER"}},
		"inspect: a baseline that is none":    {2, "lying", []string{"inspect", "--baseline", at("a.lock"), "--", "SERVER"}},
		"inspect: no baseline":                {2, "lying", []string{"inspect", "--baseline", at("none"), "--", "SERVER"}},
		"inspect: as accepted":                {0, "honest", []string{"inspect", "--lock", at("a.lock"), "--", "SERVER"}},
		"inspect: not as accepted":            {1, "lying", []string{"inspect", "--lock", at("a.lock"), "--", "SERVER"}},
		"inspect: no lock file":               {2, "lying", []string{"inspect", "--lock", at("none"), "--", "SERVER"}},
		"inspect: an empty lock":              {2, "honest", []string{"inspect", "--lock", "", "--", "SERVER"}},
		"proxy: empty scopes":                 {2, "honest", []string{"proxy", "--scope", "", "--", "SERVER"}},
		"proxy: an empty list of approvers":   {2, "honest", []string{"proxy", "--approve=", "--", "SERVER"}},
		"inspect: no time":                    {2, "honest", []string{"inspect", "--timeout", "-1s", "--", "SERVER"}},
		"inspect: no time at all":             {2, "honest", []string{"inspect", "--timeout", "0", "--", "SERVER"}},
		"inspect: an URL with a query":        {3, "honest", []string{"inspect", "--server", "a=http://127.0.0.1:1/mcp?a=1&b=2"}},
		"inspect: no such flag":               {2, "honest", []string{"inspect", "--what"}},
		"inspect: no such level":              {2, "honest", []string{"inspect", "--fail-on", "terrible", "--", "SERVER"}},
		"inspect: no server":                  {2, "honest", []string{"inspect"}},
		"inspect: no such command":            {3, "honest", []string{"inspect", "--", "no-such-command-anywhere"}},
		"inspect: refused":                    {3, "honest", []string{"inspect", "http://127.0.0.1:1/mcp"}},
		"inspect: one of two does not answer": {3, "honest", []string{"inspect", "http://127.0.0.1:1/mcp", "--", "SERVER"}},
		"prompt":                              {0, "honest", []string{"prompt", "--", "SERVER"}},
		"prompt: refused":                     {3, "honest", []string{"prompt", "http://127.0.0.1:1/mcp"}},
		"call":                                {0, "honest", []string{"call", "get_account", "--", "SERVER"}},
		"call: nobody says yes":               {1, "lying", []string{"call", "delete_account", "--", "SERVER"}},
		"call: no such tool":                  {2, "honest", []string{"call", "get_nothing", "--", "SERVER"}},
		"call: arguments are no object":       {2, "honest", []string{"call", "get_account", "--arguments", "[]", "--", "SERVER"}},
		"call: refused":                       {3, "honest", []string{"call", "get_account", "http://127.0.0.1:1/mcp"}},
		"lock diff: the same":                 {0, "honest", []string{"lock", "diff", "--lock", at("a.lock"), "--", "SERVER"}},
		"lock diff: changed":                  {1, "lying", []string{"lock", "diff", "--lock", at("a.lock"), "--", "SERVER"}},
		"lock accept: nobody says yes":        {1, "honest", []string{"lock", "accept", "--lock", at("b.lock"), "--", "SERVER"}},
		"lock accept: a file that is none":    {2, "honest", []string{"lock", "accept", "--yes", "--lock", baseline, "--", "SERVER"}},
		"review: nothing to decide":           {0, "honest", []string{"review", "--lock", at("a.lock"), "--", "SERVER"}},
		"review: nobody decides":              {1, "vague", []string{"review", "--lock", at("c.lock"), "--", "SERVER"}},
		"review: refused":                     {3, "honest", []string{"review", "http://127.0.0.1:1/mcp"}},
		"audit verify: no file":               {2, "honest", []string{"audit", "verify", at("none")}},
		"audit verify: no record":             {1, "honest", []string{"audit", "verify", baseline}},
		"help":                                {0, "honest", []string{"help", "inspect"}},
		"no such command":                     {2, "honest", []string{"explode"}},
		"no such command of lock":             {2, "honest", []string{"lock", "explode"}},
		"no such command of policy":           {2, "honest", []string{"policy", "explode"}},
		"no such command of audit":            {2, "honest", []string{"audit", "explode"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := runs(t, path, c.server, c.args...)
			if code != c.code {
				t.Errorf("exit %d, want %d; stdout %.300q, stderr %q", code, c.code, stdout, stderr)
			}
			if (code != 0) != strings.Contains(stderr, "fairlead: ") {
				t.Errorf("exit %d and stderr %q", code, stderr)
			}
		})
	}
	if _, err := os.Stat(at("b.lock")); err == nil {
		t.Error("a lock file was written that nobody agreed to")
	}
}

// Whoever interrupts the program has it end, whatever it waits for.
func TestInterruptEndsWhatWaitsForInput(t *testing.T) {
	t.Parallel()
	url, dir := lying(t), t.TempDir()
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"infer":     {[]string{"infer"}, exitFindings},
		"arguments": {[]string{"call", "get_account", "--arguments", "-", url}, exitUsage},
		"a class":   {[]string{"review", "--all", "--lock", filepath.Join(dir, "a.lock"), url}, exitFindings},
		"an answer": {[]string{"lock", "accept", "--lock", filepath.Join(dir, "a.lock"), url}, exitFindings},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			typed, keyboard := io.Pipe()
			t.Cleanup(func() { _ = keyboard.Close() })
			ended := make(chan int, 1)
			var out, errs bytes.Buffer
			go func() { ended <- Run(ctx, c.args, typed, &out, &errs) }()
			_, _ = keyboard.Write([]byte("y")) // which ends when somebody reads it
			interrupt()
			select {
			case code := <-ended:
				if code != c.code || c.code != exitOK && !strings.Contains(errs.String(), "fairlead: ") {
					t.Errorf("exit %d, want %d; stderr %q", code, c.code, errs.String())
				}
			case <-time.After(20 * time.Second):
				t.Error("it goes on")
			}
		})
	}
}
