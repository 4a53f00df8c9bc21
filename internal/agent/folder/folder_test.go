package folder_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/internal/agent/folder"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// open serves a folder with a few files, and returns it with a way to call it.
func open(t *testing.T, o folder.Options, handler func(*mcp.ProgressNotificationClientRequest)) (string, *folder.Server, func(tool, arguments string) (string, error)) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "one", "b.txt": "one", "sub/c.txt": "Two\nthree", ".hidden": "x", "bin": "a\x00b"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, closeFolder, err := folder.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeFolder() })
	var options mcp.ClientOptions
	if handler != nil {
		options.ProgressNotificationHandler = func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { handler(r) }
	}
	session, err := server.Connect(t.Context(), mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &options))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return dir, server, func(tool, arguments string) (string, error) {
		params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}
		if handler != nil {
			params.SetProgressToken("token")
		}
		res, err := session.CallTool(t.Context(), params)
		if err != nil {
			return "", err
		}
		text := res.Content[0].(*mcp.TextContent).Text
		if res.IsError {
			text = "error: " + text
		}
		return text, nil
	}
}

func TestToolsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	dir, server, call := open(t, folder.Options{}, nil)
	for _, c := range []struct{ tool, arguments, want string }{
		{"list_files", `{}`, `"path":"sub/c.txt"`},
		{"list_files", `{"path":"sub"}`, `{"entries":[{"path":"sub/c.txt","size":9}]}`},
		{"read_file", `{"path":"a.txt"}`, `"text":"one"`},
		{"read_file", `{"path":"bin"}`, `error: "bin" is no text`},
		{"read_file", `{"path":"none"}`, `error: "none" does not exist`},
		{"read_file", `{"path":"sub"}`, `error: "sub" is no plain file`},
		{"search_text", `{"text":"two"}`, `{"line":1,"path":"sub/c.txt","text":"Two"}`},
		{"search_text", `{"text":""}`, `error: text is empty`},
		{"hash_files", `{"paths":["a.txt"]}`, `"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"`},
		{"create_file", `{"path":"a.txt","text":"x"}`, `error: "a.txt" exists already`},
		{"create_file", `{"path":"new/d.txt","text":"four"}`, `new/d.txt`},
		{"write_file", `{"path":"a.txt","text":"five"}`, `".trash/a.txt"`},
		{"write_file", `{"path":"a.txt","text":"six"}`, `".trash/a.txt.2"`},
		{"move_file", `{"from":"a.txt","to":"b.txt"}`, `error: "b.txt" exists already`},
		{"move_file", `{"from":"a.txt","to":"deep/er/a.txt"}`, `deep/er/a.txt`},
		{"make_directory", `{"path":"empty"}`, `empty`},
		{"delete_file", `{"path":"b.txt"}`, `".trash/b.txt"`},
		{"delete_file", `{"path":"b.txt"}`, `error: "b.txt" does not exist`},
	} {
		if got, err := call(c.tool, c.arguments); err != nil || !strings.Contains(sorted(got), c.want) {
			t.Errorf("%s %s answers %q (%v), want %q", c.tool, c.arguments, got, err, c.want)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "deep/er/a.txt")); err != nil || string(got) != "six" {
		t.Errorf("the moved file is %q (%v)", got, err)
	}
	for name, want := range map[string]string{".trash/a.txt": "one", ".trash/a.txt.2": "five", ".trash/b.txt": "one"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
	for _, e := range server.Ledger() {
		if wantRuns := map[bool]int{true: 2, false: 1}[e.Tool == "delete_file"]; e.Runs != wantRuns || e.Times > 1 {
			t.Errorf("the ledger has %+v", e)
		}
	}
}

// sorted writes an answer again with the members of its objects in order.
func sorted(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	raw, _ := json.Marshal(v)
	return string(raw)
}

func TestNoPathLeavesTheFolder(t *testing.T) {
	t.Parallel()
	dir, _, call := open(t, folder.Options{}, nil)
	outside := filepath.Join(t.TempDir(), "outside.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": outside, "up": filepath.Dir(outside)} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, path := range []string{outside, "../outside.txt", "sub/../../x", "link", "up/outside.txt", ".trash/x", ".trash", `..\\x`} {
		for _, c := range [][2]string{
			{"read_file", `{"path":"` + path + `"}`}, {"delete_file", `{"path":"` + path + `"}`},
			{"write_file", `{"path":"` + path + `","text":"x"}`}, {"create_file", `{"path":"` + path + `","text":"x"}`},
			{"move_file", `{"from":"a.txt","to":"` + path + `"}`}, {"move_file", `{"from":"` + path + `","to":"z"}`},
		} {
			if got, err := call(c[0], c[1]); err != nil || !strings.HasPrefix(got, "error: ") || strings.Contains(got, "secret") {
				t.Errorf("%s %s answers %q (%v)", c[0], c[1], got, err)
			}
		}
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "secret" {
		t.Errorf("the file outside is %q (%v)", got, err)
	}
	if got, err := call("list_files", `{}`); err != nil || strings.Contains(got, "link") || strings.Contains(got, "hidden") {
		t.Errorf("the list is %s (%v)", got, err)
	}
}

func TestPurgeDeletesForGood(t *testing.T) {
	t.Parallel()
	dir, _, call := open(t, folder.Options{Purge: true}, nil)
	for _, c := range [][2]string{{"delete_file", `{"path":"a.txt"}`}, {"write_file", `{"path":"b.txt","text":"new"}`}} {
		if got, err := call(c[0], c[1]); err != nil || strings.Contains(got, "kept") {
			t.Errorf("%s answers %q (%v)", c[0], got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".trash")); err == nil {
		t.Error("there is a .trash")
	}
	if got, err := os.ReadFile(filepath.Join(dir, "b.txt")); err != nil || string(got) != "new" {
		t.Errorf("b.txt is %q (%v)", got, err)
	}
}

func TestHashingReportsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var steps []float64
		_, _, call := open(t, folder.Options{}, func(r *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			steps = append(steps, r.Params.Progress/r.Params.Total)
		})
		if _, err := call("hash_files", `{"paths":["a.txt","b.txt"]}`); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(steps) != 2 || steps[1] != 1 {
			t.Errorf("the steps are %v", steps)
		}
	})
}

func TestFaultsAreOfAllKindsAndEndAfterTwo(t *testing.T) {
	t.Parallel()
	_, server, call := open(t, folder.Options{Flaky: 1, Seed: 7}, nil)
	codes := map[int64]int{}
	for i := range 60 {
		name := string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		for try := range 3 {
			_, err := call("create_file", `{"path":"n/`+name+`","text":"x"}`)
			if (err == nil) != (try == 2) {
				t.Fatalf("try %d of %s ends with %v", try+1, name, err)
			}
			if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
				codes[wire.Code]++
			}
		}
	}
	if codes[-32023] == 0 || codes[jsonrpc.CodeInternalError] == 0 || codes[0] == 0 {
		t.Errorf("the codes are %v", codes)
	}
	lost := 0
	for _, e := range server.Ledger() {
		lost += e.Runs - 1
	}
	if lost == 0 {
		t.Error("no answer was lost after the call was executed")
	}
}
