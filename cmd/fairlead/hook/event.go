package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/catalog/mount"
)

// A kind is what an event reports.
type kind int

const (
	other      kind = iota // nothing that the guard takes part in
	before                 // a tool is about to be used
	permission             // the agent is about to ask its user about the use of a tool
	after                  // a tool was used
	failed                 // a tool was used and failed
	words                  // the user has written something
	ended                  // the agent has answered, or the session is over
)

// An event is what an agent reports, in one form for all agents.
type event struct {
	client  *client
	name    string // as the agent names it
	kind    kind
	session string
	agent   string // of a sub-agent, "" for the main one
	call    string // the agent's ID of the call, "" if it has none
	folder  string // where the agent works
	mode    string // how much the agent may do unasked
	tool    string // as the agent names it
	owner   string // the MCP server of the tool and its name there, if the agent states them beside the tool
	named   string
	input   json.RawMessage
	output  string // of the tool, what the model reads
	words   string
}

// maxEvent is how much of an event is read.
const maxEvent = 32 << 20

// A wire is an event as the agents write it: most use the names of Claude Code, some write them in camel case.
type wire struct {
	Event        string          `json:"hook_event_name"`
	EventCamel   string          `json:"hookEventName"`
	Session      string          `json:"session_id"`
	SessionCamel string          `json:"sessionId"`
	Conversation string          `json:"conversation_id"`
	Agent        string          `json:"agent_id"`
	AgentType    string          `json:"agent_type"`
	Call         string          `json:"tool_use_id"`
	CallCamel    string          `json:"toolUseId"`
	Folder       string          `json:"cwd"`
	Roots        []string        `json:"workspace_roots"`
	Mode         string          `json:"permission_mode"`
	Tool         string          `json:"tool_name"`
	ToolCamel    string          `json:"toolName"`
	Input        json.RawMessage `json:"tool_input"`
	Args         json.RawMessage `json:"toolArgs"`
	Response     json.RawMessage `json:"tool_response"`
	Output       json.RawMessage `json:"tool_output"`
	ResultJSON   json.RawMessage `json:"result_json"`
	Result       json.RawMessage `json:"toolResult"`
	Error        json.RawMessage `json:"error"`
	Prompt       string          `json:"prompt"`
	Command      *string         `json:"command"`
	FilePath     *string         `json:"file_path"`
	Server       string          `json:"server"`
	MCP          struct {
		Server string `json:"server_name"`
		Tool   string `json:"tool_name"`
	} `json:"mcp_context"`
}

// read reads an event of a client. An event that is not one of that client is an error.
func (c *client) read(text []byte) (*event, error) {
	if len(text) > maxEvent {
		return nil, fmt.Errorf("the event has %d bytes, want at most %d", len(text), maxEvent)
	}
	if err := unambiguous(text, names...); err != nil {
		return nil, fmt.Errorf("the event cannot be read: %w", err)
	}
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, fmt.Errorf("the event cannot be read: %w", err)
	}
	e := &event{
		client: c, name: cmp.Or(w.Event, w.EventCamel), session: cmp.Or(w.Session, w.SessionCamel, w.Conversation), agent: cmp.Or(w.Agent, w.AgentType),
		call: cmp.Or(w.Call, w.CallCamel), folder: w.Folder, mode: w.Mode, tool: cmp.Or(w.Tool, w.ToolCamel), words: w.Prompt,
	}
	if e.folder == "" && len(w.Roots) > 0 {
		e.folder = w.Roots[0]
	}
	if e.name == "" && c.nameless != nil {
		e.name = c.nameless(&w)
	}
	if e.name == "" {
		return nil, errors.New("the event has no name; is it one of " + c.title + "?")
	}
	known, ok := c.events[e.name]
	if !ok {
		return nil, fmt.Errorf("%s has no event %q; check --client", c.title, e.name)
	}
	e.kind = known.kind
	if known.tool != "" {
		e.tool = known.tool
	}
	if !slices.Contains([]kind{before, permission, after, failed}, e.kind) {
		return e, nil
	}
	if err := e.readCall(&w); err != nil {
		return nil, err
	}
	return e, nil
}

// readCall reads what belongs to the use of a tool.
func (e *event) readCall(w *wire) error {
	if e.tool == "" || strings.ContainsFunc(e.tool, unicode.IsControl) {
		return fmt.Errorf("the event %s names the tool %q, want a name", e.name, e.tool)
	}
	if e.client.states && strings.HasPrefix(e.tool, "mcp_") {
		e.owner, e.named = w.MCP.Server, w.MCP.Tool
	}
	e.input = w.Input
	if len(e.input) == 0 {
		e.input = w.Args
	}
	var text string
	if strings.HasPrefix(string(e.input), `"`) && json.Unmarshal(e.input, &text) == nil { // an object that is written as a string
		e.input = json.RawMessage(text)
		if err := unambiguous(e.input); err != nil {
			return fmt.Errorf("the arguments of %s cannot be read: %w", e.tool, err)
		}
	}
	switch {
	case len(e.input) == 0 && w.Command != nil:
		e.input = object("command", *w.Command)
	case len(e.input) == 0 && w.FilePath != nil:
		e.input = object("file_path", *w.FilePath)
	case len(e.input) == 0 || string(e.input) == "null":
		e.input = json.RawMessage("{}")
	}
	if !bytes.HasPrefix(bytes.TrimLeft(e.input, " \t\r\n"), []byte("{")) {
		return fmt.Errorf("the arguments of %s are %.40q, want an object", e.tool, e.input)
	}
	for _, raw := range []json.RawMessage{w.Response, w.Output, w.ResultJSON, w.Result, w.Error} {
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		if json.Unmarshal(raw, &text) == nil {
			e.output += text + "\n"
		} else {
			e.output += string(raw) + "\n"
		}
	}
	if e.kind == after && len(w.Error) > 0 && string(w.Error) != "null" {
		e.kind = failed
	}
	return nil
}

// server returns the server and the name of an MCP tool, as the agent states them or names the tool: mcp__SERVER__TOOL.
func (e *event) server() (server, tool string, ok bool) {
	if e.owner != "" && e.named != "" {
		return e.owner, e.named, true
	}
	rest, ok := strings.CutPrefix(e.tool, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// arguments returns the arguments of a call as the chain gets them: those of the agent's own tools with the folder.
func (e *event) arguments() (json.RawMessage, error) {
	if _, _, ok := e.server(); ok {
		return e.input, nil
	}
	return inFolder(e.input, e.folder)
}

// scope names the session of an event among those of all agents.
func (e *event) scope() string { return e.client.name + "/" + e.session }

func object(name, value string) json.RawMessage {
	text, err := json.Marshal(map[string]string{name: value})
	if err != nil {
		panic(err) // a map of strings is JSON
	}
	return text
}

// unambiguous refuses text that is nested too deep, or that another reader would read in another way. Known are the names
// of members that may not be written in another case.
func unambiguous(text []byte, known ...string) error {
	depth := 0
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && depth == 0 {
			return mount.OneReading(text, known...)
		}
		switch {
		case err != nil:
			return err
		case token == json.Delim('{') || token == json.Delim('['):
			depth++
		case token == json.Delim('}') || token == json.Delim(']'):
			depth--
		}
		if depth > maxDepth {
			return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
		}
	}
}

// maxDepth is how deep an event may be nested.
const maxDepth = 200

// names are the members of a wire.
var names = func() (all []string) {
	for field := range reflect.TypeFor[wire]().Fields() {
		all = append(all, field.Tag.Get("json"))
	}
	return all
}()
