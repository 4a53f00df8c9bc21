package command_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// Clients that nobody here wrote and that show no forms: what the person and the model get
// to see, and how long a call waits. docs/reference/proxy.md has it as a table.
func TestClientsWithoutForms(t *testing.T) {
	t.Parallel()
	if os.Getenv("FAIRLEAD_NPX") == "" {
		t.Skip("SKIPPED: clients that nobody here wrote are not tried; FAIRLEAD_NPX=1 fetches them with npm and does")
	}
	dir := t.TempDir()
	program, rules := filepath.Join(dir, "fairlead"), filepath.Join(dir, "policy.json")
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rules, []byte(`{"approvals": {"patience": "12s"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"go", "build", "-o", program, ".."},
		{"npm", "install", "--no-audit", "--no-fund", "--prefix", dir, "@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/ext-tasks@0.2.2", "@modelcontextprotocol/client@2"},
	} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	exe, key := mcptest.Child(t, "lying")
	proxy := []string{program, "proxy", "--reach", "none", "--policy", rules, "--", "env", key, exe}
	for _, c := range []struct {
		shows, resets   string
		told            string
		seconds         int
		progress, opens bool
		then            string
	}{
		{"none", "true", "waits for the user's approval on the approvals page", 12, true, false, "done"},
		{"none", "false", "Request timed out", 8, true, false, "Request timed out"}, // it cancels, which ends the question
		{"url", "true", "waits for the user's approval on the approvals page", 12, true, true, "done"},
	} {
		t.Run(c.shows+" "+c.resets, func(t *testing.T) {
			t.Parallel()
			in, answers, links := script(t, dir, append([]string{"waiting.mjs", c.shows, c.resets}, proxy...)...)
			var first, second struct {
				Told, Opened      string
				Seconds, Progress int
			}
			if err := answers.Decode(&first); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(first.Told, c.told) || first.Seconds != c.seconds || first.Progress > 0 != c.progress || first.Opened != "" != c.opens {
				t.Errorf("got %+v", first)
			}
			if link := <-links; c.opens {
				decide(t, first.Opened)
			} else if c.then == "done" {
				decide(t, link)
			}
			if _, err := io.WriteString(in, "\n"); err != nil {
				t.Fatal(err)
			}
			if err := answers.Decode(&second); err != nil || !strings.Contains(second.Told, c.then) {
				t.Errorf("%v: then %+v", err, second)
			}
			t.Logf("%+v, then %+v", first, second)
		})
	}
	t.Run("tasks", func(t *testing.T) {
		t.Parallel()
		_, answers, links := script(t, dir, append([]string{"tasks.mjs"}, proxy...)...)
		var task, result struct {
			Told string
			Seen []string
		}
		if err := answers.Decode(&task); err != nil || !strings.Contains(task.Told, "waits for a person's approval on the approvals page") {
			t.Fatalf("%v: %+v", err, task)
		}
		decide(t, <-links)
		if err := answers.Decode(&result); err != nil || !strings.HasPrefix(result.Told, "done") {
			t.Errorf("%v: %+v", err, result)
		}
		t.Logf("%+v, then %+v", task, result)
	})
	t.Run("inspector", func(t *testing.T) {
		t.Parallel()
		script := filepath.Join(dir, "proxy.sh") // the inspector keeps two hyphens for itself
		if err := os.WriteFile(script, []byte("exec '"+strings.Join(proxy, "' '")+"'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "npx", "-y", "@modelcontextprotocol/inspector@2.12.0", "--cli", "sh", script, "--method", "tools/call", "--tool-name", "delete_account").CombinedOutput()
		if !strings.Contains(string(out), "waits for the user's approval on the approvals page") {
			t.Errorf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
	})
}

// script starts a client, and returns its input, what it prints, and the links at which questions wait.
func script(t *testing.T, dir string, args ...string) (in io.Writer, answers *json.Decoder, links chan string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	links = make(chan string, 10)
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if _, link, ok := strings.Cut(lines.Text(), "waits for approval at "); ok {
				links <- strings.Fields(link)[0]
			}
		}
	}()
	t.Cleanup(func() { _ = cmd.Wait() })
	return in, json.NewDecoder(out), links
}
