package counterpart_test

import (
	"encoding/json"
	"testing"

	"github.com/fairlead-go/fairlead/catalog/counterpart"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is a tool with properties of which the first n are required, classified by its words.
func tool(t *testing.T, server, name string, n int, properties ...string) *middleware.Tool {
	t.Helper()
	all := make(map[string]any)
	for _, p := range properties {
		all[p] = map[string]any{"type": "string"}
		if p == "dry_run" {
			all[p] = map[string]any{"type": "boolean"}
		}
	}
	definition := &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object", "properties": all, "required": properties[:n]}}
	made, err := middleware.NewTool(server, definition, infer.Tool(definition))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestReading(t *testing.T) {
	t.Parallel()
	write := tool(t, "files", "write_file", 2, "path", "content")
	read := tool(t, "files", "read_file", 1, "path", "head")
	for name, tt := range map[string]struct {
		arguments string
		tools     []*middleware.Tool
		want      string
	}{
		"a read":                       {`{"path":"a","content":"b"}`, []*middleware.Tool{write, read}, `files/read_file {"path":"a"}`},
		"a text is preferred":          {`{"path":"a","content":"b"}`, []*middleware.Tool{read, tool(t, "files", "read_text_file", 1, "path")}, `files/read_text_file {"path":"a"}`},
		"of another server":            {`{"path":"a","content":"b"}`, []*middleware.Tool{tool(t, "other", "read_file", 1, "path")}, ""},
		"one that requires more":       {`{"path":"a","content":"b"}`, []*middleware.Tool{tool(t, "files", "read_file", 2, "path", "key")}, ""},
		"one that is not safe":         {`{"path":"a","content":"b"}`, []*middleware.Tool{tool(t, "files", "read_and_delete_file", 1, "path")}, ""},
		"one of another name":          {`{"path":"a","content":"b"}`, []*middleware.Tool{tool(t, "files", "read_file", 1, "file")}, ""},
		"one of another thing":         {`{"path":"a","content":"b"}`, []*middleware.Tool{tool(t, "files", "read_graph", 1, "path")}, ""},
		"a write without its content":  {`{"path":"a"}`, []*middleware.Tool{read}, ""},
		"a write of an empty text":     {`{"path":"a","content":""}`, []*middleware.Tool{read}, `files/read_file {"path":"a"}`},
		"a path that is not a text":    {`{"path":["a"],"content":"b"}`, []*middleware.Tool{read}, ""},
		"arguments that are ambiguous": {`{"path":"a","path":"b","content":"b"}`, []*middleware.Tool{read}, ""},
	} {
		got, ok := counterpart.Reading(middleware.Call{Tool: write, Arguments: json.RawMessage(tt.arguments)}, tt.tools)
		text := ""
		if ok {
			text = got.Read.Tool.String() + " " + string(got.Read.Arguments)
		}
		if text != tt.want {
			t.Errorf("%s: got %q, want %q", name, text, tt.want)
		}
	}
	if _, ok := counterpart.Reading(middleware.Call{Tool: tool(t, "files", "append_file", 2, "path", "content"), Arguments: json.RawMessage(`{"path":"a","content":"b"}`)}, []*middleware.Tool{read}); ok {
		t.Error("what is appended is shown as the whole text")
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	with := tool(t, "db", "delete_rows", 1, "table", "dry_run")
	for arguments, want := range map[string]string{
		`{"table":"a"}`:                 `{"dry_run":true,"table":"a"}`,
		`{"table":"a","dry_run":false}`: `{"dry_run":true,"table":"a"}`,
		`{"table":"a","dry_run":true}`:  "",
		``:                              `{"dry_run":true}`,
		`[1]`:                           "",
	} {
		trial, with, ok := counterpart.Preview(middleware.Call{Tool: with, Arguments: json.RawMessage(arguments)})
		if got := string(trial.Arguments); ok != (want != "") || ok && (got != want || with != "dry_run: true") {
			t.Errorf("%s: got %v %s by %q, want %s", arguments, ok, got, with, want)
		}
	}
	if _, _, ok := counterpart.Preview(middleware.Call{Tool: tool(t, "db", "delete_rows", 1, "table"), Arguments: json.RawMessage(`{"table":"a"}`)}); ok {
		t.Error("a tool without a switch has a trial")
	}
}

// A mode has one value that only tries, and one that is the deed. A call with any other value has no trial: it might be of
// another deed.
func TestPreviewByAMode(t *testing.T) {
	t.Parallel()
	definition := &mcp.Tool{Name: "delete_rows", InputSchema: json.RawMessage(`{"type":"object","properties":{
		"table":{"type":"string"},"mode":{"type":"string","enum":["validate","preview","delete"]}}}`)}
	made, err := middleware.NewTool("db", definition, infer.Tool(definition))
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"table":"a"}`:                   `{"mode":"preview","table":"a"}`,
		`{"table":"a","mode":"delete"}`:   `{"mode":"preview","table":"a"}`,
		`{"table":"a","mode":"preview"}`:  "",
		`{"table":"a","mode":"validate"}`: "",
		`{"table":"a","mode":"purge"}`:    "",
		`{"table":"a","mode":"Delete"}`:   "",
		`{"table":"a","mode":null}`:       "",
		`{"table":"a","mode":true}`:       "",
		`{"table":"a","mode":{}}`:         "",
	} {
		trial, with, ok := counterpart.Preview(middleware.Call{Tool: made, Arguments: json.RawMessage(arguments)})
		if got := string(trial.Arguments); ok != (want != "") || ok && (got != want || with != "mode: preview") {
			t.Errorf("%s: got %v %s by %q, want %s", arguments, ok, got, with, want)
		}
	}
}

func TestUndo(t *testing.T) {
	t.Parallel()
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	for name, tt := range map[string]struct {
		call      *middleware.Tool
		arguments string
		other     *middleware.Tool
		res       *mcp.CallToolResult
		want      string
	}{
		"a move":                           {tool(t, "f", "move_file", 2, "source", "destination"), `{"source":"a","destination":"b"}`, nil, text("ok"), `f/move_file {"destination":"a","source":"b"}`},
		"a move with more":                 {tool(t, "f", "move_file", 2, "source", "destination", "force"), `{"source":"a","destination":"b","force":"yes"}`, nil, text("ok"), ""},
		"an archive":                       {tool(t, "m", "archive_thread", 1, "id"), `{"id":"1"}`, tool(t, "m", "unarchive_thread", 1, "id"), text("ok"), `m/unarchive_thread {"id":"1"}`},
		"the other way":                    {tool(t, "m", "unarchive_thread", 1, "id"), `{"id":"1"}`, tool(t, "m", "archive_thread", 1, "id"), text("ok"), `m/archive_thread {"id":"1"}`},
		"another thing":                    {tool(t, "m", "archive_thread", 1, "id"), `{"id":"1"}`, tool(t, "m", "unarchive_folder", 1, "id"), text("ok"), ""},
		"another server":                   {tool(t, "m", "archive_thread", 1, "id"), `{"id":"1"}`, tool(t, "n", "unarchive_thread", 1, "id"), text("ok"), ""},
		"an addition":                      {tool(t, "g", "add_label", 2, "issue", "label", "color"), `{"issue":"1","label":"a","color":"red"}`, tool(t, "g", "remove_label", 2, "issue", "label"), text("ok"), `g/remove_label {"issue":"1","label":"a"}`},
		"a removal that takes more":        {tool(t, "g", "add_member", 2, "group", "user"), `{"group":"1","user":"a"}`, tool(t, "g", "remove_member", 1, "group"), text("ok"), ""},
		"a removal that wants more":        {tool(t, "g", "add_label", 1, "issue"), `{"issue":"1"}`, tool(t, "g", "remove_label", 2, "issue", "label"), text("ok"), ""},
		"a creation":                       {tool(t, "g", "create_issue", 1, "title"), `{"title":"x"}`, tool(t, "g", "delete_issue", 1, "issue_id"), text(`{"id":7,"title":"x"}`), `g/delete_issue {"issue_id":7}`},
		"a creation with structure":        {tool(t, "g", "create_issue", 1, "title"), `{"title":"x"}`, tool(t, "g", "delete_issue", 1, "id"), &mcp.CallToolResult{StructuredContent: map[string]any{"id": "i7"}}, `g/delete_issue {"id":"i7"}`},
		"a creation that returns no id":    {tool(t, "g", "create_issue", 1, "title"), `{"title":"x"}`, tool(t, "g", "delete_issue", 1, "id"), text("created"), ""},
		"a creation that failed":           {tool(t, "g", "create_issue", 1, "title"), `{"title":"x"}`, tool(t, "g", "delete_issue", 1, "id"), &mcp.CallToolResult{IsError: true, StructuredContent: map[string]any{"id": "i7"}}, ""},
		"a deletion of what was there too": {tool(t, "f", "create_directory", 1, "path"), `{"path":"a"}`, tool(t, "f", "delete_directory", 1, "path"), text(`{"path":"a"}`), ""},
		"a creation of several": {
			tool(t, "m", "create_entities", 1, "entities"), `{"entities":[{"name":"Ada","kind":"p"},{"name":"Bob","kind":"p"}]}`, tool(t, "m", "delete_entities", 1, "entityNames"),
			&mcp.CallToolResult{StructuredContent: map[string]any{"entities": []any{map[string]any{"name": "Bob", "kind": "p"}}}}, `m/delete_entities {"entityNames":["Bob"]}`,
		},
		"a creation of several, as a text": {
			tool(t, "m", "create_entities", 1, "entities"), `{"entities":[{"name":"Ada"},{"name":"Bob"}]}`, tool(t, "m", "delete_entities", 1, "entity_names"),
			text(`[{"name":"Ada"},{"name":"Bob"}]`), `m/delete_entities {"entity_names":["Ada","Bob"]}`,
		},
		"a creation of several, by what they are": {
			tool(t, "m", "create_relations", 1, "relations"), `{"relations":[{"from":"Ada","to":"Bob"},{"from":"Bob","to":"Ada"}]}`, tool(t, "m", "delete_relations", 1, "relations"),
			&mcp.CallToolResult{StructuredContent: map[string]any{"relations": []any{map[string]any{"to": "Ada", "from": "Bob"}}}}, `m/delete_relations {"relations":[{"from":"Bob","to":"Ada"}]}`,
		},
		"a creation that returns others too": {
			tool(t, "m", "create_entities", 1, "entities"), `{"entities":[{"name":"Ada"}]}`, tool(t, "m", "delete_entities", 1, "entityNames"),
			text(`[{"name":"Ada"},{"name":"Eve"}]`), "",
		},
		"a creation that returns other relations": {
			tool(t, "m", "create_relations", 1, "relations"), `{"relations":[{"from":"Ada","to":"Bob"}]}`, tool(t, "m", "delete_relations", 1, "relations"),
			text(`[{"from":"Ada","to":"Eve"}]`), "",
		},
		"a creation of none": {
			tool(t, "m", "create_entities", 1, "entities"), `{"entities":[{"name":"Ada"}]}`, tool(t, "m", "delete_entities", 1, "entityNames"), text(`[]`), "",
		},
		"a deletion of other things by name": {
			tool(t, "m", "create_entities", 1, "entities"), `{"entities":[{"name":"Ada"}]}`, tool(t, "m", "delete_entities", 1, "ownerNames"), text(`[{"name":"Ada"}]`), "",
		},
		"a deletion": {tool(t, "g", "delete_issue", 1, "id"), `{"id":"1"}`, tool(t, "g", "create_issue", 1, "title"), text("ok"), ""},
	} {
		tools := []*middleware.Tool{tt.call}
		if tt.other != nil {
			tools = append(tools, tt.other)
		}
		got := ""
		if inverse, ok := counterpart.Undo(middleware.Call{Tool: tt.call, Arguments: json.RawMessage(tt.arguments)}, tools); ok {
			if arguments, ok := inverse.Arguments(tt.res); ok {
				got = inverse.Tool.String() + " " + string(arguments)
			}
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
