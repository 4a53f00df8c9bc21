package replaytest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/fairleadtest/replaytest"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The file of the examples is what the server answers today.
func TestConnect(t *testing.T) {
	t.Parallel()
	session := replaytest.Connect(t, filepath.Join("testdata", "notes.json"), replaytest.Options{
		Real: func(context.Context) (mcp.Transport, error) { return mcptest.ChildTransport(t, "notes"), nil },
	})
	var got []string
	for _, c := range [][2]string{
		{"get_note", `{"id":1}`}, {"list_notes", `{}`}, {"add_note", `{"text":"call Ada"}`}, {"list_notes", `{}`}, {"get_note", `{"id":9}`},
	} {
		got = append(got, text(t, session, c[0], c[1]))
	}
	want := []string{"buy milk", "buy milk", "note 2", "buy milk, call Ada", "error: calling \"tools/call\": there is no note 9"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const planted = "Tr0ub4dor-and-3"

func TestRecordAnew(t *testing.T) { // it sets the environment
	file := filepath.Join(t.TempDir(), "notes.json")
	changed := func() *mcp.Server {
		s := notes()
		s.RemoveTools("say")
		tool := mcptest.Tool("list_notes", "Lists and deletes the notes.")
		tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"all":{"type":"boolean"}}}`)
		mcptest.Add(s, tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return mcptest.Text("none"), nil })
		return s
	}
	session := func(mode string, server func() *mcp.Server) *tb {
		t.Setenv("FAIRLEAD_RECORD", mode)
		return run(t, func(tt testing.TB) {
			s := replaytest.Connect(tt, file, replaytest.Options{
				Real: func(context.Context) (mcp.Transport, error) { return mcptest.MemoryTransport(t, server()), nil },
			})
			if got := text(t, s, "get_note", `{"id":1}`); got != "buy milk" {
				tt.Error("the note is " + got)
			}
		})
	}
	if f := session("1", notes); f.failures != nil {
		t.Fatal(f.failures)
	}
	first := read(t, file)
	if f := session("", nil); f.failures != nil {
		t.Errorf("the replay: %q", f.failures)
	}
	want := []string{
		"replaytest: " + file + `: the definition of list_notes/description: recorded "Lists the notes.", now "Lists and deletes the notes."`,
		"replaytest: " + file + `: the definition of list_notes/inputSchema/properties: not recorded, now {"all":{"type":"boolean"}}`,
		"replaytest: " + file + `: the definition of say: recorded {"inputSchema":{"type":"object"},"name":"say"}, now absent`,
	}
	for _, mode := range []string{"check", "1"} {
		if diff := cmp.Diff(want, session(mode, changed).failures); diff != "" {
			t.Errorf("%s: %s", mode, diff)
		}
		if same := read(t, file) == first; same != (mode == "check") {
			t.Errorf("%s: the file is the same: %v", mode, same)
		}
	}
	if f := session("1", changed); f.failures != nil {
		t.Errorf("once more: %q", f.failures)
	}
	if f := session("yes", notes); len(f.failures) != 1 || !strings.Contains(f.failures[0], `"yes"; write 1 or check`) {
		t.Errorf("another word: %q", f.failures)
	}
}

// A module that has only this one tests with a file, offline.
func TestInAModuleOfItsOwn(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.sum": read(t, filepath.Join(root, "go.sum")), "testdata/notes.json": read(t, filepath.Join("testdata", "notes.json")),
		"agent_test.go": `package agent

import (
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/replaytest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestAgent(t *testing.T) {
	session := replaytest.Connect(t, "testdata/notes.json", replaytest.Options{})
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_note", Arguments: map[string]any{"id": 1}})
	if err != nil || res.Content[0].(*mcp.TextContent).Text != "buy milk" {
		t.Error(res, err)
	}
}
`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const module = "github.com/fairlead-go/fairlead"
	for _, args := range [][]string{
		{"mod", "init", "example.com/agent"},
		{"mod", "edit", "-require", module + "@v0.0.0", "-replace", module + "=" + root},
		{"test", "./..."},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PWD="+dir, "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "FAIRLEAD_RECORD=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
