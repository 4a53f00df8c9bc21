package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// behind is a server in this process with the tools.
func behind(t *testing.T, tools ...*mcp.Tool) []proxy.Server {
	t.Helper()
	s := mcptest.New()
	for _, tool := range tools {
		mcptest.Add(s, tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return mcptest.Text("done"), nil })
	}
	return []proxy.Server{{Name: "crm", Open: func() (io.ReadWriteCloser, error) {
		here, there := net.Pipe()
		_, err := s.Connect(t.Context(), &mcp.IOTransport{Reader: there, Writer: there}, nil)
		return here, err
	}}}
}

// listedBy is the list of a proxy, by name.
func listedBy(t *testing.T, o proxy.Options) map[string]*mcp.Tool {
	t.Helper()
	list, err := connect(t, mcptest.Modern, o, nil).ListTools(mcptest.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*mcp.Tool)
	for _, tool := range list.Tools {
		all[tool.Name] = tool
	}
	return all
}

// hinted is a tool that declares what a definition says as JSON.
func hinted(t *testing.T, name, definition string) *mcp.Tool {
	t.Helper()
	tool := mcptest.Tool(name, "")
	if err := json.Unmarshal([]byte(definition), tool); err != nil {
		t.Fatal(err)
	}
	return tool
}

const ownKey = "io.github.fairlead-go/annotations"

// words are the declarations of a server: none, honest or not, and in our own members.
var words = []string{
	`{}`, `{"annotations":{"readOnlyHint":true}}`, `{"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`,
	`{"annotations":{"readOnlyHint":false,"destructiveHint":true}}`, `{"annotations":{"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`,
	`{"_meta":{"` + ownKey + `":{"readOnlyHint":true,"requiresConfirmation":false,"class":"safe"},"io.github.fairlead-go/declared":{},"other":1}}`,
}

// What is listed is never less strict than what the proxy does with a call, whatever a server declares.
func TestAnnotatedListsAreNeverLessStrictThanTheClass(t *testing.T) {
	t.Parallel()
	for _, word := range words {
		for _, trust := range []bool{false, true} {
			for _, rules := range []string{`{}`, `{"rules":[{"tool":"crm/*","decide":"ask"}]}`, `{"tools":[{"tool":"crm/get_thing","class":"dangerous"}]}`} {
				t.Run(fmt.Sprint(word, trust, rules), func(t *testing.T) {
					t.Parallel()
					o := proxy.Options{Trust: trust, Policy: decided(t, rules), Confirm: approve(false), Annotate: true}
					for _, name := range []string{"get_thing", "delete_thing", "create_thing", "send_message", "frobnicate"} {
						o.Servers = append(o.Servers[:0:0], behind(t, hinted(t, name, word))...)
						f := connect(t, mcptest.Modern, o, nil)
						list, err := f.ListTools(mcptest.Context(t), nil)
						if err != nil {
							t.Fatal(err)
						}
						hints, own := list.Tools[0].Annotations, list.Tools[0].Meta[ownKey].(map[string]any)
						if hints.DestructiveHint == nil {
							t.Fatalf("%s: it has %+v", name, hints)
						}
						asked := f.call(t, name, nil).IsError // since nobody approves
						if *hints.DestructiveHint != asked || hints.ReadOnlyHint != (own["class"] == "safe") || asked && (hints.ReadOnlyHint || hints.IdempotentHint || own["requiresConfirmation"] != true) {
							t.Errorf("%s: asked about: %t; it has %+v and %v", name, asked, hints, own)
						}
					}
				})
			}
		}
	}
}

// What was declared can be read beside it, as it was written, and what a server writes in our members is not ours.
func TestAnnotatedListsKeepWhatWasDeclared(t *testing.T) {
	t.Parallel()
	tools := []*mcp.Tool{
		hinted(t, "delete_thing", `{"title":"Clean up","annotations":{"readOnlyHint":true},"_meta":{"`+ownKey+`":{"readOnlyHint":true},"io.github.fairlead-go/declared":{"annotations":{"x":1}},"other":1}}`),
		mcptest.Tool("get_thing", "Gets a thing."),
	}
	plain, all := listedBy(t, proxy.Options{Servers: behind(t, tools...)}), listedBy(t, proxy.Options{Servers: behind(t, tools...), Annotate: true})
	if plain["delete_thing"].Annotations == nil || !plain["delete_thing"].Annotations.ReadOnlyHint || plain["get_thing"].Annotations != nil {
		t.Errorf("without the option got %+v", plain)
	}
	meta := all["delete_thing"].Meta
	want := map[string]any{"annotations": map[string]any{"readOnlyHint": true, "idempotentHint": false}, "_meta": map[string]any{"readOnlyHint": true}}
	got := meta["io.github.fairlead-go/declared"].(map[string]any)
	delete(got["annotations"].(map[string]any), "idempotentHint")
	delete(want["annotations"].(map[string]any), "idempotentHint")
	if d := cmp.Diff(want, got); d != "" || meta["other"] != 1.0 || all["delete_thing"].Title != "Clean up" {
		t.Errorf("declared: %s; %v", d, all["delete_thing"])
	}
	own := meta[ownKey].(map[string]any)
	if own["class"] != "dangerous" || own["readOnlyHint"] == true || !strings.Contains(fmt.Sprint(own["evidence"]), "leads the name") {
		t.Errorf("got %v", own)
	}
	own = all["get_thing"].Meta[ownKey].(map[string]any)
	if own["class"] != "safe" || own["freshness"] == nil || !all["get_thing"].Annotations.ReadOnlyHint {
		t.Errorf("got %v", own)
	}
	// Another Fairlead behind it reads the same class.
	for name, tool := range all {
		if a, err := annotation.FromTool(tool); err != nil || a.Safety().String() != tool.Meta[ownKey].(map[string]any)["class"] {
			t.Errorf("%s: %s, %v", name, a.Safety(), err)
		}
	}
}

// asksByHints are rules by which clients decide whether to ask: one of the SDK that asks about all but reads, and
// Codex in its mode auto (codex-rs/core/src/mcp_tool_call.rs, October 2026).
var asksByHints = map[string]func(*mcp.ToolAnnotations) bool{
	"reads": func(a *mcp.ToolAnnotations) bool { return a == nil || !a.ReadOnlyHint },
	"codex": func(a *mcp.ToolAnnotations) bool {
		yes := func(b *bool, unset bool) bool { return b == nil && unset || b != nil && *b }
		switch {
		case a == nil:
			return true
		case yes(a.DestructiveHint, false):
			return true
		case a.ReadOnlyHint:
			return false
		}
		return yes(a.DestructiveHint, true) || yes(a.OpenWorldHint, true)
	},
}

// A client that asks by hints asks about no read of a server that declares nothing, and about each deletion.
func TestClientsThatAskByHints(t *testing.T) {
	t.Parallel()
	reads, deletes := []string{"get_thing", "list_things", "search_things"}, []string{"delete_thing", "send_message", "frobnicate"}
	var tools []*mcp.Tool
	for _, name := range append(reads, deletes...) {
		tools = append(tools, mcptest.Tool(name, ""))
	}
	count := func(all map[string]*mcp.Tool, names []string, asks func(*mcp.ToolAnnotations) bool) (n int) {
		for _, name := range names {
			if asks(all[name].Annotations) {
				n++
			}
		}
		return n
	}
	before, after := listedBy(t, proxy.Options{Servers: behind(t, tools...)}), listedBy(t, proxy.Options{Servers: behind(t, tools...), Annotate: true})
	for client, asks := range asksByHints {
		got := [4]int{count(before, reads, asks), count(after, reads, asks), count(before, deletes, asks), count(after, deletes, asks)}
		if want := [4]int{3, 0, 3, 3}; got != want {
			t.Errorf("%s: questions about reads and others, before and after: got %v, want %v", client, got, want)
		}
	}
}

// The official reference servers of 2025 declare nothing: a client that asks by hints asks about each of their reads,
// and with the option about few. docs/reference/proxy.md has this as a table.
func TestReferenceServersAndClientsThatAskByHints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		server       string
		arguments    []string
		reads, asked string // the reads, and those that are asked about with the option
	}{
		{"server-everything@2025.8.18", nil, "echo add longRunningOperation printEnv sampleLLM getTinyImage annotatedMessage getResourceReference " +
			"getResourceLinks structuredContent", "add printEnv annotatedMessage"},
		{"server-filesystem@2025.8.21", []string{t.TempDir()}, "read_file read_text_file read_media_file read_multiple_files list_directory " +
			"list_directory_with_sizes directory_tree search_files get_file_info list_allowed_directories", ""},
		{"server-memory@2025.8.4", nil, "read_graph search_nodes open_nodes", "open_nodes"},
	} {
		t.Run(c.server, func(t *testing.T) {
			t.Parallel()
			o := proxy.Options{Servers: []proxy.Server{npx(t, append([]string{"@modelcontextprotocol/" + c.server}, c.arguments...)...)}}
			before := listedBy(t, o)
			o.Annotate = true
			after, reads := listedBy(t, o), strings.Fields(c.reads)
			for client, asks := range asksByHints {
				var asked []string
				for _, name := range reads {
					if before[name] == nil || !asks(before[name].Annotations) {
						t.Errorf("%s: %s is not listed, or not asked about as it was declared", client, name)
					} else if asks(after[name].Annotations) {
						asked = append(asked, name)
					}
				}
				if !slices.Equal(asked, strings.Fields(c.asked)) {
					t.Errorf("%s: with the option asked about %q, want %q", client, asked, c.asked)
				}
				for name, tool := range after {
					if !slices.Contains(reads, name) && !asks(tool.Annotations) {
						t.Errorf("%s: not asked about %s, which is not a read", client, name)
					}
				}
				t.Logf("%s: questions about %d reads: %d before, %d with --annotate", client, len(reads), len(reads), len(asked))
			}
		})
	}
}
