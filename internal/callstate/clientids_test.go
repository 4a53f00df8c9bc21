package callstate_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An identifier that a client gives to a call, a turn or a conversation is not part of what an approval covers.
// Everything else in _meta may be what the server acts on.
func TestIdentifiersOfClientsAreNotPartOfTheCall(t *testing.T) {
	t.Parallel()
	object := map[string]any{"turn_id": "u-1"}
	for name, c := range map[string]struct {
		value any
		id    bool
	}{
		"claudecode/toolUseId":               {"toolu_01", true},
		"claude/toolUseId":                   {"toolu_01", true},
		"tool_use_id":                        {"toolu_01", true},
		"toolCallId":                         {"call_1", true},
		"callId":                             {"call_1", true},
		"vscode.conversationId":              {"c-1", true},
		"vscode.requestId":                   {"r-1", true},
		"threadId":                           {"t-1", true},
		"x-codex-turn-metadata":              {object, true},
		"x-codex-parent-thread-id":           {"t-0", true},
		"ai.opencode/sessionID":              {"s-1", true},
		"antigravity.google/conversation_id": {"c-1", true},
		"openai/session":                     {"v1/abc", true},
		"cursor/chatMessageId":               {1234, true},
		"example.com/CorrelationID":          {"c-1", true},
		"requestUUID":                        {"r-1", true},
		"codexThreadId":                      {"t-1", true},
		"x-request-id":                       {"r-1", true},
		"turn_id":                            {nil, true},

		"tenant":                               {"a", false},
		"dry_run":                              {true, false},
		"userId":                               {"u-1", false},
		"accountId":                            {"u-1", false},
		"workspaceId":                          {"w-1", false},
		"taskId":                               {"t-1", false},
		"id":                                   {"t-1", false},
		"uuid":                                 {"t-1", false},
		"browserSessionId":                     {"b-1", false},
		"replyToMessageId":                     {"m-1", false},
		"targetThreadId":                       {"m-1", false},
		"idempotencyKey":                       {"k", false},
		"session":                              {"s", false},
		"sessionToken":                         {"s", false},
		"requestIdPrefix":                      {"s", false},
		"openai/locale":                        {"en", false},
		"openai/userLocation":                  {object, false},
		"openai/subject":                       {"u", false},
		"threadId ":                            {"t-1", false},
		"ThreadId/":                            {"t-1", false},
		"vscode.requestId.":                    {"t-1", false},
		"callIdentifier":                       {"t-1", false},
		"io.modelcontextprotocol/requestId":    {"r-1", false},
		"modelcontextprotocol.io/requestId":    {"r-1", false},
		"io.modelcontextprotocol/related-task": {object, false},
		"x-codex-turn-metadata-2":              {object, false},
		"itemId":                               {"i-1", false},
		"windowId":                             {"w-1", false},
	} {
		meta := mcp.Meta{name: c.value, "progressToken": 7}
		if got := callstate.HasMeta(meta); got == c.id {
			t.Errorf("%s: it counts as part of the call: %t", name, got)
		}
		call := middleware.Call{Meta: meta}
		extra, err := callstate.Extra(&call)
		if (extra == nil) != c.id || err != nil {
			t.Errorf("%s: what is sent besides is %s, %v", name, extra, err)
		}
		if ids := callstate.ClientIDs(&call); (ids != nil) != c.id {
			t.Errorf("%s: the client's identifiers are %s", name, ids)
		}
		if len(call.Meta) != 2 {
			t.Errorf("%s: the call has %v", name, call.Meta)
		}
	}
	sent := mcp.Meta{"callId": "c0", "itemId": "f0", "progressToken": 1, "sessionId": "s", "threadId": "s", "windowId": "s:0", "x-codex-turn-metadata": object} // by Codex 0.171.0
	if callstate.HasMeta(sent) {
		t.Error("what Codex sends counts as a part of the call")
	}
	sent["workspaceId"] = "w"
	if !callstate.HasMeta(sent) {
		t.Error("what a server may act on is lost beside Codex's identifiers")
	}
	for name, value := range map[string]any{"threadId": object, "callId": []any{"a"}, "requestId": true, "openai/session": object, "x-codex-turn-metadata": []any{1}} {
		if !callstate.HasMeta(mcp.Meta{name: value}) {
			t.Errorf("%s: %v is taken for an identifier", name, value)
		}
	}
}

// An approval covers the same call under another identifier of its client, and no other tenant.
func TestBindingIsWithoutTheClientsIdentifiers(t *testing.T) {
	t.Parallel()
	bind := func(meta mcp.Meta) callstate.Binding {
		call := callOf(`{"path":"a"}`)
		call.Meta = meta
		return callstate.BindCall(t.Context(), &call)
	}
	plain := bind(nil)
	for _, id := range []string{"toolu_01A", "toolu_01B"} {
		if bind(mcp.Meta{"claudecode/toolUseId": id}) != plain {
			t.Errorf("%s: the binding is that of another call", id)
		}
	}
	a := bind(mcp.Meta{"tenant": "a", "threadId": "1"})
	if a == plain || a != bind(mcp.Meta{"tenant": "a", "threadId": "2"}) || a == bind(mcp.Meta{"tenant": "b", "threadId": "1"}) {
		t.Error("the binding does not follow the tenant")
	}
}
