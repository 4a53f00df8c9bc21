package command_test

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/command"
	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a person has remembered at one proxy holds at the others of the store, is listed, and
// once it is taken back holds at none of them.
func TestApprovalsAreListedAndTakenBack(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"a folder", "Redis", "PostgreSQL", "PostgreSQL beside Redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			flags := []string{"--store", filepath.Join(t.TempDir(), "store")}
			if strings.Contains(kind, "Redis") {
				flags = []string{"--store", redistest.New(t).URL(), "--store-can-approve"}
			}
			if strings.Contains(kind, "PostgreSQL") {
				flags = append([]string{"--approvals", postgrestest.New(t).URL()}, flags[2*strings.Count("PostgreSQL", kind):]...)
			}
			exe, env := mcptest.Child(t, "lying")
			key, value, _ := strings.Cut(env, "=")
			config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"crm": map[string]any{"command": exe, "env": map[string]string{key: value}}}})
			if err != nil {
				t.Fatal(err)
			}
			flags = append(flags, "--config", file(t, "mcp.json", string(config)))
			policy := file(t, "policy.json", `{"approvals": {"remember": "always"}}`)
			var asked atomic.Int32
			answer := map[string]any{"decision": "allow"}
			connect := func() *mcp.ClientSession {
				in, toProxy := io.Pipe()
				fromProxy, out := io.Pipe()
				ctx, stop := context.WithCancel(context.Background())
				ended := make(chan int, 1)
				go func() {
					ended <- command.Run(ctx, append([]string{"proxy", "--policy", policy, "--approve", "elicit"}, flags...), in, out, io.Discard)
					_ = out.Close()
				}()
				t.Cleanup(func() {
					stop()
					_ = toProxy.Close()
					<-ended
				})
				client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
					ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						asked.Add(1)
						return &mcp.ElicitResult{Action: "accept", Content: answer}, nil
					},
				})
				return mcptest.Dial(t, client, &mcp.IOTransport{Reader: fromProxy, Writer: toProxy}, mcptest.Legacy)
			}
			both := []*mcp.ClientSession{connect(), connect()}
			call := func(id, who int, want int32) {
				t.Helper()
				res, err := both[who].CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_account", Arguments: map[string]any{"id": id}})
				if err != nil || res.IsError || asked.Load() != want {
					t.Errorf("call %d: asked %d times, want %d; %v, %v", id, asked.Load(), want, res, err)
				}
			}
			for i := range 3 { // always is offered after these
				call(11+i, 0, int32(i+1))
			}
			answer["remember"], answer["free-1"] = "arguments-always", true
			call(1, 0, 4)
			call(2, 0, 4)
			call(3, 1, 4)
			code, listed, said := told(t, append([]string{"approvals", "list"}, flags...)...)
			number, rest, _ := strings.Cut(listed, " ")
			if code != 0 || !strings.Contains(rest, "crm/delete_account with any id") || !strings.Contains(rest, "used 2 times") || strings.Count(listed, "\n") != 1 {
				t.Fatalf("got %d %s%s", code, listed, said)
			}
			if code, out, said := told(t, append([]string{"approvals", "revoke", "AAAA"}, flags...)...); code != 1 || out != "" || !strings.Contains(said, "no approval has the number AAAA") {
				t.Errorf("another number: got %d %s%s", code, out, said)
			}
			if code, out, said := told(t, append([]string{"approvals", "revoke", number}, flags...)...); code != 0 || out != "taken back: crm/delete_account with any id\n" {
				t.Errorf("got %d %s%s", code, out, said)
			}
			delete(answer, "remember")
			delete(answer, "free-1")
			call(4, 0, 5)
			call(5, 1, 6)
			if code, listed, said := told(t, append([]string{"approvals", "list"}, flags...)...); code != 0 || listed != "" {
				t.Errorf("got %d %s%s", code, listed, said)
			}
		})
	}
}
