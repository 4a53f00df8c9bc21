package dial_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/google/go-cmp/cmp"
)

func TestConfiguredByCodex(t *testing.T) {
	t.Setenv("FAIRLEAD_TEST_KEY", "k-1")
	path := config(t, "config.toml", `model = "x"

[mcp_servers.files] # the local one
command = "npx"
args = ["-y", "server", "/tmp"]
startup_timeout_sec = 20
cwd = "/srv"

[mcp_servers.files.env]
A = "b"

[mcp_servers."off one"]
command = "y"
enabled = false

[mcp_servers.api]
url = "https://example.com/mcp"
bearer_token_env_var = "FAIRLEAD_TEST_KEY"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Key" = "FAIRLEAD_TEST_KEY" }
`)
	got, err := dial.Configured(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []dial.Target{
		{ID: "files", Command: []string{"npx", "-y", "server", "/tmp"}, Env: map[string]string{"A": "b"}, Dir: "/srv", File: path, Line: 3},
		{ID: "api", URL: "https://example.com/mcp", Header: map[string]string{"Authorization": "Bearer k-1", "X-Region": "eu", "X-Key": "k-1"}, File: path, Line: 16},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestConfiguredByCodexNamesTheFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"no TOML":                    {"[mcp_servers.a]\ncommand = ", []string{"not valid TOML", "line 2"}},
		"no servers":                 {"model = 1", []string{"mcp_servers"}},
		"none of them":               {"[mcp_servers]", []string{"names no server"}},
		"servers are a list":         {"mcp_servers = []", []string{"mcp_servers"}},
		"an entry is a text":         {"[mcp_servers]\na = \"x\"", []string{"line 2", `"a"`}},
		"one name begins another":    {"[mcp_servers.a-b]\nenv = {}\nargs = []\n\n[mcp_servers.a]\nenv = {}", []string{"line 1", `"a-b"`}},
		"lists without end":          {"[mcp_servers.a]\nargs = " + strings.Repeat("[", 500_000), []string{"line 2", "nested"}},
		"lists over many lines":      {"[mcp_servers.a]\nargs = " + strings.Repeat("[\n", 200), []string{"line 102", "nested"}},
		"tables without end":         {"[mcp_servers.a]\nenv = " + strings.Repeat("{a=", 250_000), []string{"line 2", "nested"}},
		"a key without end":          {"[mcp_servers.a]\na" + strings.Repeat(".a", 250_000) + " = 1", []string{"line 2", "nested"}},
		"a long file":                {"[mcp_servers.a]\ncommand = 'x'\n" + strings.Repeat("#\n", 1<<19), []string{"1048576 bytes"}},
		"a value is no JSON":         {"[mcp_servers.a]\ncommand = \"x\"\ntimeout = inf", []string{`"a"`}},
		"a variable that is not set": {"[mcp_servers.a]\nurl = \"http://h\"\nbearer_token_env_var = \"FAIRLEAD_NOT_SET\"", []string{`"a"`, "FAIRLEAD_NOT_SET"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := config(t, "config.toml", c.text)
			_, err := dial.Configured(path)
			if !errors.Is(err, dial.ErrUsage) {
				t.Fatalf("got error %v, want one of usage", err)
			}
			for _, want := range append(c.want, path) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %s", err, want)
				}
			}
		})
	}
}

// A string that looks like a list or a table is a string, wherever TOML has strings.
func TestConfiguredByCodexWithBracketsInTexts(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("[{.", 200)
	text := "# " + many + "\n[mcp_servers.a]\ncommand = \"x\" # " + many + "\nargs = [\"\\\"" + many + "\", '" + many + "\\', \"\"\"\n" + many + "\\\"\"\"\" , '''\n" + many + "''', '', \"\", 'b']\n" +
		"numbers = [" + strings.Repeat("1.5, ", 200) + "]\nlists = [" + strings.Repeat("[], ", 200) + "]\n"
	got, err := dial.Configured(config(t, "config.toml", text))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"x", `"` + many, many + `\`, many + `"`, many, "", "", "b"}
	if diff := cmp.Diff(want, got[0].Command); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func FuzzConfiguredByCodex(f *testing.F) {
	f.Add([]byte("[mcp_servers.a]\ncommand = \"x\"\nargs = [\"\"\"a\"\"\"\", '''b''']\na.b.c = {d = 1}"))
	path := filepath.Join(f.TempDir(), "config.toml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := dial.Configured(path); err != nil && !errors.Is(err, dial.ErrUsage) {
			t.Errorf("got error %v", err)
		}
	})
}
