package hook_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/hook"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// locked is a lock with definitions, by the names of their servers.
func locked(t *testing.T, reviewed map[string]pins.Decision, servers map[string][]*mcp.Tool) *pins.Lock {
	t.Helper()
	lock := new(pins.Lock)
	c := catalog.New(catalog.Options{Lock: lock})
	for server, tools := range servers {
		if err := c.AddTools(server, middleware.ToolCallerFunc(nil), tools...); err != nil {
			t.Fatal(err)
		}
	}
	if err := lock.Accept(c, lock.Changes(c)...); err != nil {
		t.Fatal(err)
	}
	for _, tool := range c.List() {
		if d, ok := reviewed[tool.String()]; ok {
			if err := lock.Decide(c, tool, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return lock
}

func reading() *mcp.ToolAnnotations { return &mcp.ToolAnnotations{ReadOnlyHint: true} }

func destroying() *mcp.ToolAnnotations {
	yes := true
	return &mcp.ToolAnnotations{DestructiveHint: &yes}
}

func withSchema(name, description string, a *mcp.ToolAnnotations, arguments ...string) *mcp.Tool {
	properties := make(map[string]any)
	for _, argument := range arguments {
		properties[argument] = map[string]any{"type": "string"}
	}
	return &mcp.Tool{Name: name, Description: description, Annotations: a, InputSchema: map[string]any{"type": "object", "properties": properties}}
}

// A tool of a server that is not behind the proxy is judged by the definition that was accepted. A server that is not
// trusted can only raise the class.
func TestAcceptedDefinitions(t *testing.T) {
	t.Parallel()
	lock := locked(t, map[string]pins.Decision{"work/reviewed": {Class: annotation.Safe, Reason: "it counts", Reviewer: "ann"}}, map[string][]*mcp.Tool{
		"work": {
			withSchema("get_rows", "Gets rows.", nil, "sql"), withSchema("get_page", "Gets a page.", destroying()),
			withSchema("remove_page", "Removes a page.", reading()), withSchema("frobnicate", "Frobnicates.", reading()), withSchema("reviewed", "Frobnicates.", nil),
		},
		"trusted":  {withSchema("frobnicate", "Frobnicates.", reading()), withSchema("remove_page", "Removes a page.", destroying())},
		"two_x":    {withSchema("get_page", "Gets a page.", nil)},
		"two.x":    {withSchema("get_page", "Gets a page.", nil)},
		"my.files": {withSchema("get.page", "Gets a page.", nil)},
	})
	p, err := policy.Parse("policy.json", []byte(`{"trust": ["trusted"]}`))
	if err != nil {
		t.Fatal(err)
	}
	g := guard(t, hook.Options{Policy: func() (*policy.Policy, error) { return p, nil }, Lock: func() (*pins.Lock, error) { return lock, nil }})
	plain := guard(t, hook.Options{Policy: func() (*policy.Policy, error) { return p, nil }})
	for name, tt := range map[string]struct{ tool, input, byName, want string }{
		"the statement decides":                   {"work__get_rows", `{"sql":"delete from t"}`, "allow", "ask"},
		"the statement that reads":                {"work__get_rows", `{"sql":"select 1"}`, "allow", "allow"},
		"a server raises":                         {"work__get_page", `{}`, "allow", "ask"},
		"a server lowers":                         {"work__remove_page", `{}`, "ask", "ask"},
		"a server states that it reads":           {"work__frobnicate", `{}`, "ask", "ask"},
		"a trusted one states so":                 {"trusted__frobnicate", `{}`, "ask", "allow"},
		"a trusted one states that it destroys":   {"trusted__remove_page", `{}`, "ask", "ask"},
		"a person has reviewed it":                {"work__reviewed", `{}`, "ask", "allow"},
		"a tool that was not accepted":            {"work__get_more", `{}`, "allow", "ask"},
		"a server that the lock does not have":    {"other__get_page", `{}`, "allow", "allow"},
		"a tool of one of two servers":            {"two_x__get_page", `{}`, "allow", "ask"},
		"a name as the agent writes it":           {"my_files__get_page", `{}`, "allow", "allow"},
		"a server whose name begins as another's": {"work2__get_page", `{}`, "allow", "allow"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := event("mcp__"+tt.tool, tt.input, withID(name))
			if got, why := decided(t, plain, "claude-code", e); got != tt.byName {
				t.Errorf("by its name: got %s (%s), want %s", got, why, tt.byName)
			}
			if got, why := decided(t, g, "claude-code", e); got != tt.want {
				t.Errorf("got %s (%s), want %s", got, why, tt.want)
			}
		})
	}
}

// Gemini CLI has the server beside the name.
func TestAcceptedDefinitionsOfGemini(t *testing.T) {
	t.Parallel()
	lock := locked(t, nil, map[string][]*mcp.Tool{"my.files": {withSchema("get_page", "Gets a page.", destroying()), withSchema("list_pages", "Lists pages.", nil)}})
	g := guard(t, hook.Options{Lock: func() (*pins.Lock, error) { return lock, nil }})
	for tool, want := range map[string]string{"get_page": "deny", "list_pages": "allow", "get_more": "deny"} {
		e := `{"session_id":"s","cwd":"/srv/project","hook_event_name":"BeforeTool","tool_name":"mcp_my.files_` + tool + `","tool_input":{},"mcp_context":{"server_name":"my.files","tool_name":"` + tool + `"}}`
		if got, why := decided(t, g, "gemini", e); got != want {
			t.Errorf("%s: got %s (%s), want %s", tool, got, why, want)
		}
	}
}

// A lock that changes counts at once, and calls end where they began.
func TestAcceptedDefinitionsChange(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[pins.Lock]
	g := guard(t, hook.Options{Lock: func() (*pins.Lock, error) { return now.Load(), nil }})
	for i, tt := range []struct {
		lock *pins.Lock
		want string
	}{
		{nil, "allow"},
		{locked(t, nil, map[string][]*mcp.Tool{"work": {withSchema("list_pages", "Lists pages.", nil)}}), "ask"},
		{locked(t, nil, map[string][]*mcp.Tool{"work": {withSchema("get_page", "Gets a page.", nil)}}), "allow"},
		{locked(t, nil, map[string][]*mcp.Tool{"work": {withSchema("get_page", "Gets a page.", destroying())}}), "ask"},
		{nil, "allow"},
	} {
		now.Store(tt.lock)
		if got, why := decided(t, g, "claude-code", event("mcp__work__get_page", `{}`, withID(strings.Repeat("i", i+1)))); got != tt.want {
			t.Errorf("%d: got %s (%s), want %s", i, got, why, tt.want)
		}
	}
}

// A server counts as the one behind the proxy, or as the one that was accepted, only if it is the one that is configured.
func TestServerThatIsNotTheOneConfigured(t *testing.T) {
	t.Parallel()
	lock := locked(t, nil, map[string][]*mcp.Tool{"work": {withSchema("get_page", "Gets a page.", nil)}})
	type files struct {
		names   []string
		proxied bool
	}
	for name, tt := range map[string]struct {
		tool, want, why string
		files           files
	}{
		"proxied":                {"mail__get_mail", "", "", files{[]string{"a"}, true}},
		"proxied in two files":   {"mail__get_mail", "", "", files{[]string{"a", "b"}, true}},
		"not proxied in one":     {"mail__get_mail", "ask", "is not behind the proxy in each file that has it: a, /srv/project/.mcp.json", files{[]string{"a", "/srv/project/.mcp.json"}, false}},
		"proxied, in no file":    {"mail__get_mail", "ask", "No file of Claude Code that is looked at has the server mail", files{nil, true}},
		"accepted":               {"work__get_page", "allow", "", files{[]string{"a"}, false}},
		"accepted, in two files": {"work__get_page", "ask", "may not be the one that was accepted: a, b", files{[]string{"a", "b"}, false}},
		"accepted, in no file":   {"work__get_page", "ask", "No file of Claude Code", files{}},
		"neither, in no file":    {"other__get_page", "allow", "", files{}},
	} {
		g := guard(t, hook.Options{
			Proxied: []string{"mail"}, Lock: func() (*pins.Lock, error) { return lock, nil },
			Configured: func(client, server, folder string) ([]string, bool) {
				if client != "claude-code" || !strings.HasPrefix(tt.tool, server+"__") || folder != "/srv/project" {
					t.Errorf("asked for %q, %q, %q", client, server, folder)
				}
				return tt.files.names, tt.files.proxied
			},
		})
		if got, why := decided(t, g, "claude-code", event("mcp__"+tt.tool, `{}`)); got != tt.want || !strings.Contains(why, tt.why) {
			t.Errorf("%s: got %q (%s), want %q (%s)", name, got, why, tt.want, tt.why)
		}
	}
}
