package connect

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/tailscale/hujson"
	"mvdan.cc/sh/v3/syntax"
)

// Hooks are the events of a coding agent at which it runs fairlead hook, and the form of its file.
type hooks struct {
	client  string // as fairlead hook --client names it
	version bool   // the file has a version
	events  []hookEvent
	entry   func(h *hooks, e hookEvent, command string) string // an element of the list of an event, as JSON
}

// A hookEvent is an event, and which tools it is about.
type hookEvent struct {
	name, matcher string
	blocks        bool // a failure of the hook must not let the call through
}

// hookTimeout is how long an agent waits for a hook, in seconds: longer than its patience.
const hookTimeout = 60

// The events are those of docs/reference/hooks.md.
var (
	claudeHooks = &hooks{client: "claude-code", entry: nested, events: []hookEvent{
		{"PreToolUse", "*", true}, {"PostToolUse", "*", false}, {"PostToolUseFailure", "*", false}, {"UserPromptSubmit", "", false}, {"Stop", "", false}, {"SessionEnd", "", false},
	}}
	codexHooks = &hooks{client: "codex", entry: nested, events: []hookEvent{
		{"PreToolUse", "*", true}, {"PermissionRequest", "*", false}, {"PostToolUse", "*", false}, {"UserPromptSubmit", "", false}, {"Stop", "", false},
	}}
	geminiHooks = &hooks{client: "gemini", entry: nested, events: []hookEvent{
		{"BeforeTool", "*", true}, {"AfterTool", "*", false}, {"BeforeAgent", "", false}, {"AfterAgent", "", false}, {"SessionEnd", "", false},
	}}
	// Cursor asks its user at the events of one kind of tool, and does not at preToolUse, which is only used for the others.
	cursorHooks = &hooks{client: "cursor", version: true, entry: flat, events: []hookEvent{
		{"beforeShellExecution", "", true}, {"beforeMCPExecution", "", true}, {"beforeReadFile", "", true}, {"preToolUse", "Write|StrReplace|Edit|MultiEdit|Delete", true},
		{"afterShellExecution", "", false}, {"afterMCPExecution", "", false}, {"postToolUse", "Read|Grep|Write|StrReplace|Edit|MultiEdit|Delete|WebFetch|WebSearch", false},
		{"beforeSubmitPrompt", "", false}, {"stop", "", false}, {"sessionEnd", "", false},
	}}
	copilotHooks = &hooks{client: "copilot", version: true, entry: shells, events: []hookEvent{
		{"preToolUse", "", true}, {"postToolUse", "", false}, {"userPromptSubmitted", "", false}, {"sessionEnd", "", false},
	}}
)

// nested is the form of Claude Code, Codex and Gemini CLI, whose timeout is in milliseconds.
func nested(h *hooks, e hookEvent, command string) string {
	timeout := hookTimeout
	if h.client == "gemini" {
		timeout *= 1000
	}
	matcher := ""
	if e.matcher != "" {
		matcher = fmt.Sprintf(`"matcher": %s, `, quote(e.matcher))
	}
	more := ""
	if e.blocks && h.client == "claude-code" { // from 2.1.295 on: a hook that takes too long blocks too
		more = `, "onFailure": "block"`
	}
	return fmt.Sprintf(`{%s"hooks": [{"type": "command", "command": %s, "timeout": %d%s}]}`, matcher, quote(command), timeout, more)
}

// flat is the form of Cursor.
func flat(_ *hooks, e hookEvent, command string) string {
	more := ""
	if e.matcher != "" {
		more += fmt.Sprintf(`, "matcher": %s`, quote(e.matcher))
	}
	if e.blocks {
		more += `, "failClosed": true`
	}
	return fmt.Sprintf(`{"command": %s, "timeout": %d%s}`, quote(command), hookTimeout, more)
}

// shells is the form of Copilot CLI.
func shells(_ *hooks, _ hookEvent, command string) string {
	return fmt.Sprintf(`{"type": "command", "bash": %[1]s, "powershell": %[2]s, "timeoutSec": %[3]d}`, quote(command), quote(inPowerShell+command), hookTimeout)
}

const (
	inPowerShell = "& "         // before a command line whose first word may be quoted
	orBlock      = " || exit 2" // behind one whose failure must not let the call through
)

// command returns the command line of a hook for a shell.
func (h *hooks) command(g Guard, e hookEvent) string {
	words := []string{g.Program, "hook"}
	if g.Hook != "" {
		words = []string{g.Hook}
	}
	words = append(append(words, "--client", h.client), g.Flags...)
	if len(g.proxied) > 0 {
		words = append(words, "--proxied", strings.Join(g.proxied, ","))
	}
	for i, word := range words {
		quoted, err := syntax.Quote(word, syntax.LangPOSIX)
		if err == nil && !strings.Contains(word, `\`) {
			words[i] = quoted
		} else {
			words[i] = `"` + word + `"` // a path of Windows
		}
	}
	line := strings.Join(words, " ")
	if e.blocks {
		line += orBlock
	}
	return line
}

// ourHook matches a command line of fairlead hook or fairlead-hook.
var ourHook = regexp.MustCompile(`(?i)fairlead((\.exe)?["']? hook|-hook(\.exe)?["']?) --client `)

// hooksPart names the hooks among the parts of a file that are guarded already.
const hooksPart = "hooks"

// addHooks adds the hooks of an agent, or brings them up to date.
func (f *File) addHooks(root *hujson.Value, h *hooks, g Guard, end string) error {
	o := root.Value.(*hujson.Object)
	if h.version && find(o, "version") == nil {
		addMember(o, "version", "1", end+"  ", end)
	}
	all := find(o, "hooks")
	if all == nil {
		addMember(o, "hooks", "{}", end+"  ", end)
		all = find(o, "hooks")
	}
	events, ok := all.Value.Value.(*hujson.Object)
	if !ok {
		return fmt.Errorf("%q is not an object", "hooks")
	}
	for _, e := range h.events {
		command := h.command(g, e)
		wanted, err := hujson.Parse([]byte(h.entry(h, e, command)))
		if err != nil {
			return err
		}
		m := find(events, e.name)
		if m == nil {
			addMember(events, e.name, "["+string(wanted.Pack())+"]", end+"    ", end+"  ")
			f.Hooks = true
			continue
		}
		a, ok := m.Value.Value.(*hujson.Array)
		if !ok {
			return fmt.Errorf("%q is not a list", "hooks."+e.name)
		}
		if i := indexOfOurs(a); i < 0 {
			addElement(a, wanted.Value)
			f.Hooks = true
		} else if minimal(a.Elements[i]) != minimal(wanted) {
			a.Elements[i].Value = wanted.Value
			f.Hooks = true
		}
	}
	if !f.Hooks {
		f.Already = append(f.Already, hooksPart)
	}
	return nil
}

// indexOfOurs returns the index of the element that runs fairlead hook and nothing else, -1 if none does.
func indexOfOurs(a *hujson.Array) int {
	for i, e := range a.Elements {
		ours, others := 0, 0
		for v := range e.All() {
			o, ok := v.Value.(*hujson.Object)
			if !ok {
				continue
			}
			for _, name := range []string{"command", "bash"} {
				m := find(o, name)
				if m == nil {
					continue
				}
				if text, ok := m.Value.Value.(hujson.Literal); ok && ourHook.MatchString(text.String()) {
					ours++
				} else {
					others++
				}
			}
		}
		if ours > 0 && others == 0 {
			return i
		}
	}
	return -1
}

// minimal returns a value without comments and white space.
func minimal(v hujson.Value) string {
	v = v.Clone()
	v.Minimize()
	return string(v.Pack())
}

// addMember adds a member at the end of an object, set as the one before it, or on a line of its own.
func addMember(o *hujson.Object, name, value, before, end string) {
	parsed, err := hujson.Parse([]byte(value))
	if err != nil {
		panic(err) // it is written here
	}
	m := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: hujson.Extra(before), Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: parsed.Value},
	}
	if n := len(o.Members); n > 0 {
		last := &o.Members[n-1]
		if extra := white(last.Name.BeforeExtra); len(extra) > 0 {
			m.Name.BeforeExtra = extra
		}
		follow(&last.Value, &m.Name, &m.Value, &o.AfterExtra)
	} else if len(bytes.TrimSpace(o.AfterExtra)) == 0 {
		o.AfterExtra = hujson.Extra(end)
	}
	o.Members = append(o.Members, m)
}

// addElement adds an element at the end of a list, set as the one before it.
func addElement(a *hujson.Array, value hujson.ValueTrimmed) {
	e := hujson.Value{Value: value}
	if n := len(a.Elements); n > 0 {
		last := &a.Elements[n-1]
		if e.BeforeExtra = white(last.BeforeExtra); len(e.BeforeExtra) == 0 {
			e.BeforeExtra = hujson.Extra(" ")
		}
		follow(last, &e, &e, &a.AfterExtra)
	}
	a.Elements = append(a.Elements, e)
}

// follow moves what is behind the last value to where it belongs if another one follows: a comment stays with the value
// that it is about, and a comma at the end stays at the end.
func follow(last, start, end *hujson.Value, after *hujson.Extra) {
	if last.AfterExtra != nil {
		last.AfterExtra, end.AfterExtra = nil, last.AfterExtra
	}
	rest := white(*after)
	comment := bytes.Clone((*after)[:len(*after)-len(rest)])
	if len(comment) == 0 {
		return
	}
	if !bytes.Contains(start.BeforeExtra, []byte("\n")) {
		start.BeforeExtra = append(hujson.Extra("\n"), start.BeforeExtra...)
	}
	start.BeforeExtra, *after = append(comment, start.BeforeExtra...), rest
}
