package proxy_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// conditional is a server whose tools do what their arguments decide. It is not declared what that is.
func conditional() *mcp.Server {
	s := mcptest.New()
	for _, tool := range []struct{ name, description, properties string }{
		{"get_messages", "Returns all messages.", `{"errors": {"type": "boolean"},
			"filename": {"type": "string", "description": "Filename to save the messages to. If not provided, they are returned as text."}}`},
		{"manage_orders", "Manage the orders.", `{"action": {"type": "string", "enum": ["list", "get", "add", "delete"]}, "id": {"type": "string"}}`},
		{"delete_orders", "Delete all orders.", `{"dry_run": {"type": "boolean", "description": "Only report what would be deleted."}}`},
		{"orders", "List the orders.", `{"method": {"type": "string"}, "id": {"type": "string"}}`},
		{"query", "Run a read-only SQL query", `{"sql": {"type": "string"}}`},
		{"run_command", "Run a shell command.", `{"command": {"type": "string", "description": "The shell command to run."}}`},
	} {
		def := mcptest.Tool(tool.name, tool.description)
		def.InputSchema = json.RawMessage(`{"type": "object", "properties": ` + tool.properties + `}`)
		mcptest.Add(s, def, func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			did(tool.name + " " + string(arguments))
			return mcptest.Text("done"), nil
		})
	}
	return s
}

// The proxy without a policy, over a server in a process of its own.
func TestConditionsDecideWhoIsAsked(t *testing.T) {
	t.Parallel()
	calls := []struct {
		tool, arguments string
		reads           bool
		why             string // to the person who is asked
	}{
		{"get_messages", `{}`, true, ""},
		{"get_messages", `{"errors": true}`, true, ""},
		{"get_messages", `{"filename": "package.json"}`, false, "filename is given (an argument that writes a file)"},
		{"get_messages", `{"filename": null}`, false, "filename is given"},
		{"get_messages", `{"filename": ""}`, false, "filename is given"},
		{"get_messages", `{"FileName": "package.json"}`, false, "in another case"},
		{"manage_orders", `{"action": "list"}`, true, ""},
		{"manage_orders", `{"action": "delete", "id": "7"}`, false, `action is "delete"`},
		{"manage_orders", `{"action": ["list"]}`, false, "action is not one of the known values"},
		{"manage_orders", `{"id": "7"}`, false, "action is not given"},
		{"delete_orders", `{"dry_run": true}`, true, ""},
		{"delete_orders", `{"dry_run": "true"}`, false, "dry_run is not one of the known values"},
		{"delete_orders", `{}`, false, "dry_run is not given"},
		{"orders", `{"method": "list"}`, true, ""},
		{"orders", `{}`, true, ""},
		{"orders", `{"method": "delete", "id": "7"}`, false, `method: the word "delete" (an argument that chooses the deed)`},
		{"orders", `{"Method": "list"}`, false, "method is given twice or in another case"},
		{"query", `{"sql": "SELECT 1"}`, true, ""},
		{"query", `{"sql": "COMMIT; DROP TABLE customers;"}`, false, `a second statement, and the word "COMMIT"`},
		{"query", `{"sql": "DELETE FROM customers"}`, false, `"DELETE" does not begin a SELECT`},
		{"run_command", `{"command": "ls -la && git status"}`, true, ""},
		{"run_command", `{"command": "rm -rf build"}`, false, `the command "rm"`},
	}
	asked := make(chan string, 1)
	confirm := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		asked <- strings.Join(r.Reasons(), "\n")
		return hitl.Decision{}, nil
	})
	for name, o := range map[string]proxy.Options{
		"as it is": {Confirm: confirm}, "read-only": {Confirm: confirm, ReadOnly: true},
		"the worst case": {Confirm: confirm, Policy: decided(t, `{"worstCase": true}`)},
	} {
		f, ledger := inFrontOf(t, "conditional", o)
		var did []string
		for _, c := range calls {
			res := f.call(t, c.tool, json.RawMessage(c.arguments))
			why, wasAsked := "", false
			select {
			case why = <-asked:
				wasAsked = true
			default:
			}
			runs := c.reads && (name != "the worst case" || c.tool == "orders") // whose verb only raises
			if name == "the worst case" && c.tool == "get_messages" {
				continue // which reads, and is as strict as inference finds it
			}
			switch {
			case res.IsError == runs:
				t.Errorf("%s: %s %s: %s", name, c.tool, c.arguments, text(t, res))
			case wasAsked != (!runs && name != "read-only"):
				t.Errorf("%s: %s %s: asked %v", name, c.tool, c.arguments, wasAsked)
			case name == "as it is" && !strings.Contains(why, c.why):
				t.Errorf("%s %s: the person read\n%s\nwant %q", c.tool, c.arguments, why, c.why)
			case name == "read-only" && !runs && !strings.Contains(text(t, res), "only what reads may be called here"):
				t.Errorf("%s %s: %s", c.tool, c.arguments, text(t, res))
			}
			if runs {
				did = append(did, c.tool+" "+c.arguments)
			}
		}
		if got := ledgerOf(t, ledger); name != "the worst case" && len(got) != len(did) {
			t.Errorf("%s: the server did %q, want %q", name, got, did)
		}
	}
}

// A tool is shown to who may only read if it has a call that reads, and with the hints of its worst call.
func TestConditionsInLists(t *testing.T) {
	t.Parallel()
	all := []string{"delete_orders", "get_messages", "manage_orders", "orders", "query", "run_command"}
	f, _ := inFrontOf(t, "conditional", proxy.Options{ReadOnly: true, Annotate: true})
	list, err := f.ListTools(mcptest.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, tool := range list.Tools {
		shown = append(shown, tool.Name)
		if tool.Name == "orders" {
			continue // whose worst call is one that its schema does not state
		}
		if tool.Annotations.ReadOnlyHint || tool.Name != "get_messages" && !*tool.Annotations.DestructiveHint {
			t.Errorf("%s is shown as %+v", tool.Name, tool.Annotations)
		}
	}
	if slices.Sort(shown); !slices.Equal(shown, all) {
		t.Errorf("shown are %v, want %v", shown, all)
	}
	f, _ = inFrontOf(t, "conditional", proxy.Options{Policy: decided(t, `{"readOnly": true, "worstCase": true}`)})
	if got := names(t, f.ClientSession); !slices.Equal(got, []string{"orders"}) {
		t.Errorf("in the worst case %v is shown", got)
	}
}

// inFrontOf puts a proxy in front of a server in a process of its own, and returns its ledger.
func inFrontOf(t *testing.T, server string, o proxy.Options) (f *front, ledger string) {
	t.Helper()
	ledger = t.TempDir() + "/ledger"
	o.Servers = []proxy.Server{child(t, server, ledgerKey+"="+ledger)}
	return connect(t, mcptest.Legacy, o, nil), ledger
}
