package dial_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
)

// atHome makes a home folder with files, and returns it.
func atHome(t *testing.T, files map[string]string) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// A server that is switched off in its client's files is not used, wherever the client keeps that.
func TestServersThatAreSwitchedOff(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	const servers = `"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "c": {"command": "z"}}`
	project := `"projects": {` + strconv.Quote(here) + `: `
	for name, c := range map[string]struct {
		files map[string]string
		file  string
		want  string
	}{
		"Gemini, excluded":                {nil, `.gemini/settings.json {"mcp": {"excluded": ["b"]}, ` + servers + `}`, "a c"},
		"Gemini, allowed":                 {nil, `.gemini/settings.json {"mcp": {"allowed": ["c"]}, ` + servers + `}`, "c"},
		"Gemini, both":                    {nil, `.gemini/settings.json {"mcp": {"allowed": ["c", "a"], "excluded": ["a"]}, ` + servers + `}`, "c"},
		"Gemini, in another case":         {nil, `.gemini/settings.json {"mcp": {"excluded": [" B "]}, ` + servers + `}`, "a c"},
		"Gemini, of before":               {nil, `.gemini/settings.json {"excludeMCPServers": ["b"], "allowMCPServers": ["b", "c"], ` + servers + `}`, "c"},
		"Gemini, by its command":          {map[string]string{".gemini/mcp-server-enablement.json": `{"b": {"enabled": false}, "c": {"enabled": true}}`}, `.gemini/settings.json {` + servers + `}`, "a c"},
		"Qwen":                            {nil, `.qwen/settings.json {"mcp": {"excluded": ["b"]}, ` + servers + `}`, "a c"},
		"Claude Code, of the project":     {nil, `.claude.json {` + project + `{"disabledMcpServers": ["b"], "mcpServers": {}}}, ` + servers + `}`, "a c"},
		"Claude Code, under another name": {nil, `claude.json {` + project + `{"disabledMcpServers": ["b"]}}, ` + servers + `}`, "a c"},
		"Claude Code, of another project": {nil, `.claude.json {"projects": {"/elsewhere": {"disabledMcpServers": ["b"]}}, ` + servers + `}`, "a b c"},
		"Claude Code, denied":             {map[string]string{".claude/settings.json": `{"permissions": {"deny": ["mcp__b", "Bash(rm:*)"]}}`}, `.claude.json {` + servers + `}`, "a c"},
		"Claude Code, denied with a star": {map[string]string{".claude/settings.json": `{"permissions": {"deny": ["mcp__b__*"]}}`}, `.claude.json {` + servers + `}`, "a c"},
		"Claude Code, managed":            {map[string]string{".claude/settings.json": `{"allowedMcpServers": [{"serverName": "a"}, {"serverName": "b"}], "deniedMcpServers": [{"serverName": "b"}]}`}, `.claude.json {` + servers + `}`, "a"},
		"Claude Code, another folder":     {map[string]string{"elsewhere/settings.json": `{"permissions": {"deny": ["mcp__b"]}}`}, `elsewhere/.claude.json {` + servers + `}`, "a c"},
		"Claude Code, all denied but":     {map[string]string{".claude/settings.json": `{"permissions": {"deny": ["mcp__b*", "mcp__c__*", "mcp__a(x:*)"]}}`}, `.claude.json {` + servers + `}`, "a"},
		"Claude Code, all denied":         {map[string]string{".claude/settings.json": `{"permissions": {"deny": ["mcp__*"]}}`}, `.claude.json {` + servers + `}`, "off"},
		"Claude Code, by command":         {map[string]string{".claude/settings.json": `{"deniedMcpServers": [{"serverCommand": ["y"]}, {"serverCommand": ["x", "1"]}]}`}, `.claude.json {` + servers + `}`, "a c"},
		"Claude Code, by address":         {map[string]string{".claude/settings.json": `{"deniedMcpServers": [{"serverUrl": "https://*.example.com/*"}]}`}, `.claude.json {"mcpServers": {"a": {"url": "https://x.example.com/mcp"}, "b": {"url": "https://example.org/mcp"}}}`, "b"},
		"Claude Code, commands allowed":   {map[string]string{".claude/settings.json": `{"allowedMcpServers": [{"serverCommand": ["x"]}, {"serverName": "b"}]}`}, `.claude.json {"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "c": {"url": "https://example.org/mcp"}}}`, "a"},
		"Claude Code, by its managers":    {map[string]string{"managed.json": `{"deniedMcpServers": [{"serverName": "b"}]}`}, `.claude.json {` + servers + `}`, "a c"},
		"VS Code, no access":              {nil, `settings.json {"chat.mcp.access": "none", "mcp": {"servers": {"a": {"command": "x"}}}}`, "off"},
		"VS Code, not enabled":            {nil, `settings.json {"chat.mcp.enabled": false, "mcp": {"servers": {"a": {"command": "x"}}}}`, "off"},
		"a project's file":                {map[string]string{"p/.claude/settings.local.json": "{\"disabledMcpjsonServers\": [\"b\"], // not here\n}"}, `p/.mcp.json {` + servers + `}`, "a c"},
		"a project's file, at home":       {map[string]string{".claude.json": `{"projects": {"HOME/p": {"disabledMcpjsonServers": ["b"], "disabledMcpServers": ["c"]}}}`}, `p/.mcp.json {` + servers + `}`, "a"},
		"Codex":                           {nil, ".codex/config.toml [mcp_servers.a]\ncommand = 'x'\n[mcp_servers.b]\ncommand = 'y'\nenabled = false\n", "a"},
		"Windsurf":                        {nil, `.codeium/windsurf/mcp_config.json {"mcpServers": {"a": {"command": "x"}, "b": {"command": "y", "disabled": true}}}`, "a"},
		"opencode":                        {nil, `.config/opencode/opencode.json {"mcp": {"a": {"type": "local", "command": ["x"]}, "b": {"type": "local", "command": ["y"], "enabled": false}}}`, "a"},
		"Zed":                             {nil, `.config/zed/settings.json {"context_servers": {"a": {"command": "x"}, "b": {"command": "y", "enabled": false}}}`, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			home := atHome(t, c.files)
			for file, text := range c.files {
				if err := os.WriteFile(filepath.Join(home, file), []byte(strings.ReplaceAll(text, "HOME", home)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			file, text, _ := strings.Cut(c.file, " ")
			path := filepath.Join(home, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			dial.SetManagedSettings(t, filepath.Join(home, "managed.json"))
			if strings.HasPrefix(file, "elsewhere") {
				t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, "elsewhere"))
			}
			got, err := dial.Configured(path)
			if err != nil && (c.want != "off" || !strings.Contains(err.Error(), "switched off")) {
				t.Fatal(err)
			}
			if (err != nil) != (c.want == "off") {
				t.Fatalf("got %v and %v, want %s", got, err, c.want)
			} else if err != nil {
				return
			}
			var ids []string
			for _, one := range got {
				ids = append(ids, one.ID)
			}
			if strings.Join(ids, " ") != c.want {
				t.Errorf("got %v, want %s", ids, c.want)
			}
		})
	}
}

// A tool that is switched off in its client's files is not offered.
func TestToolsThatAreSwitchedOff(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		file  string
		want  string
	}{
		"nothing":                   {nil, `.gemini/settings.json {"mcpServers": {"a": {"command": "x"}}}`, "get_x list_x delete_x"},
		"Gemini, included":          {nil, `.gemini/settings.json {"mcpServers": {"a": {"command": "x", "includeTools": ["get_x", "list_x(limit)"]}}}`, "get_x list_x"},
		"Gemini, excluded":          {nil, `.gemini/settings.json {"mcpServers": {"a": {"command": "x", "includeTools": ["get_x", "list_x"], "excludeTools": ["get_x"]}}}`, "list_x"},
		"Codex, enabled":            {nil, "config.toml [mcp_servers.a]\ncommand = 'x'\nenabled_tools = ['get_x']\n", "get_x"},
		"Codex, disabled":           {nil, "config.toml [mcp_servers.a]\ncommand = 'x'\ndisabled_tools = ['get_x']\n", "list_x delete_x"},
		"Windsurf":                  {nil, `mcp_config.json {"mcpServers": {"a": {"command": "x", "disabledTools": ["delete_x"]}}}`, "get_x list_x"},
		"Copilot, all":              {nil, `.copilot/mcp-config.json {"mcpServers": {"a": {"command": "x", "tools": ["*"]}}}`, "get_x list_x delete_x"},
		"Copilot, some":             {nil, `.copilot/mcp-config.json {"mcpServers": {"a": {"command": "x", "tools": ["get_x"]}}}`, "get_x"},
		"Copilot, none":             {nil, `.copilot/mcp-config.json {"mcpServers": {"a": {"command": "x", "tools": []}}}`, ""},
		"opencode":                  {nil, `opencode.json {"mcp": {"a": {"type": "local", "command": ["x"]}}, "tools": {"a_delete*": false, "a_get_x": true, "write": false}}`, "get_x list_x"},
		"opencode, all":             {nil, `opencode.json {"mcp": {"a": {"type": "local", "command": ["x"]}}, "tools": {"a*": false}}`, ""},
		"opencode, denied":          {nil, `opencode.json {"mcp": {"a": {"type": "local", "command": ["x"]}}, "permission": {"a_get_x": "deny", "edit": "ask"}}`, "list_x delete_x"},
		"Zed":                       {nil, `settings.json {"context_servers": {"a": {"command": "x"}}, "agent": {"profiles": {"write": {"context_servers": {"a": {"tools": {"get_x": false, "list_x": true}}}}}}}`, "list_x delete_x"},
		"Zed, chosen alone":         {nil, `settings.json {"context_servers": {"a": {"command": "x"}}, "agent": {"default_profile": "p", "profiles": {"p": {"enable_all_context_servers": false, "context_servers": {"a": {"tools": {"get_x": true}}}}}}}`, "get_x"},
		"Zed, none is chosen":       {nil, `settings.json {"context_servers": {"a": {"command": "x"}}, "agent": {"default_profile": "p", "profiles": {"p": {"enable_all_context_servers": false}}}}`, ""},
		"Zed, denied":               {nil, `settings.json {"context_servers": {"a": {"command": "x"}}, "agent": {"tool_permissions": {"tools": {"mcp:a:delete_x": {"default": "deny"}, "mcp:a:get_x": {"default": "confirm"}}}}}`, "get_x list_x"},
		"opencode, all denied":      {nil, `opencode.json {"mcp": {"a": {"type": "local", "command": ["x"]}}, "permission": "deny"}`, ""},
		"opencode, denied in words": {nil, `opencode.json {"mcp": {"a": {"type": "local", "command": ["x"]}}, "permission": {"a_get_x": {"*": "deny"}}}`, "list_x delete_x"},
		"Codex, settings of tools":  {nil, "config.toml [mcp_servers.a]\ncommand = 'x'\n[mcp_servers.a.tools.get_x]\napproval_mode = 'approve'\n[mcp_servers.a.tools.list_x]\nenabled = false\n", "get_x delete_x"},
		"Cursor, its command line":  {map[string]string{".cursor/cli-config.json": `{"permissions": {"allow": ["Mcp(a:get_x)"], "deny": ["Mcp(*:delete_*)", "Shell(rm)", "Mcp(b:get_x)"]}}`}, `.cursor/mcp.json {"mcpServers": {"a": {"command": "x"}}}`, "get_x list_x"},
		"Claude Code, a long name":  {map[string]string{".claude/settings.json": `{"permissions": {"deny": ["mcp__my__own__delete_x"]}}`}, `.claude.json {"mcpServers": {"my__own": {"command": "x"}}}`, "get_x list_x"},
		"Claude Code, any server":   {map[string]string{".claude/settings.json": `{"permissions": {"deny": ["mcp__*__delete_*"]}}`}, `.claude.json {"mcpServers": {"a": {"command": "x"}}}`, "get_x list_x"},
		"Claude Code":               {map[string]string{".claude/settings.json": `{"permissions": {"deny": ["mcp__a__delete_x", "mcp__b__get_x"]}}`}, `.claude.json {"mcpServers": {"a": {"command": "x"}}}`, "get_x list_x"},
	} {
		t.Run(name, func(t *testing.T) {
			home := atHome(t, c.files)
			file, text, _ := strings.Cut(c.file, " ")
			path := filepath.Join(home, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := dial.Configured(path)
			if err != nil {
				t.Fatal(err)
			}
			offered := slices.DeleteFunc([]string{"get_x", "list_x", "delete_x"}, func(tool string) bool { return !got[0].Tools.Offers(tool) })
			if strings.Join(offered, " ") != c.want {
				t.Errorf("got %v, want %s", offered, c.want)
			}
		})
	}
}

// A placeholder is what it is for the client whose file it is, with that client's values.
func TestPlaceholdersOfEachClient(t *testing.T) {
	t.Setenv("MY_TOKEN", "the-token")
	for name, c := range map[string]struct {
		files map[string]string
		file  string
		want  string // the header, or the fault
	}{
		"Gemini, bare":           {nil, `.gemini/settings.json mcpServers $MY_TOKEN`, "the-token"},
		"Gemini, in a text":      {nil, `.gemini/settings.json mcpServers Bearer $MY_TOKEN.`, "Bearer the-token."},
		"Gemini, in braces":      {nil, `.gemini/settings.json mcpServers ${MY_TOKEN}x`, "the-tokenx"},
		"Gemini, not set":        {nil, `.gemini/settings.json mcpServers $FAIRLEAD_NOT_SET`, "FAIRLEAD_NOT_SET"},
		"Gemini, of a file":      {map[string]string{".gemini/.env": "# keys\nexport OTHER_TOKEN=\"from file\" # x\nMY_TOKEN=no\n"}, `.gemini/settings.json mcpServers $OTHER_TOKEN $MY_TOKEN`, "from file the-token"},
		"Qwen":                   {map[string]string{".qwen/.env": "OTHER_TOKEN='q'"}, `.qwen/settings.json mcpServers $OTHER_TOKEN`, "q"},
		"settings with httpUrl":  {nil, `settings.json mcpServers $MY_TOKEN`, "the-token"},
		"Copilot":                {nil, `.copilot/mcp-config.json mcpServers $MY_TOKEN`, "the-token"},
		"Claude Code, bare":      {nil, `.claude.json mcpServers $MY_TOKEN`, "$MY_TOKEN"},
		"Claude Code, in braces": {nil, `.mcp.json mcpServers ${MY_TOKEN}`, "the-token"},
		"Claude Code, default":   {nil, `.mcp.json mcpServers ${FAIRLEAD_NOT_SET:-d}`, "d"},
		"Cursor":                 {nil, `.cursor/mcp.json mcpServers ${env:MY_TOKEN} $MY_TOKEN`, "the-token $MY_TOKEN"},
		"VS Code":                {nil, `.vscode/mcp.json servers ${env:MY_TOKEN}`, "the-token"},
		"opencode":               {nil, `opencode.json mcp {env:MY_TOKEN}`, "the-token"},
		"opencode, a file":       {map[string]string{"key.txt": "k\n"}, `opencode.json mcp Bearer {file:~/key.txt}`, "Bearer k"},
		"opencode, beside it":    {map[string]string{"key.txt": "k\n"}, `opencode.json mcp {file:key.txt}`, "k"},
		"opencode, no file":      {nil, `opencode.json mcp {file:~/key.txt}`, `"{file:~/key.txt}"`},
		"Windsurf, a file":       {map[string]string{"key.txt": "k\n"}, `.codeium/windsurf/mcp_config.json mcpServers Bearer ${file:~/key.txt}`, "Bearer k"},
		"Gemini, an extension":   {nil, `.gemini/extensions/e/gemini-extension.json mcpServers $MY_TOKEN`, "the-token"},
		"Gemini, its folder":     {nil, `.gemini/extensions/e/gemini-extension.json mcpServers ${extensionPath}${/}key`, "HOME/.gemini/extensions/e/key"},
		"Crush":                  {nil, `crush.json mcp $MY_TOKEN`, "write ${MY_TOKEN}"},
		"Crush, a command":       {nil, `crush.json mcp Bearer $(cat key)`, `"$(cat key)"`},
		"a client nobody knows":  {nil, `mcp.json mcpServers $MY_TOKEN`, `has "$MY_TOKEN", which some clients replace and others send as it is; write ${MY_TOKEN}`},
		"a dollar":               {nil, `mcp.json mcpServers pa$word$`, `pa$word$`},
	} {
		t.Run(name, func(t *testing.T) {
			home := atHome(t, c.files)
			words := strings.SplitN(c.file, " ", 3)
			text, err := json.Marshal(map[string]any{words[1]: map[string]any{"a": map[string]any{"url": "https://example.com/mcp", "headers": map[string]string{"Authorization": words[2]}}}})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(home, words[0])
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := dial.Configured(path)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
				return
			}
			if header := got[0].Header["Authorization"]; header != strings.ReplaceAll(c.want, "HOME", home) {
				t.Errorf("got %q, want %q", header, c.want)
			}
		})
	}
}

// The fault of one entry is its own.
func TestFaultOfOneEntry(t *testing.T) {
	t.Parallel()
	path := config(t, "mcp.json", `{"mcpServers": {"a": {"command": "x", "env": {"K": "${FAIRLEAD_NOT_SET}"}}, "b": {"command": "y"}, "c": {}, "d": {"command": 1}}}`)
	got, err := dial.Configured(path)
	if err != nil {
		t.Fatal(err)
	}
	var faults []string
	for _, one := range got {
		if one.Fault != nil {
			faults = append(faults, one.ID+": "+one.Fault.Error())
		} else if one.ID != "b" {
			t.Errorf("%s can be used", one.ID)
		}
	}
	if all := strings.Join(faults, "\n"); len(faults) != 3 || !strings.Contains(all, "FAIRLEAD_NOT_SET") || !strings.Contains(all, `neither "command" nor "url"`) {
		t.Errorf("got %s", all)
	}
	if _, err := dial.Configured(path, "a"); err == nil {
		t.Error("a server that is named has no fault")
	}
}

// A file of variables is read as the client reads it.
func TestFileOfVariables(t *testing.T) {
	t.Parallel()
	path := config(t, ".vscode/mcp.json", `{"servers": {"a": {"command": "x", "envFile": "${workspaceFolder}/keys.env", "env": {"A": "own"}}}}`)
	if err := os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(path)), "keys.env"), []byte("\ufeffA=1\r\nB=\"two words\"\r\n\r\nC = 3 # three\nD='x # y'\nbroken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := dial.Configured(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"A": "own", "B": "two words", "C": "3", "D": "x # y"} {
		if got[0].Env[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[0].Env[name], want)
		}
	}
}
