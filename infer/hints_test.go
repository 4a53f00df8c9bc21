package infer_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestComplexity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, description string
		want              annotation.Complexity
	}{
		{"get_user", "", annotation.Simple},
		{"searchDocuments", "Search documents by keyword", annotation.Simple},
		{"get_user", strings.Repeat("a", 100), annotation.Simple},
		{"get_user", strings.Repeat("a", 101), annotation.Medium},
		{"get_user", strings.Repeat("é", 100), annotation.Simple},
		{"get_user", strings.Repeat("é", 101), annotation.Medium},
		{"get_user", strings.Repeat("語", 100), annotation.Simple},
		{"get_user", strings.Repeat("語", 101), annotation.Medium},
		{"get_user", strings.Repeat("🙂", 100), annotation.Simple},
		{"get_user", strings.Repeat("🙂", 101), annotation.Medium},
		{"processPayment", "Process a payment transaction", annotation.Complex},
		{"get_user", "Gets a user and analyses it", annotation.Complex},
		{"generate_text", strings.Repeat("b ", 200), annotation.Complex},
		{"get_transformer", "A transformer", annotation.Simple},
		{"get_data", "Reads what was computed", annotation.Complex},
	} {
		if got := infer.Tool(&mcp.Tool{Name: c.name, Description: c.description}).Complexity; got != c.want {
			t.Errorf("%s %.30q (%d bytes): got %s, want %s", c.name, c.description, len(c.description), got, c.want)
		}
	}
}

func TestIdempotent(t *testing.T) {
	t.Parallel()
	byID := map[string]any{"properties": map[string]any{"user_id": map[string]any{"type": "string"}}}
	for _, c := range []struct {
		name, description string
		schema            any
		want              annotation.Hint
	}{
		{"set_theme", "Set the theme", nil, annotation.Yes},
		{"put_object", "", nil, annotation.Yes},
		{"upsert_contact", "", nil, annotation.Yes},
		{"configure_alerts", "", nil, annotation.Yes},
		{"config.set", "", nil, annotation.Yes},
		{"update_user", "", byID, annotation.Yes},
		{"update_user", "", nil, annotation.Unset},
		{"create_user", "", byID, annotation.Unset},
		{"append_row", "", byID, annotation.Unset},
		{"delete_user", "", byID, annotation.Unset},
		{"reset_user", "", byID, annotation.Unset},
		{"set_and_delete", "", nil, annotation.Unset},
		{"set_flag", "Set a flag. This cannot be undone.", nil, annotation.Unset},
		{"get_user", "Gets a user", byID, annotation.Unset},
		{"unset_flag", "", nil, annotation.Unset},
		{"asset_delete", "", nil, annotation.Unset},
		{"toggle_light", "", byID, annotation.Unset},
	} {
		a := infer.Tool(&mcp.Tool{Name: c.name, Description: c.description, InputSchema: c.schema})
		if a.Idempotent != c.want {
			t.Errorf("%s %q: got %v, want %v", c.name, c.description, a.Idempotent, c.want)
		}
		if a.SafeToRetry() && a.Safety() != annotation.Safe {
			t.Errorf("%s: inferred idempotence alone must not make a write safe to retry", c.name)
		}
	}
}

func TestOpenWorld(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, description string
		want              annotation.Hint
	}{
		{"web_search", "Search the internet for current information.", annotation.Yes},
		{"getWeather", "Gets the current weather from an external API", annotation.Yes},
		{"fetchExternalData", "Fetches data from external API", annotation.Yes},
		{"get_rates", "Calls a third-party API", annotation.Yes},
		{"calculateChecksum", "Calculates a checksum", annotation.No},
		{"session.get", "Get session data (internal only)", annotation.No},
		{"session.create", "", annotation.No},
		{"config.set", "", annotation.No},
		{"memory_show", "", annotation.No},
		{"get_local_time", "", annotation.No},
		{"localize_text", "", annotation.Unset},
		{"reconfigure_app", "", annotation.Unset},
		{"read_file", "Read a file", annotation.Unset},
		{"session_from_web", "", annotation.Yes},
		{"update_invoice", "Update an invoice", annotation.Unset},
	} {
		if got := infer.Tool(&mcp.Tool{Name: c.name, Description: c.description}).OpenWorld; got != c.want {
			t.Errorf("%s %q: got %v, want %v", c.name, c.description, got, c.want)
		}
	}
}

// TestHints checks the hints behind a class: what reads leaves destructive unset,
// what merely destroys leaves the confirmation to be derived.
func TestHints(t *testing.T) {
	t.Parallel()
	const unset, no, yes = annotation.Unset, annotation.No, annotation.Yes
	for _, c := range []struct {
		name                  string
		readOnly, destructive annotation.Hint
		confirm               annotation.Hint
	}{
		{"get_user", yes, unset, unset},
		{"create_user", no, no, unset},
		{"update_user", no, no, unset},
		{"delete_user", no, yes, unset},
		{"run_command", no, yes, yes},
		{"manage_users", no, yes, unset},
		{"send_mail", no, no, yes},
		{"pay_invoice", no, no, yes},
		{"gadget", unset, unset, unset},
	} {
		a := infer.Tool(&mcp.Tool{Name: c.name})
		if a.ReadOnly != c.readOnly || a.Destructive != c.destructive || a.RequiresConfirmation != c.confirm {
			t.Errorf("%s: got read-only %v, destructive %v, confirmation %v; want %v, %v, %v",
				c.name, a.ReadOnly, a.Destructive, a.RequiresConfirmation, c.readOnly, c.destructive, c.confirm)
		}
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, title, description string
		schema                   any
		field                    annotation.Field
		want                     string
	}{
		{name: "delete_branch", field: annotation.DestructiveHint, want: `inferred: "delete" leads the name`},
		{name: "branch_delete", field: annotation.DestructiveHint, want: `inferred: "delete" in the name`},
		{name: "getAndDelete", field: annotation.DestructiveHint, want: `inferred: "delete" in the name`},
		{name: "describes_users", field: annotation.ReadOnlyHint, want: `inferred: "describe" leads the name`},
		{name: "weather", description: "Gets the weather", field: annotation.ReadOnlyHint, want: `inferred: "get" is the main verb of the description`},
		{name: "get_it", description: "Get it and delete the rest", field: annotation.DestructiveHint, want: `inferred: "delete" in the description`},
		{name: "move_it", description: "Irreversible.", field: annotation.RequiresConfirmation, want: `inferred: "irreversible" warns in the description`},
		{name: "gadget", title: "Wipe everything", field: annotation.DestructiveHint, want: `inferred: "wipe" in the title`},
		{name: "items", schema: enum("action", "list", "remove"), field: annotation.DestructiveHint, want: `inferred: "remove" is a choice of a parameter`},
		{name: "run_it", schema: stringParameter("sql"), field: annotation.DestructiveHint, want: `inferred: "sql" is a parameter`},
		{name: "web_search", field: annotation.OpenWorldHint, want: `inferred: "web" in the name`},
		{name: "gadget", description: "Reads the internet", field: annotation.OpenWorldHint, want: `inferred: "internet" in the description`},
		{name: "compute_it", field: annotation.ComplexityHint, want: `inferred: "compute" in the name`},
		{name: "gadget", field: annotation.ComplexityHint, want: `inferred: at most 100 characters of description`},
	} {
		a := infer.Tool(&mcp.Tool{Name: c.name, Title: c.title, Description: c.description, InputSchema: c.schema})
		got := ""
		for _, e := range a.Evidence {
			if e.Field == c.field {
				got = e.String()
			}
		}
		if got != c.want {
			t.Errorf("%s: %s: got %q, want %q", c.name, c.field, got, c.want)
		}
		if a.SourceOf(c.field) != annotation.Inferred {
			t.Errorf("%s: %s is said by %v", c.name, c.field, a.SourceOf(c.field))
		}
	}
}

func TestEvidenceStrength(t *testing.T) {
	t.Parallel()
	strength := func(name, description string) annotation.Strength {
		return infer.Tool(&mcp.Tool{Name: name, Description: description}).Evidence[0].Strength
	}
	if got := strength("delete_user", ""); got != annotation.Strong {
		t.Errorf("the verb that leads the name is %v", got)
	}
	if got := strength("get_user", "Get a user and delete the rest"); got != annotation.Weak {
		t.Errorf("a word in passing is %v", got)
	}
}

// TestClassedIsRecognisable: a reader of annotations can distinguish a tool that was inspected
// from one that was not.
func TestClassedIsRecognisable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "gadget", "get_user", "löschen", "\xff\xfe"} {
		if len(infer.Tool(&mcp.Tool{Name: name}).Evidence) == 0 {
			t.Errorf("%q: no evidence", name)
		}
	}
	if a := infer.Tool(nil); !reflect.DeepEqual(a, annotation.Annotations{}) {
		t.Errorf("no definition: %v", a)
	}
}

func TestDeclaredIsIgnored(t *testing.T) {
	t.Parallel()
	lie := &mcp.Tool{Name: "delete_user", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	if got := infer.Tool(lie).Safety(); got != annotation.Dangerous {
		t.Errorf("got %v", got)
	}
	slander := &mcp.Tool{Name: "get_user", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true)}}
	if got := infer.Tool(slander).Safety(); got != annotation.Safe {
		t.Errorf("got %v", got)
	}
}

func TestTitleOnlyRaises(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, title string
		want        annotation.Safety
	}{
		{"drop_table", "Safe read", annotation.Dangerous},
		{"drop_table", "List tables", annotation.Dangerous},
		{"gadget", "List gadgets", annotation.Unknown},
		{"gadget", "Delete all gadgets", annotation.Dangerous},
		{"list_users", "Send mail to users", annotation.Dangerous},
		{"list_users", "List users", annotation.Safe},
		{"create_user", "Get user", annotation.Moderate},
		{"list_users", "Create user", annotation.Safe},
	} {
		if got := infer.Tool(&mcp.Tool{Name: c.name, Title: c.title}).Safety(); got != c.want {
			t.Errorf("%s, %q: got %v, want %v", c.name, c.title, got, c.want)
		}
	}
}

func TestSharedPrefix(t *testing.T) {
	t.Parallel()
	classes := func(names ...string) string {
		defs := make([]*mcp.Tool, len(names))
		for i, name := range names {
			defs[i] = &mcp.Tool{Name: name}
		}
		var out []string
		for _, a := range infer.Tools(defs) {
			out = append(out, a.Safety().String())
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ names, want string }{
		{"mail_get_thread mail_label_thread mail_thread_stats", "safe moderate safe"},
		{"post_list post_view post_remove", "safe safe dangerous"},
		{"issue-list issue-new issue-status", "safe moderate safe"},
		{"get_user get_order get_invoice", "safe safe safe"},
		{"delete_a delete_b", "dangerous dangerous"},
		{"message", "dangerous"},
		{"order_search order_status order_cancel", "safe safe dangerous"},
	} {
		if got := classes(strings.Fields(c.names)...); got != c.want {
			t.Errorf("%s: got %s, want %s", c.names, got, c.want)
		}
	}
	got := infer.Tools([]*mcp.Tool{nil, {Name: "get_a"}, nil})
	if len(got) != 3 || got[1].Safety() != annotation.Safe || len(got[0].Evidence) != 0 {
		t.Errorf("with nil definitions: %v", got)
	}
	if got := infer.Tools(nil); len(got) != 0 {
		t.Errorf("of none: %v", got)
	}
}
