package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/connect"
	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// home has a file of each client: with comments, CRLF, a byte order mark, members that nobody knows, a form of each kind.
var home = map[string]string{
	".claude.json": `{
  "numStartups": 12,
  "mcpServers": {
    "files": {
      "type": "stdio",
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/srv/app"
      ],
      "env": {}
    },
    "crm": {"type": "http", "url": "https://crm.example/mcp", "headers": {"Authorization": "Bearer ${CRM_TOKEN}", "X-Team": "a"}}
  },
  "projects": {
    "/srv/app": {
      "history": [{"display": "write \"mcpServers\": {}"}],
      "mcpServers": {
        "db": {"command": "/opt/db server/run", "args": []}
      }
    }
  }
}`,
	".claude/settings.json": `{
  "permissions": {"deny": ["Bash(rm:*)"]},
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "~/bin/log"}]} // mine
    ]
  }
}
`,
	".config/Claude/claude_desktop_config.json": "\ufeff{\r\n  \"mcpServers\": {\r\n    \"memory\": {\r\n      \"command\": \"npx\",\r\n      \"args\": [\"-y\", \"@modelcontextprotocol/server-memory\"]\r\n    }\r\n  }\r\n}\r\n",
	".cursor/mcp.json": `{
  // servers that I use
  "mcpServers": {
    "git": {
      "command": "uvx", // the runner
      "args": ["mcp-server-git",], /* no repository */
      "x-unknown": {"kept": true},
    },
    "legacy": {"url": "https://old.example/sse", "type": "sse"},
    "login": {"url": "https://login.example/mcp", "auth": {"CLIENT_ID": "x"}},
    "plain": {"url": "https://plain.example/mcp"},
  },
}
`,
	".config/Code/User/mcp.json": `{
	"inputs": [{"id": "key", "type": "promptString", "password": true}],
	"servers": {
		"docs": {
			"type": "http",
			"url": "https://docs.example/mcp",
			"headers": { "X-Key": "${input:key}" }
		},
		"bare": { "command": "bare-server" }
	}
}
`,
	".codex/config.toml": `model = "gpt-5" # the one

[mcp_servers.files]
command = "npx" # a runner
args = [
  "-y", # yes
  "@modelcontextprotocol/server-filesystem",
]

[mcp_servers.files.env]
A = "command = 1"

[mcp_servers."two words"]
command = 'C:\bin\server.exe'
startup_timeout_sec = 20

[mcp_servers.crm]
url = "https://crm.example/mcp"
bearer_token_env_var = "CRM_TOKEN"
http_headers = { "X-Team" = "a" }

[projects."/srv/app"]
trust_level = "trusted"
`,
	".gemini/settings.json": `{
  "mcpServers": {
    "weather": {"httpUrl": "https://weather.example/mcp", "headers": {"X-Key": "$WEATHER_KEY"}, "timeout": 5000}
  },
  "mcp": {"excluded": ["other"]}
}
`,
	".codeium/windsurf/mcp_config.json": `{"mcpServers":{"github":{"serverUrl":"https://git.example/mcp","headers":{"Authorization":"Bearer ${env:GIT}"}}}}`,
	".config/zed/settings.json": `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "old": {"command": {"path": "node", "args": ["server.js"], "env": {}}},
    "ext": {"source": "extension", "enabled": true, "settings": {}},
    "new": {"source": "custom", "command": "node", "args": ["server.js"]}
  }
}
`,
	".config/opencode/opencode.jsonc": `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "here": {"type": "local", "command": ["bun", "x", "server"], "enabled": false},
    "there": {"type": "remote", "url": "https://there.example/mcp", "headers": {"X-Key": "{env:KEY}"}}
  }
}
`,
	".copilot/mcp-config.json": `{
  "mcpServers": {
    "search": {"type": "http", "url": "https://search.example/mcp", "headers": {"X-Key": "k"}, "tools": ["*"]}
  }
}
`,
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// read returns the files below a folder.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var guard = connect.Guard{
	Program: "/opt/bin/fairlead", Flags: []string{"--policy", "/home/ann/.fairlead/policy.json", "--audit", "/home/ann/.fairlead/calls.jsonl"},
	Check: func(_ context.Context, address string) error {
		if strings.Contains(address, "plain") {
			return nil
		}
		return errors.New("it wants a login")
	},
}

func plan(t *testing.T, dir string) []*connect.File {
	t.Helper()
	return connect.Plan(t.Context(), connect.Machine{Home: dir, System: "linux"}, guard)
}

func apply(t *testing.T, dir string, j connect.Journal) {
	t.Helper()
	for _, f := range plan(t, dir) {
		if err := j.Apply(f); err != nil {
			t.Errorf("%s: %v", f.Path, err)
		}
	}
}

func undo(t *testing.T, j connect.Journal) {
	t.Helper()
	files, err := j.Undo()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Fault != nil {
			t.Errorf("%s: %v", f.Path, f.Fault)
		}
		if err := j.Revert(f); err != nil {
			t.Errorf("%s: %v", f.Path, err)
		}
	}
}

// The golden file has the report about each client and what differs afterwards.
func TestTenClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, home)
	var b strings.Builder
	for _, f := range plan(t, dir) {
		name, _ := filepath.Rel(dir, f.Path)
		b.WriteString("=== " + f.Client + ": " + filepath.ToSlash(name) + "\n" + f.Summary() + f.Diff())
	}
	const golden = "testdata/ten.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(home, read(t, dir)); diff != "" {
		t.Errorf("the plan has written (-want +got)\n%s", diff)
	}
}

// The diff of hooks has their command line once, and with it in the place of its name the lines are those of the file.
func TestDiffHasTheCommandOfHooksOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, home)
	diffs := make(map[string]string)
	for _, f := range plan(t, dir) {
		if f.Hooks && len(f.Guarded) == 0 { // others have secrets, which a diff does not show
			name, _ := filepath.Rel(dir, f.Path)
			diffs[filepath.ToSlash(name)] = f.Diff()
		}
	}
	if len(diffs) < 4 {
		t.Errorf("got %d files of hooks alone, want at least 4", len(diffs))
	}
	apply(t, dir, connect.Journal(t.TempDir()))
	written := read(t, dir)
	for name, diff := range diffs {
		head, rest, _ := strings.Cut(diff, "\n")
		command, ok := strings.CutPrefix(head, "@@ <hook> is ")
		if !ok || strings.Count(diff, "hook --client") != 1 {
			t.Errorf("%s: got the diff\n%s", name, diff)
		}
		for line := range strings.Lines(rest) {
			if len(line) > 160 {
				t.Errorf("%s: a line of %d bytes: %s", name, len(line), line)
			}
			text, added := strings.CutPrefix(line, "+")
			if whole := strings.ReplaceAll(text, "<hook>", command); added && !strings.Contains(written[name], whole) {
				t.Errorf("%s: the file does not have the line %s", name, whole)
			}
		}
	}
}

func TestDiffOfHooksThatWereThere(t *testing.T) {
	t.Parallel()
	const old = `"/old/fairlead hook --client claude-code"`
	for name, c := range map[string]struct{ text, want string }{
		"two programs": {`{"hooks": {
  "Stop": [{"hooks": [{"type": "command", "command": ` + old + `, "timeout": 60}]}],
  "SessionEnd": [{"hooks": [{"type": "command", "command": ` + old + `, "timeout": 60}]}]
}}`, "@@ <hook 2> is /old/fairlead hook --client claude-code\n@@ line 2\n-  \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"<hook 2>\", "},
		"a name like ours": {`{"hooks": {
  "Stop": [{"hooks": [{"type": "command", "command": "say '<hook>'"}]}]
}}`, `"command": "/opt/bin/fairlead hook --client claude-code --policy `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, map[string]string{".claude/settings.json": c.text})
			var got string
			for _, f := range plan(t, dir) {
				got += f.Diff()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got\n%s\nwant in it\n%s", got, c.want)
			}
		})
	}
}

func TestUndoRestoresEachByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, home)
	j := connect.Journal(filepath.Join(t.TempDir(), "journal"))
	apply(t, dir, j)
	once := read(t, dir)
	if cmp.Equal(home, once) {
		t.Error("nothing was written")
	}
	apply(t, dir, j)
	if diff := cmp.Diff(once, read(t, dir)); diff != "" {
		t.Errorf("a second time changes something (-once +twice)\n%s", diff)
	}
	for name, before := range home {
		if strings.Contains(before, "\r\n") && strings.Count(once[name], "\n") != strings.Count(once[name], "\r\n") {
			t.Errorf("%s: the ends of lines differ: %q", name, once[name])
		}
		if strings.HasPrefix(before, "\ufeff") != strings.HasPrefix(once[name], "\ufeff") {
			t.Errorf("%s: the byte order mark", name)
		}
	}
	undo(t, j)
	if diff := cmp.Diff(home, read(t, dir)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
	for name := range read(t, string(j)) {
		if name != "changes.json" {
			t.Errorf("the backup %s stayed", name)
		}
	}
}

// What the client would start is the proxy with the server's own words at the end, as this program reads the entry.
func TestGuardedServersStartTheirOwnCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, home)
	apply(t, dir, connect.Journal(t.TempDir()))
	for file, want := range map[string]map[string][]string{
		".config/Claude/claude_desktop_config.json": {"memory": {"--", "npx", "-y", "@modelcontextprotocol/server-memory"}},
		".cursor/mcp.json":                          {"git": {"--", "uvx", "mcp-server-git"}, "plain": {"https://plain.example/mcp"}},
		".codex/config.toml":                        {"files": {"--", "npx", "-y", "@modelcontextprotocol/server-filesystem"}, "two-words": {"--", `C:\bin\server.exe`}, "crm": {"X-Team=FAIRLEAD_HEADER_1", "--header", "Authorization=Bearer:CRM_TOKEN", "https://crm.example/mcp"}},
		".config/zed/settings.json":                 {"old": {"--", "node", "server.js"}, "new": {"--", "node", "server.js"}},
		".config/opencode/opencode.jsonc":           {"here": {"--", "bun", "x", "server"}},
		".copilot/mcp-config.json":                  {"search": {"X-Key=FAIRLEAD_HEADER_1", "https://search.example/mcp"}},
	} {
		targets, err := dial.Configured(filepath.Join(dir, filepath.FromSlash(file)))
		if file == ".config/opencode/opencode.jsonc" { // it is switched off
			targets, err = dial.Configured(filepath.Join(dir, filepath.FromSlash(file)), "here")
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for name, tail := range want {
			i := slices.IndexFunc(targets, func(target dial.Target) bool { return target.ID == name })
			if i < 0 {
				t.Errorf("%s has no %s", file, name)
				continue
			}
			got := targets[i].Command
			if len(got) < len(tail)+6 || got[0] != guard.Program || got[1] != "proxy" || !slices.Equal(got[len(got)-len(tail):], tail) {
				t.Errorf("%s, %s: got %q", file, name, got)
			}
		}
	}
}

func TestWhatIsNotTheUsersToChange(t *testing.T) {
	t.Parallel()
	const server = `{"mcpServers": {"files": {"command": "npx", "args": ["x"]}}}`
	dir := t.TempDir()
	write(t, dir, map[string]string{
		".claude.json": `{"mcpServers": {"files": {"command": "npx"}`, "elsewhere.json": server, ".copilot/mcp-config.json": server,
		".codex/config.toml": "[mcp_servers.files\n", ".gemini/settings.json": `{"mcpServers": []}`, ".config/Claude/claude_desktop_config.json": `{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`,
		".config/zed/settings.json": strings.Repeat("[", 20_000), ".codeium/windsurf/mcp_config.json": "",
	})
	if err := os.MkdirAll(filepath.Join(dir, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere.json"), filepath.Join(dir, ".cursor", "mcp.json")); err != nil {
		t.Skip(err)
	}
	if err := os.Chmod(filepath.Join(dir, ".copilot", "mcp-config.json"), 0o400); err != nil {
		t.Fatal(err)
	}
	before := read(t, dir)
	faults := make(map[string]string)
	j := connect.Journal(t.TempDir())
	for _, f := range plan(t, dir) {
		name, _ := filepath.Rel(dir, f.Path)
		if f.Fault != nil {
			faults[filepath.ToSlash(name)] = f.Fault.Error()
		}
		if strings.Contains(f.Path, "hooks") {
			continue
		}
		if err := j.Apply(f); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{
		".claude.json": "not valid JSON", ".cursor/mcp.json": "symbolic link", ".copilot/mcp-config.json": "read-only", ".codex/config.toml": "not valid TOML",
		".gemini/settings.json": `"mcpServers" is not an object`, ".config/Claude/claude_desktop_config.json": `"a" is there twice`, ".config/zed/settings.json": "nested too deeply",
	} {
		if !strings.Contains(faults[name], want) {
			t.Errorf("%s: got %q, want %q", name, faults[name], want)
		}
	}
	if len(faults) != 7 {
		t.Errorf("got %v", faults)
	}
	if diff := cmp.Diff(before, read(t, dir)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

// A file that its client has written since keeps what is new there.
func TestUndoOfAFileThatHasChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, home)
	j := connect.Journal(t.TempDir())
	apply(t, dir, j)
	want := make(map[string]string)
	for name, change := range map[string][2]string{
		".claude.json":          {`"numStartups": 12`, `"numStartups": 13`},
		".claude/settings.json": {`["Bash(rm:*)"]`, `["Bash(rm:*)", "Read(.env)"]`},
		".codex/config.toml":    {`"trusted"`, `"untrusted"`},
		".cursor/mcp.json":      {`"kept": true`, `"kept": false`},
		".gemini/settings.json": {`["other"]`, `["another"]`},
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		want[name] = strings.Replace(home[name], change[0], change[1], 1)
	}
	want[".cursor/mcp.json"] = home[".cursor/mcp.json"] // the change was within an entry that is taken back
	undo(t, j)
	got := read(t, dir)
	for name := range home {
		if _, changed := want[name]; !changed {
			want[name] = home[name]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAFileThatChangesInBetween(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, home)
	files := plan(t, dir)
	const text = `{"mcpServers": {}}`
	write(t, dir, map[string]string{".copilot/mcp-config.json": text})
	j := connect.Journal(t.TempDir())
	for _, f := range files {
		err := j.Apply(f)
		if changed := filepath.Base(f.Path) == "mcp-config.json"; changed != (err != nil) || changed && !strings.Contains(err.Error(), "has changed") {
			t.Errorf("%s: %v", f.Path, err)
		}
	}
	if got := read(t, dir)[".copilot/mcp-config.json"]; got != text {
		t.Errorf("got %s", got)
	}
}

// A hook that starts faster takes the place of the program in the hooks, and the other way round.
func TestHooksStartTheFasterProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{".claude/settings.json": `{}`})
	j := connect.Journal(t.TempDir())
	for _, c := range []struct{ hook, want string }{
		{"", "/opt/bin/fairlead hook --client claude-code "},
		{"/opt/bin/fairlead-hook", "/opt/bin/fairlead-hook --client claude-code "},
		{`C:\Program Files\fairlead-hook.exe`, `"C:\Program Files\fairlead-hook.exe" --client claude-code `},
		{"/opt/my bin/fairlead-hook", "'/opt/my bin/fairlead-hook' --client claude-code "},
		{"", "/opt/bin/fairlead hook --client claude-code "},
	} {
		with := guard
		with.Hook = c.hook
		for _, f := range connect.Plan(t.Context(), connect.Machine{Home: dir, System: "linux"}, with) {
			if err := j.Apply(f); err != nil {
				t.Fatal(err)
			}
		}
		var got struct {
			Hooks map[string][]struct{ Hooks []struct{ Command string } }
		}
		if err := json.Unmarshal([]byte(read(t, dir)[".claude/settings.json"]), &got); err != nil {
			t.Fatal(err)
		}
		if stop := got.Hooks["Stop"]; len(stop) != 1 || len(stop[0].Hooks) != 1 || !strings.HasPrefix(stop[0].Hooks[0].Command, c.want) {
			t.Errorf("%q: got %+v, want one that begins with %s", c.hook, stop, c.want)
		}
	}
}

// A newer program takes the place of an older one in the hooks, and another person's hooks stay.
func TestHooksAreBroughtUpToDate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{".claude/settings.json": `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/old/fairlead hook --client claude-code", "timeout": 60}]}, {"hooks": [{"type": "command", "command": "say done"}]}]}}`})
	j := connect.Journal(t.TempDir())
	apply(t, dir, j)
	var got struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, dir)[".claude/settings.json"]), &got); err != nil {
		t.Fatal(err)
	}
	if stop := got.Hooks["Stop"]; len(stop) != 2 || !strings.HasPrefix(stop[0].Hooks[0].Command, "/opt/bin/fairlead hook --client claude-code --policy ") || stop[1].Hooks[0].Command != "say done" {
		t.Errorf("got %+v", stop)
	}
	if before := got.Hooks["PreToolUse"]; len(before) != 1 || !strings.HasSuffix(before[0].Hooks[0].Command, " || exit 2") {
		t.Errorf("got %+v", before)
	}
}

func TestFoldersOfOtherSystems(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("paths")
	}
	const server = `{"mcpServers": {"files": {"command": "npx"}}, "servers": {"files": {"command": "npx"}}, "context_servers": {"files": {"command": "npx"}}}`
	for system, files := range map[string][]string{
		"darwin":  {"Library/Application Support/Claude/claude_desktop_config.json", "Library/Application Support/Code/User/mcp.json", ".config/zed/settings.json"},
		"windows": {"AppData/Roaming/Claude/claude_desktop_config.json", "AppData/Roaming/Code/User/mcp.json", "AppData/Roaming/Zed/settings.json"},
		"linux":   {"xdg/Claude/claude_desktop_config.json", "xdg/Code/User/mcp.json", "xdg/zed/settings.json", "codex/config.toml"},
	} {
		dir := t.TempDir()
		for _, name := range files {
			text := server
			if strings.HasSuffix(name, ".toml") {
				text = "[mcp_servers.files]\ncommand = \"npx\"\n"
			}
			write(t, dir, map[string]string{name: text})
		}
		env := map[string]string{}
		if system == "linux" {
			env = map[string]string{"XDG_CONFIG_HOME": filepath.Join(dir, "xdg"), "CODEX_HOME": filepath.Join(dir, "codex")}
		}
		var got []string
		for _, f := range connect.Plan(t.Context(), connect.Machine{Home: dir, System: system, Env: func(name string) string { return env[name] }}, guard) {
			if f.Changed() && slices.Equal(f.Guarded, []string{"files"}) {
				name, _ := filepath.Rel(dir, f.Path)
				got = append(got, name)
			}
		}
		slices.Sort(got)
		slices.Sort(files)
		if !slices.Equal(got, files) {
			t.Errorf("%s: got %q, want %q", system, got, files)
		}
	}
}
