package replaytest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/fairleadtest/replaytest"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) {
	mcptest.Main(m, map[string]func() *mcp.Server{"notes": notes})
}

// notes is a server whose answers depend on the calls before.
func notes() *mcp.Server {
	s, all := mcptest.New(), []string{"buy milk"}
	add := func(name, description string, answer func(arguments map[string]any) (*mcp.CallToolResult, error)) {
		mcptest.Add(s, mcptest.Tool(name, description), func(_ context.Context, raw json.RawMessage) (*mcp.CallToolResult, error) {
			var arguments map[string]any
			if err := json.Unmarshal(raw, &arguments); err != nil {
				return nil, err
			}
			return answer(arguments)
		})
	}
	add("get_note", "Gets a note.", func(arguments map[string]any) (*mcp.CallToolResult, error) {
		id, _ := arguments["id"].(float64)
		if int(id) < 1 || int(id) > len(all) {
			return nil, fmt.Errorf("there is no note %v", arguments["id"])
		}
		return mcptest.Text(all[int(id)-1]), nil
	})
	add("list_notes", "Lists the notes.", func(map[string]any) (*mcp.CallToolResult, error) {
		return mcptest.Text(strings.Join(all, ", ")), nil
	})
	add("add_note", "Adds a note.", func(arguments map[string]any) (*mcp.CallToolResult, error) {
		all = append(all, fmt.Sprint(arguments["text"]))
		return mcptest.Text(fmt.Sprintf("note %d", len(all))), nil
	})
	add("say", "", func(arguments map[string]any) (*mcp.CallToolResult, error) {
		if text, ok := arguments["fail"].(string); ok {
			return nil, errors.New(text)
		}
		text, _ := arguments["text"].(string)
		return mcptest.Text(text), nil
	})
	return s
}

// A tb is a test that may fail.
type tb struct {
	testing.TB

	failures, logs []string
	cleanups       []func()
}

func (f *tb) Helper()           {}
func (f *tb) Cleanup(do func()) { f.cleanups = append(f.cleanups, do) }
func (f *tb) Log(args ...any)   { f.logs = append(f.logs, fmt.Sprint(args...)) }
func (f *tb) Error(args ...any) { f.failures = append(f.failures, fmt.Sprint(args...)) }
func (f *tb) Fatal(args ...any) { f.Error(args...); runtime.Goexit() }
func (f *tb) Fatalf(format string, args ...any) {
	f.Fatal(fmt.Sprintf(format, args...))
}

// run runs a test that may fail.
func run(t *testing.T, test func(t testing.TB)) *tb {
	t.Helper()
	f := &tb{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, do := range slices.Backward(f.cleanups) {
				do()
			}
		}()
		test(f)
	}()
	<-done
	return f
}

func text(t *testing.T, session *mcp.ClientSession, tool, arguments string) string {
	t.Helper()
	res, err := session.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return "error: " + err.Error()
	}
	if res.IsError {
		return "failed: " + output.Text(res)
	}
	return output.Text(res)
}

// record returns the file of a session with a server, the session's last text for each call, and the warnings.
func record(t *testing.T, server *mcp.Server, version string, calls ...[2]string) (file string, answers, warnings []string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "session.json")
	r := replaytest.NewRecorder(file, func(text string) { warnings = append(warnings, text) })
	session := mcptest.Dial(t, nil, r.Transport(mcptest.MemoryTransport(t, server)), version)
	for range 2 { // the last list counts
		if _, err := session.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range calls {
		answers = append(answers, text(t, session, c[0], c[1]))
	}
	if err := errors.Join(session.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	return file, answers, warnings
}

func replay(t *testing.T, file, version string, rules replaytest.Rules) *mcp.ClientSession {
	t.Helper()
	recording, err := replaytest.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return mcptest.ConnectVersion(t, recording.Server(rules), nil, version)
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
