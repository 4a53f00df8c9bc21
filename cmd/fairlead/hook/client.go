package hook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A client is a coding agent: its events, how it is answered, and what it has no word for.
type client struct {
	name, title string
	events      map[string]known
	// nameless returns the name of an event that does not state it; nil if every event does.
	nameless func(*wire) string
	// asks is set for an agent that asks its user if a hook wants it to.
	asks bool
	// allows is set for an agent that takes a call as allowed by a hook.
	allows bool
	// states is set for an agent that states the server of an MCP tool beside its own name of it, mcp_SERVER_TOOL, in which
	// the two cannot be told apart.
	states bool
	// reply returns the answer to an event before the use of a tool.
	reply func(e *event, d Decision) any
}

// known is an event that a client has.
type known struct {
	kind kind
	tool string // that the event is about, "" if it names one
}

// claudeEvents are those of Claude Code, whose names and shapes Codex and VS Code share.
func claudeEvents() map[string]known {
	return map[string]known{
		"PreToolUse": {kind: before}, "PermissionRequest": {kind: permission}, "PostToolUse": {kind: after}, "PostToolUseFailure": {kind: failed},
		"UserPromptSubmit": {kind: words}, "Stop": {kind: ended}, "SessionEnd": {kind: ended},
		"SessionStart": {}, "SubagentStart": {}, "SubagentStop": {}, "Notification": {}, "PreCompact": {}, "PostCompact": {}, "Interrupt": {},
	}
}

// Clients are the agents that are answered, by the name that --client takes. The sources of the shapes are the agents'
// public documentation of 2026-11, and for Codex and Gemini CLI their programs.
var clients = map[string]*client{
	"claude-code": {name: "claude-code", title: "Claude Code", events: claudeEvents(), asks: true, allows: true, reply: claudeReply},
	// Codex 0.171 has neither allow nor ask before a tool: it ignores an answer that has one of them.
	"codex":  {name: "codex", title: "Codex", events: claudeEvents(), reply: claudeReply},
	"vscode": {name: "vscode", title: "VS Code", events: claudeEvents(), asks: true, allows: true, reply: claudeReply},
	"gemini": {
		name: "gemini", title: "Gemini CLI", allows: true, states: true, reply: geminiReply,
		events: map[string]known{
			"BeforeTool": {kind: before}, "AfterTool": {kind: after}, "BeforeAgent": {kind: words}, "AfterAgent": {kind: ended}, "SessionEnd": {kind: ended},
			"SessionStart": {}, "BeforeModel": {}, "AfterModel": {}, "BeforeToolSelection": {}, "PreCompress": {}, "Notification": {},
		},
	},
	"cursor": {
		name: "cursor", title: "Cursor", asks: true, allows: true, reply: cursorReply,
		events: map[string]known{
			"preToolUse": {kind: before}, "beforeShellExecution": {kind: before, tool: "Shell"}, "beforeMCPExecution": {kind: before}, "beforeReadFile": {kind: before, tool: "Read"},
			"postToolUse": {kind: after}, "postToolUseFailure": {kind: failed}, "afterShellExecution": {kind: after, tool: "Shell"}, "afterMCPExecution": {kind: after},
			"beforeSubmitPrompt": {kind: words}, "stop": {kind: ended}, "sessionEnd": {kind: ended},
			"afterFileEdit": {}, "sessionStart": {}, "afterAgentResponse": {}, "afterAgentThought": {}, "subagentStart": {}, "subagentStop": {}, "preCompact": {},
		},
	},
	"copilot": {
		name: "copilot", title: "Copilot CLI", asks: true, allows: true, reply: copilotReply,
		nameless: func(w *wire) string {
			switch {
			case w.ToolCamel != "" && len(w.Result) > 0:
				return "postToolUse"
			case w.ToolCamel != "":
				return "preToolUse"
			case w.Prompt != "":
				return "userPromptSubmitted"
			}
			return "sessionEnd"
		},
		events: map[string]known{
			"preToolUse": {kind: before}, "postToolUse": {kind: after}, "userPromptSubmitted": {kind: words}, "sessionEnd": {kind: ended},
			"sessionStart": {}, "errorOccurred": {}, "permissionRequest": {}, "agentStop": {kind: ended}, "subagentStop": {},
		},
	},
}

// Clients returns the names of the agents that are answered, sorted.
func Clients() []string {
	var names []string
	for name := range clients {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// of returns the client with a name.
func of(name string) (*client, error) {
	if c := clients[name]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("there is no client %q; want one of %s", name, strings.Join(Clients(), ", "))
}

// answer returns what is written on standard output, nothing if the agent is to decide by its own rules.
func (c *client) answer(e *event, d Decision) []byte {
	if d.Verdict == Silent {
		return nil
	}
	text, err := json.Marshal(c.reply(e, d))
	if err != nil {
		panic(err) // it is made of strings
	}
	return append(text, '\n')
}

func claudeReply(e *event, d Decision) any {
	if e.kind == permission {
		return map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": e.name, "decision": map[string]any{"behavior": "allow"}}}
	}
	return map[string]any{"hookSpecificOutput": map[string]any{
		"hookEventName": e.name, "permissionDecision": d.Verdict.String(), "permissionDecisionReason": d.Reason,
	}}
}

func geminiReply(_ *event, d Decision) any {
	return map[string]any{"decision": d.Verdict.String(), "reason": d.Reason}
}

func cursorReply(_ *event, d Decision) any {
	return map[string]any{"permission": d.Verdict.String(), "user_message": d.Reason, "agent_message": d.Reason}
}

func copilotReply(_ *event, d Decision) any {
	return map[string]any{"permissionDecision": d.Verdict.String(), "permissionDecisionReason": d.Reason}
}
