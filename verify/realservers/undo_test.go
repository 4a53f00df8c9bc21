package realservers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A reversible call is one that a person is asked about, with what the question shows, and is taken back if it can be.
type reversible struct {
	name, server    string // the package of npm
	tool, arguments string
	preview         bool     // the policy has the call tried first
	question        []string // parts of it
	undone          bool     // or it cannot be undone
}

const graph = `{"type":"entity","name":"Ada","entityType":"person","observations":["lives here"]}
{"type":"entity","name":"Eve","entityType":"person","observations":[]}`

var reversibles = []reversible{
	{
		"a move", "@modelcontextprotocol/server-filesystem", "move_file", `{"source":"DIR/a.txt","destination":"DIR/b.txt"}`, false,
		[]string{"Move DIR/a.txt to DIR/b.txt", "may be undone by s/move_file the other way round"}, true,
	},
	{
		"a move, at another server", "mcp-server-filesystem", "move_file", `{"source":"DIR/a.txt","destination":"DIR/b.txt"}`, false,
		[]string{"Move DIR/a.txt to DIR/b.txt", "may be undone by s/move_file the other way round"}, true,
	},
	{
		"entities, one of which is there", "@modelcontextprotocol/server-memory", "create_entities",
		`{"entities":[{"name":"Ada","entityType":"person","observations":["x"]},{"name":"Bob","entityType":"person","observations":["y"]}]}`, false,
		[]string{"Create 2 entities", "Ada, Bob", "may be undone by s/delete_entities, the opposite by its name"}, true,
	},
	{
		"relations", "@modelcontextprotocol/server-memory", "create_relations", `{"relations":[{"from":"Ada","to":"Eve","relationType":"met"}]}`, false,
		[]string{"Create 1 relation on s: from Ada, to Eve, relationType met", "may be undone by s/delete_relations, the opposite by its name"}, true,
	},
	{
		"an edit that was tried", "@modelcontextprotocol/server-filesystem", "edit_file", `{"path":"DIR/a.txt","edits":[{"oldText":"two","newText":"2"}]}`, true,
		[]string{"Edit DIR/a.txt: 1 change", "answer to a trial", "-two", "+2"}, false,
	},
	{
		"an edit that was tried, at another server", "mcp-server-filesystem", "edit_file", `{"path":"DIR/a.txt","edits":[{"oldText":"two","newText":"2"}]}`, true,
		[]string{"Edit DIR/a.txt: 1 change", "answer to a trial", "-two", "+2"}, false,
	},
	{ // with the switch it is not known to be harmless
		"a batch that is not tried", "fast-filesystem-mcp", "fast_batch_file_operations", `{"operations":[{"operation":"move","source":"DIR/a.txt","destination":"DIR/b.txt"}]}`, true,
		[]string{"operations[0].operation: \"move\"\n"}, false,
	},
}

// What a preview shows and what fairlead undo restores, with servers of other authors, whose state is their files.
func TestPreviewAndUndo(t *testing.T) {
	packages := os.Getenv("FAIRLEAD_NPM_MANY")
	if packages == "" {
		t.Skip("SKIPPED: FAIRLEAD_NPM_MANY names no folder node_modules with the packages of testdata/servers.txt, which .ci/nightly installs: nothing is taken back at a real server")
	}
	for _, c := range reversibles {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, beside := folder(t), folder(t)
			for name, text := range map[string]string{"a.txt": "one\ntwo\nthree\n", "memory.jsonl": graph, "from/new.txt": "new\n", "to/old.txt": "old\n"} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			policy := `{"approvals":{"writes":true}}`
			if c.preview {
				policy = `{"approvals":{"writes":true},"previews":["s/*"]}`
			}
			rules, record := filepath.Join(beside, "policy.json"), filepath.Join(beside, "calls.jsonl")
			if err := os.WriteFile(rules, []byte(policy), 0o600); err != nil {
				t.Fatal(err)
			}
			command := append([]string{"env", "MEMORY_FILE_PATH=" + filepath.Join(dir, "memory.jsonl")}, listed{name: c.server, args: []string{dir}}.command(t, packages)...)
			before := state(t, dir)
			client := proxied(t, ledger(filepath.Join(beside, "ledger")), []string{"--name", "s", "--approve", "elicit", "--policy", rules, "--audit", record, "--"}, command...)
			var atQuestion map[string]string
			client.answer = func(m message) {
				atQuestion = state(t, dir)
				client.reply(m, "allow")
			}
			arguments := strings.ReplaceAll(c.arguments, "DIR", dir)
			answer := client.await(client.call(`{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"` + c.tool + `","arguments":` + arguments + `}}`))
			if bytes.Contains(answer.Result, []byte(`"isError":true`)) || len(answer.Error) > 0 {
				t.Fatalf("%s %s", answer.Result, answer.Error)
			}
			if diff := cmp.Diff(before, atQuestion); diff != "" || len(client.asked) != 1 {
				t.Fatalf("%d questions; what was there when the person was asked (-before +then)\n%s", len(client.asked), diff)
			}
			for _, part := range c.question {
				if !strings.Contains(client.asked[0], strings.ReplaceAll(part, "DIR", dir)) {
					t.Errorf("the question has no %q:\n%s", part, client.asked[0])
				}
			}
			if tried := strings.Contains(client.asked[0], "trial"); tried != (c.preview && !strings.Contains(c.name, "not tried")) {
				t.Errorf("a trial is shown: %t\n%s", tried, client.asked[0])
			}
			if cmp.Equal(before, state(t, dir)) {
				t.Fatal("the approved call has changed nothing")
			}
			client.close()
			out, err := c.undo(t, record, command)
			if diff := cmp.Diff(before, state(t, dir)); c.undone && (err != nil || diff != "") {
				t.Errorf("undo: %v (-before +after)\n%s\n%s", err, diff, out)
			}
			if !c.undone && !strings.Contains(out, "cannot be undone here") {
				t.Errorf("undo: %v\n%s", err, out)
			}
		})
	}
}

// folder returns an empty folder. The name of t.TempDir is so long that the record takes it for a secret.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "") //nolint:usetesting // its names are too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// undo has the recorded call taken back, approved at the terminal.
func (c reversible) undo(t *testing.T, record string, command []string) (string, error) {
	t.Helper()
	args := append([]string{"undo", recordedCall(t, record, c.tool), "--audit", record, "--name", "s", "--"}, command...)
	undo := exec.CommandContext(t.Context(), program(t, "fairlead"), args...)
	undo.Stdin = strings.NewReader("y\n")
	out, err := undo.CombinedOutput()
	return string(out), err
}

// recordedCall returns the number of the call of a tool in a record.
func recordedCall(t *testing.T, record, tool string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t, "fairlead"), "audit", "show", "--json", record).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range bytes.Lines(out) {
		var r struct {
			Kind, Run, Tool, Scope string
			N                      int
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == "end" && r.Tool == tool && r.Scope == "" {
			return fmt.Sprintf("%s/%d", r.Run, r.N)
		}
	}
	t.Fatalf("no call of %s in\n%s", tool, out)
	return ""
}

// state is what the files of a folder have.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
