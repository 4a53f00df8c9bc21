package dial_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/google/go-cmp/cmp"
)

func config(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigured(t *testing.T) {
	t.Setenv("FAIRLEAD_TEST_KEY", "k-1")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text  string
		names []string
		want  []dial.Target
	}{
		"Claude Desktop": {
			`{"globalShortcut": "x", "mcpServers": {"filesystem": {"command": "npx", "args": ["-y", "server", "/tmp"], "env": {"A": "b"}}}}`, nil,
			[]dial.Target{{ID: "filesystem", Command: []string{"npx", "-y", "server", "/tmp"}, Env: map[string]string{"A": "b"}, Line: 1}},
		},
		"Claude Code": {
			"{\"mcpServers\": {\n\"api\": {\"type\": \"http\", \"url\": \"${BASE:-https://example.com}/mcp\", \"headers\": {\"Authorization\": \"Bearer ${FAIRLEAD_TEST_KEY}\"}},\n\"old\": {\"type\": \"sse\", \"url\": \"http://127.0.0.1:1/sse\"}}}", nil,
			[]dial.Target{
				{ID: "api", URL: "https://example.com/mcp", Header: map[string]string{"Authorization": "Bearer k-1"}, Line: 2},
				{ID: "old", URL: "http://127.0.0.1:1/sse", SSE: true, Header: map[string]string{}, Line: 3},
			},
		},
		"VS Code, with comments": {
			"{\n// the servers\n\"inputs\": [],\n\"servers\": {\n/* one\n */ \"memory\": {\"type\": \"stdio\", \"command\": \"npx\", \"args\": [\"m\", /* not this */ \"// nor this\",], \"env\": {\"KEY\": \"${env:FAIRLEAD_TEST_KEY}\", \"N\": 7},},\n},\n}", nil,
			[]dial.Target{{ID: "memory", Command: []string{"npx", "m", "// nor this"}, Env: map[string]string{"KEY": "k-1", "N": "7"}, Line: 6}},
		},
		"VS Code's settings": {
			`{"editor.tabSize": 4, "mcp": {"servers": {"a": {"command": "x"}}}}`, nil,
			[]dial.Target{{ID: "a", Command: []string{"x"}, Env: map[string]string{}, Line: 1}},
		},
		"Zed": {
			`{"theme": "One", "context_servers": {"a": {"source": "custom", "command": "x", "args": ["1"]}, "b": {"command": {"path": "y", "args": ["2"], "env": {"A": "1"}}, "settings": {}}}}`, nil,
			[]dial.Target{
				{ID: "a", Command: []string{"x", "1"}, Env: map[string]string{}, Line: 1},
				{ID: "b", Command: []string{"y", "2"}, Env: map[string]string{"A": "1"}, Line: 1},
			},
		},
		"opencode": {
			`{"$schema": "x", "mcp": {"a": {"type": "local", "command": ["npx", "-y", "m"], "environment": {"K": "{env:FAIRLEAD_TEST_KEY}"}, "enabled": true}, "b": {"type": "remote", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer {env:FAIRLEAD_TEST_KEY}"}}}}`, nil,
			[]dial.Target{
				{ID: "a", Command: []string{"npx", "-y", "m"}, Env: map[string]string{"K": "k-1"}, Line: 1},
				{ID: "b", URL: "https://example.com/mcp", Header: map[string]string{"Authorization": "Bearer k-1"}, Line: 1},
			},
		},
		"Claude Code, of this project": {
			`{"mcpServers": {}, "projects": {` + strconv.Quote(here) + `: {"mcpServers": {"a": {"command": "x"}}}, "/elsewhere": {"mcpServers": {"b": {"command": "y"}}}}}`, nil,
			[]dial.Target{{ID: "a", Command: []string{"x"}, Env: map[string]string{}, Line: 1}},
		},
		"a server twice": { // as for a client, the last counts
			"{\"mcpServers\": {\"a\": {\"command\": \"old\"}, \"b\": {\"command\": \"y\"},\n\"a\": {\"command\": \"x\"}}}", nil,
			[]dial.Target{{ID: "b", Command: []string{"y"}, Env: map[string]string{}, Line: 1}, {ID: "a", Command: []string{"x"}, Env: map[string]string{}, Line: 2}},
		},
		"Claude Code, for all and for this project": {
			`{"mcpServers": {"a": {"command": "y"}}, "projects": {` + strconv.Quote(here) + `: {"mcpServers": {"a": {"command": "x"}}}}}`, nil,
			[]dial.Target{{ID: "a", Command: []string{"x"}, Env: map[string]string{}, Line: 1}},
		},
		"Windsurf":        {`{"mcpServers": {"a": {"serverUrl": "https://example.com/sse"}}}`, nil, []dial.Target{{ID: "a", URL: "https://example.com/sse", Header: map[string]string{}, Line: 1}}},
		"Gemini":          {`{"mcpServers": {"a": {"httpUrl": "https://example.com/mcp"}}}`, nil, []dial.Target{{ID: "a", URL: "https://example.com/mcp", Header: map[string]string{}, Line: 1}}},
		"one by its name": {`{"mcpServers": {"a": {"command": "x"}, "b": {"command": "${NOWHERE}"}}}`, []string{"a"}, []dial.Target{{ID: "a", Command: []string{"x"}, Env: map[string]string{}, Line: 1}}},
		"switched off": {
			`{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y", "disabled": true}, "c": {"command": "z", "enabled": false}}}`, nil,
			[]dial.Target{{ID: "a", Command: []string{"x"}, Env: map[string]string{}, Line: 1}},
		},
		"switched off, as it cannot be used": {
			`{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y", "env": {"K": "${FAIRLEAD_NOT_SET}"}, "disabled": true}}}`, nil,
			[]dial.Target{{ID: "a", Command: []string{"x"}, Env: map[string]string{}, Line: 1}},
		},
		"switched off and named": {
			`{"mcpServers": {"b": {"command": "y", "disabled": true}}}`, []string{"b"},
			[]dial.Target{{ID: "b", Command: []string{"y"}, Env: map[string]string{}, Line: 1}},
		},
		"names that are not ids": {
			`{"mcpServers": {"My Server!": {"command": "x"}, "My Server?": {"command": "y"}, "a__b": {"command": "z"}, "…": {"command": "w"}}}`, nil,
			[]dial.Target{
				{ID: "My-Server", Command: []string{"x"}, Env: map[string]string{}, Line: 1},
				{ID: "My-Server-2", Command: []string{"y"}, Env: map[string]string{}, Line: 1},
				{ID: "a_b", Command: []string{"z"}, Env: map[string]string{}, Line: 1},
				{ID: "server", Command: []string{"w"}, Env: map[string]string{}, Line: 1},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := config(t, "mcp.json", c.text)
			got, err := dial.Configured(path, c.names...)
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.want {
				c.want[i].File = path
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestConfiguredNamesTheFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		names []string
		want  []string
	}{
		"no JSON":                    {"{\n\"mcpServers\": {\n\"a\" 1}}", nil, []string{"line 3"}},
		"cut off":                    {"{\n\"mcpServers\": {", nil, []string{"line 2"}},
		"a list":                     {`[]`, nil, []string{"want a JSON object"}},
		"no servers":                 {`{"theme": "dark"}`, nil, []string{"mcpServers", "context_servers"}},
		"none of them":               {`{"mcpServers": {}}`, nil, []string{"names no server"}},
		"servers are a list":         {`{"mcpServers": []}`, nil, []string{"mcpServers"}},
		"another name":               {`{"mcpServers": {"a": {"command": "x"}}}`, []string{"b"}, []string{`no server "b"`, `"a"`}},
		"all switched off":           {`{"mcpServers": {"a": {"command": "x", "disabled": true}}}`, nil, []string{"switched off", "--server"}},
		"neither command nor URL":    {"{\"mcpServers\": {\n\"a\": {\"args\": [\"x\"]}}}", nil, []string{"line 2", `"a"`, `neither "command" nor "url"`}},
		"both":                       {`{"mcpServers": {"a": {"command": "x", "url": "http://h"}}}`, nil, []string{`"a"`, "both"}},
		"no http URL":                {`{"mcpServers": {"a": {"url": "ftp://h"}}}`, nil, []string{`"a"`, "http"}},
		"another transport":          {`{"mcpServers": {"a": {"type": "ws", "url": "http://h"}}}`, nil, []string{`"a"`, `"ws"`}},
		"arguments are a text":       {`{"mcpServers": {"a": {"command": "x", "args": "y"}}}`, nil, []string{`"a"`, "args"}},
		"a value is a list":          {`{"mcpServers": {"a": {"command": "x", "env": {"A": []}}}}`, nil, []string{`"a"`, "want a string"}},
		"a value is null":            {`{"mcpServers": {"a": {"command": "x", "env": {"A": null}}}}`, nil, []string{`"a"`, "want a string"}},
		"nested without end":         {"{\n\"mcpServers\": " + strings.Repeat("[", 8<<20), nil, []string{"line 2", "nested"}},
		"an entry is a text":         {`{"mcpServers": {"a": "x"}}`, nil, []string{`"a"`}},
		"a variable that is not set": {`{"mcpServers": {"a": {"command": "x", "env": {"K": "${env:FAIRLEAD_NOT_SET}"}}}}`, nil, []string{`"a"`, "FAIRLEAD_NOT_SET"}},
		"what the editor asks for":   {`{"servers": {"a": {"command": "x", "env": {"K": "${input:key}"}}}}`, nil, []string{`"a"`, "${input:key}"}},
		"a file of opencode's":       {`{"mcp": {"a": {"type": "local", "command": ["x"], "environment": {"K": "{file:~/key}"}}}}`, nil, []string{`"a"`, `"{file:~/key}"`}},
		"an extension's":             {`{"context_servers": {"a": {"source": "extension", "settings": {}}}}`, nil, []string{`"a"`, "extension"}},
		"a file of variables":        {`{"servers": {"a": {"command": "x", "envFile": ".env"}}}`, nil, []string{`"a"`, "envFile"}},
		"a hostile name":             {"{\"mcpServers\": {\"a\\u001b[31m\": {}}}", nil, []string{`"a\x1b[31m"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := config(t, "mcp.json", c.text)
			_, err := dial.Configured(path, c.names...)
			if !errors.Is(err, dial.ErrUsage) {
				t.Fatalf("got error %v, want one of usage", err)
			}
			for _, want := range append(c.want, path) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
	if _, err := dial.Configured(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, os.ErrNotExist) || !errors.Is(err, dial.ErrUsage) {
		t.Errorf("got error %v", err)
	}
}

// Whatever a file holds, it is servers or an error that says so.
func FuzzConfigured(f *testing.F) {
	f.Add("{\"mcpServers\": {\"a\": {\"command\": \"x\"}}} // end")
	f.Add("{/* \"a\": */ \"servers\": {\"a\": {\"url\": \"http://h\",},},}")
	f.Add("[mcp_servers.a]\ncommand = \"x\"\nenv = { \"A\" = 1 }")
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"mcp.json", "config.toml"} {
			found, err := dial.Configured(config(t, name, text))
			if (err == nil) == (len(found) == 0) || err != nil && !errors.Is(err, dial.ErrUsage) {
				t.Fatalf("%s: %d servers and %v", name, len(found), err)
			}
		}
	})
}
