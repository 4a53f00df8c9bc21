package realclients_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An asked client is one whose user answers forms.
type asked struct {
	script, variable, name string
	revision               string // that it negotiates and prints, "" for none
}

// Real clients of both kinds of wire: a form of a request of the server's, and one of a result that requires input.
var askedClients = map[string]asked{
	"2025-11-25": {"asking.mjs", "FAIRLEAD_TS_SDK", "@modelcontextprotocol/sdk", ""},
	"2026-07-28": {"asking-2.mjs", "FAIRLEAD_INSPECTOR", "@modelcontextprotocol/client", "2026-07-28"},
}

// modern is the server that speaks the revision without a session too.
var modern = strings.NewReplacer(
	`    elif m["method"] == "tools/list":`, `    elif m["method"] == "server/discover":
        answer["result"] = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private", "capabilities": {"tools": {}}, "serverInfo": {"name": "orders", "version": "1"}}
    elif m["method"] == "tools/list":`,
	`    print(json`, `    if "result" in answer and m["method"] != "initialize": answer["result"] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **answer["result"]}
    print(json`,
).Replace(orders)

// A printed line of such a client is a form or a result.
type printed struct {
	Asked    string
	Revision string
	IsError  bool
	Schema   struct {
		Properties struct {
			Remember struct{ Enum []string }
		}
	}
	Content []struct{ Text string }
}

// A real client's user approves a call in its form. The same call, approved three times in three processes of the proxy, is
// then offered for always, and not asked about in the next; one with other arguments is.
func TestAlwaysInTheFormOfARealClient(t *testing.T) {
	t.Parallel()
	for wire, c := range askedClients {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, c.variable, c.name)
			command := h.proxied(`{"approvals": {"by": ["elicit"], "remember": "always"}}`)
			if c.revision != "" {
				h.write("orders.py", modern)
			}
			source, err := os.ReadFile("testdata/" + c.script)
			if err != nil {
				t.Fatal(err)
			}
			h.write("client.mjs", string(source))
			if err := os.Symlink(h.programs, h.path("node_modules")); err != nil {
				t.Fatal(err)
			}
			read, first, other := call("get_order", 1), call("delete_order", 7), call("delete_order", 8)
			once, deny := map[string]any{"decision": "allow"}, map[string]any{"decision": "deny", "reason": "keep it"}
			always := map[string]any{"decision": "allow", "remember": "arguments-always"}

			forms, told := h.asks(c, command, []any{read, other, first}, deny, once)
			if len(forms) != 2 || slices.Contains(forms[1].Schema.Properties.Remember.Enum, "arguments-always") {
				t.Fatalf("the forms are %+v", forms)
			}
			if !strings.Contains(forms[0].Asked, "Delete order 8 of the server orders") || !strings.Contains(told, "get_order answers for 1") ||
				!strings.Contains(told, "keep it") || !strings.Contains(told, "delete_order answers for 7") {
				t.Errorf("the forms are %+v, the model read\n%s", forms, told)
			}
			for range 2 {
				if forms, _ = h.asks(c, command, []any{first}, once); len(forms) != 1 || slices.Contains(forms[0].Schema.Properties.Remember.Enum, "arguments-always") {
					t.Fatalf("the forms are %+v", forms)
				}
			}
			forms, _ = h.asks(c, command, []any{first}, always)
			if len(forms) != 1 || !slices.Contains(forms[0].Schema.Properties.Remember.Enum, "arguments-always") {
				t.Fatalf("the forms are %+v", forms)
			}
			const bounds = "Do not ask about orders/delete_order with exactly the arguments that were shown, for every client, until "
			if !strings.Contains(forms[0].Asked, "arguments-always: "+bounds) {
				t.Errorf("the form has no %q:\n%s", bounds, forms[0].Asked)
			}
			forms, told = h.asks(c, command, []any{first, other})
			if len(forms) != 1 || !strings.Contains(forms[0].Asked, "Delete order 8 of the server orders") || !strings.Contains(told, "delete_order answers for 7") {
				t.Errorf("the forms are %+v, the model read\n%s", forms, told)
			}
			want := []string{
				"get_order safe ok", "delete_order dangerous denied form", "delete_order dangerous ok form", "delete_order dangerous ok form", "delete_order dangerous ok form",
				"delete_order dangerous ok form", "delete_order dangerous ok remembered approval", "delete_order dangerous denied form",
			}
			recorded := slices.DeleteFunc(h.recorded(), func(r string) bool { return r == "delete_order dangerous input_required" }) // the form's own record
			if diff := cmp.Diff(want, recorded); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if list := h.exec(h.fairlead, nil, true, "approvals", "list", "--store", h.path("store")); !strings.Contains(list, bounds) {
				t.Errorf("the list has no %q:\n%s", bounds, list)
			}
		})
	}
}

func call(tool string, id int) map[string]any {
	return map[string]any{"name": tool, "arguments": map[string]any{"id": id}}
}

// asks runs a client once, in front of a proxy of its own. It returns the forms that the user was shown, and what the model
// read.
func (h *home) asks(c asked, command []string, calls []any, answers ...any) (forms []printed, told string) {
	h.t.Helper()
	p := h.person()
	if answers == nil {
		answers = []any{}
	}
	out := h.exec(h.node(), nil, true, h.path("client.mjs"), text(calls), text(command), text(answers))
	p.leave()
	revision := ""
	for line := range strings.Lines(out) {
		var one printed
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			h.t.Fatalf("%v\n%s", err, out)
		}
		revision += one.Revision
		if one.Asked != "" {
			forms = append(forms, one)
		}
		for _, content := range one.Content {
			told += content.Text + "\n"
		}
	}
	if revision != c.revision {
		h.t.Errorf("the client has negotiated %q, want %q", revision, c.revision)
	}
	return forms, told
}
