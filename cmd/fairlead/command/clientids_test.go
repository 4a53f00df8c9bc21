package command_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/command"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Clients name each call in _meta. An approval is remembered, and one of the policy is used, as without these names.
// What a server may act on is asked about each time.
func TestApprovalsOfClientsThatNameTheirCalls(t *testing.T) {
	t.Parallel()
	exe, env := mcptest.Child(t, "lying")
	policy := `{"approvals": {"remember": "session", "approved": [{"tool": "crm/delete_account", "class": "dangerous", "members": {"id": {"is": 7}}, "until": "2099-01-31"}]}}`
	for name, c := range map[string]struct {
		first, second mcp.Meta
		ids           string // in the record
		asked         []bool // whether remembering is offered, of each question
	}{
		"no name":       {nil, nil, ``, []bool{true}},
		"Claude Code":   {mcp.Meta{"claudecode/toolUseId": "toolu_01A"}, mcp.Meta{"claudecode/toolUseId": "toolu_01B"}, `"claudecode/toolUseId":"toolu_01A"`, []bool{true}},
		"VS Code":       {mcp.Meta{"vscode.conversationId": "c-1", "vscode.requestId": "r-1"}, mcp.Meta{"vscode.conversationId": "c-1", "vscode.requestId": "r-2"}, `"vscode.requestId":"r-1"`, []bool{true}},
		"Codex":         {mcp.Meta{"threadId": "t-1", "itemId": "f0", "windowId": "t-1:0", "x-codex-turn-metadata": map[string]any{"turn_id": "u-1"}}, mcp.Meta{"threadId": "t-1", "itemId": "f1", "windowId": "t-1:0", "x-codex-turn-metadata": map[string]any{"turn_id": "u-2"}}, `"turn_id":"u-1"`, []bool{true}},
		"opencode":      {mcp.Meta{"ai.opencode/sessionID": "s-1"}, mcp.Meta{"ai.opencode/sessionID": "s-2"}, `"ai.opencode/sessionID":"s-1"`, []bool{true}},
		"another":       {mcp.Meta{"example.com/toolCallId": 1}, mcp.Meta{"example.com/toolCallId": 2}, `"example.com/toolCallId":1`, []bool{true}},
		"for a server":  {mcp.Meta{"tenant": "a"}, mcp.Meta{"tenant": "a"}, ``, []bool{false, false, false}},
		"some of both":  {mcp.Meta{"tenant": "a", "threadId": "1"}, mcp.Meta{"tenant": "a", "threadId": "2"}, `"threadId":"1"`, []bool{false, false, false}},
		"an object":     {mcp.Meta{"threadId": map[string]any{"x": 1}}, mcp.Meta{"threadId": map[string]any{"x": 1}}, ``, []bool{false, false, false}},
		"the transport": {mcp.Meta{"traceparent": "00-1"}, mcp.Meta{"traceparent": "00-2"}, ``, []bool{true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := filepath.Join(t.TempDir(), "calls.jsonl")
			in, toProxy := io.Pipe()
			fromProxy, out := io.Pipe()
			ended := make(chan int, 1)
			go func() {
				ended <- command.Run(context.Background(), []string{
					"proxy", "--policy", file(t, "policy.json", policy), "--approve", "elicit", "--audit", record, "--name", "crm", "--", "env", env, exe,
				}, in, out, io.Discard)
				_ = out.Close()
			}()
			var asked []bool
			client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					schema, _ := req.Params.RequestedSchema.(map[string]any)
					_, offered := schema["properties"].(map[string]any)["remember"]
					asked = append(asked, offered)
					content := map[string]any{"decision": "allow"}
					if offered {
						content["remember"] = "arguments-session"
					}
					return &mcp.ElicitResult{Action: "accept", Content: content}, nil
				},
			})
			session := mcptest.Dial(t, client, &mcp.IOTransport{Reader: fromProxy, Writer: toProxy}, mcptest.Legacy)
			for i, id := range []int{1, 1, 7} {
				meta := maps.Clone(c.first)
				if i > 0 {
					meta = maps.Clone(c.second)
				}
				params := &mcp.CallToolParams{Meta: meta, Name: "delete_account", Arguments: map[string]any{"id": id}}
				if res, err := session.CallTool(mcptest.Context(t), params); err != nil || res.IsError {
					t.Errorf("got %+v, %v", res, err)
				}
			}
			_ = toProxy.Close()
			<-ended
			if !slices.Equal(asked, c.asked) {
				t.Errorf("remembering was offered by the questions %v, want %v", asked, c.asked)
			}
			lines, err := os.ReadFile(record)
			if err != nil {
				t.Fatal(err)
			}
			if first := ownNames(t, lines); !strings.Contains(first, c.ids) || c.ids == "" && first != "" {
				t.Errorf("the record has %s, want %s", first, c.ids)
			}
		})
	}
}

// ownNames returns how the client identified the first call of a record.
func ownNames(t *testing.T, lines []byte) string {
	t.Helper()
	for line := range strings.Lines(string(lines)) {
		var r struct {
			N      int
			Client json.RawMessage
		}
		if json.Unmarshal([]byte(line), &r) == nil && r.N == 1 && r.Client != nil {
			return string(r.Client)
		}
	}
	return ""
}
