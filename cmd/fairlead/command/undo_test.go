package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call that was approved and recorded is taken back by its number, and by nothing that the record does not have.
func TestUndo(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var moved []string
	server := mcptest.New()
	move := mcptest.Tool("move_file", "Move a file, and overwrite what is there.")
	move.InputSchema = map[string]any{"type": "object", "properties": map[string]any{"source": map[string]any{"type": "string"}, "destination": map[string]any{"type": "string"}}}
	mcptest.Add(server, move, func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		moved = append(moved, string(arguments))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "moved"}}}, nil
	})
	_, h := mcptest.ConnectHTTP(t, server, nil, mcptest.Modern)
	url := h.URL
	file := filepath.Join(t.TempDir(), "calls.jsonl")
	if code, _, stderr := program(t, "y\n", "call", "move_file", "--arguments", `{"source":"a","destination":"b"}`, "--audit", file, named(url)); code != exitOK || !strings.Contains(stderr, "may be undone by server/move_file the other way round") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	run := regexp.MustCompile(`"run":"([^"]+)"`).FindSubmatch(text)
	number := string(run[1]) + "/1"
	if code, _, stderr := program(t, "y\n", "undo", "other/1", "--audit", file, named(url)); code != exitFindings || !strings.Contains(stderr, "has no end of a call") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := program(t, "n\n", "undo", number, "--audit", file, named(url)); code != exitFindings || !strings.Contains(stderr, "was not called: you denied it") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := program(t, "y\n", "undo", number, "--audit", file, named(url)); code != exitOK || len(moved) != 2 || moved[1] != `{"destination":"a","source":"b"}` {
		t.Errorf("exit %d, moved %q: %s", code, moved, stderr)
	}
	const random = "x7Kq9LmP2vRt8WzB4nYc6DfG1hJs3TaEb5"
	hidden := filepath.Join(t.TempDir(), "calls.jsonl")
	if code, _, stderr := program(t, "y\n", "call", "move_file", "--arguments", `{"source":"a","destination":"/tmp/`+random+`/b"}`, "--audit", hidden, named(url)); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	kept, err := os.ReadFile(hidden)
	if err != nil || bytes.Contains(kept, []byte(random)) {
		t.Fatalf("%v, or a long random name is in the record: %s", err, kept)
	}
	its := string(regexp.MustCompile(`"run":"([^"]+)"`).FindSubmatch(kept)[1]) + "/1"
	const next = `is taken back by server/move_file, but the record leaves "source" of its arguments out, which has the form of a secret or is too long`
	if code, _, stderr := program(t, "y\n", "undo", its, "--audit", hidden, named(url)); code != exitFindings || !strings.Contains(stderr, next) ||
		!strings.Contains(stderr, "fairlead call server/move_file --arguments JSON") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte(`"a"`), []byte(`"c"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := program(t, "y\n", "undo", number, "--audit", file, named(url)); code != exitFindings || len(moved) != 3 || !strings.Contains(stderr, "was changed, so nothing of it is made") {
		t.Errorf("exit %d, moved %q: %s", code, moved, stderr)
	}
}
