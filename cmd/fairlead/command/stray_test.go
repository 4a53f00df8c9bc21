package command

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/programtest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// noisy is a server that prints a banner, and two lines within each call, to its standard output.
func noisy() *mcp.Server {
	fmt.Println("Demo server 1.2 is up")
	s := mcptest.New()
	mcptest.Add(s, mcptest.Tool("get_order", ""), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		fmt.Println("[demo] call requested")
		fmt.Println(`{"level":"info","msg":"called"}`)
		return mcptest.Text("order 7"), nil
	})
	return s
}

// A server may print beside its messages: each command works with it.
func TestServerThatWritesBesideItsMessages(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the server is started by env")
	}
	exe, _ := mcptest.Child(t, "noisy")
	server := []string{"--", "env", "FAIRLEAD_TEST_CHILD=noisy", exe}
	dir, program := t.TempDir(), programtest.Path(t)
	for _, row := range []struct {
		args, want string
	}{
		{"inspect", "the first: Demo server 1.2 is up [stray-output]"},
		{"lock accept --yes --lock " + filepath.Join(dir, "a.lock"), ""},
		{"prompt", "get_order"},
		{"call get_order --arguments {}", "order 7"},
	} {
		code, out, errs := runs(t, program, "noisy", append(strings.Fields(row.args), server...)...)
		if code != exitOK || !strings.Contains(out, row.want) {
			t.Errorf("%s: exit %d: %s%s", row.args, code, out, errs)
		}
	}
	for _, args := range []string{"proxy --reach none", "record --out " + filepath.Join(dir, "session.json")} {
		ask, end := speaks(t, slices.Concat([]string{program}, strings.Fields(args), server)...)
		_ = ask("tools/list", `{}`)
		if got := ask("tools/call", `{"name":"get_order","arguments":{}}`); !strings.Contains(got, "order 7") {
			t.Errorf("%s: the call was answered with %s", args, got)
		}
		if code, errs := end(); code != exitOK || !strings.Contains(errs, "not a message") || !strings.Contains(errs, "Demo server 1.2 is up") {
			t.Errorf("%s: exit %d: %s", args, code, errs)
		}
	}
}
