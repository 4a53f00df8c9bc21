package connect_test

import (
	"path/filepath"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/connect"
	"github.com/google/go-cmp/cmp"
)

// A server of a project may have the name of one of the user's that is behind the proxy.
func TestConfigured(t *testing.T) {
	t.Parallel()
	const behind, alone = `{"command": "/opt/bin/fairlead", "args": ["proxy", "--", "server"]}`, `{"command": "server"}`
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"home/.claude.json":                  `{"mcpServers": {"mail": ` + behind + `, "my.files": ` + alone + `}, "projects": {"` + filepath.Join(dir, "one") + `": {"mcpServers": {"local": ` + alone + `, "mail": ` + alone + `}}}}`,
		"home/.codex/config.toml":            "[mcp_servers.mail]\ncommand = \"/opt/bin/fairlead\"\nargs = [\"proxy\", \"--\", \"server\"]\n",
		"home/.gemini/settings.json":         `{"mcpServers": {"mail": ` + behind + `}}`,
		"two/.mcp.json":                      `{"mcpServers": {"mail": ` + alone + `, "other": ` + behind + `}}`,
		"two/below/main.go":                  "",
		"two/.codex/config.toml":             "[mcp_servers.mail]\ncommand = \"server\"\n",
		"three/.gemini/settings.json":        `{"mcpServers": `,
		"four/.mcp.json":                     `{"mcpServers": {"mail": ` + behind + `}}`,
		"home/.config/Code/User/mcp.json":    `{"servers": {"mail": ` + behind + `}}`,
		"home/.config/Code/User/notes":       "",
		"home/.copilot/mcp-config.json":      `{"mcpServers": {"mail": ` + behind + `}}`,
		"two/.copilot/mcp-config.json":       `{"mcpServers": {"mail": ` + alone + `}}`,
		"home/.cursor/mcp.json":              `{"mcpServers": {"mail": ` + behind + `}}`,
		"two/.cursor/mcp.json":               `{"mcpServers": {"mail": {"url": "https://mail.example/mcp"}}}`,
		"two/.vscode/mcp.json":               `{"servers": {"mail": ` + alone + `}}`,
		"home/.claude/settings.json":         `{}`,
		"home/.claude/projects/two/log.json": `{}`,
	})
	m := connect.Machine{Home: filepath.Join(dir, "home"), System: "linux"}
	claude, claudeTwo := filepath.Join(dir, "home", ".claude.json"), filepath.Join(dir, "two", ".mcp.json")
	for name, tt := range map[string]struct {
		client, server, folder string
		want                   []connect.Configured
	}{
		"the user's":                 {"claude-code", "mail", "three", []connect.Configured{{claude, true}}},
		"of a project in that file":  {"claude-code", "mail", "one", []connect.Configured{{claude, false}}},
		"of another project":         {"claude-code", "local", "two", nil},
		"of this project":            {"claude-code", "local", "one", []connect.Configured{{claude, false}}},
		"also of the project":        {"claude-code", "mail", "two", []connect.Configured{{claude, true}, {claudeTwo, false}}},
		"also of a folder above":     {"claude-code", "mail", "two/below", []connect.Configured{{claude, true}, {claudeTwo, false}}},
		"behind the proxy in both":   {"claude-code", "mail", "four", []connect.Configured{{claude, true}, {filepath.Join(dir, "four", ".mcp.json"), true}}},
		"a name as agents write it":  {"claude-code", "my_files", "three", []connect.Configured{{claude, false}}},
		"no server":                  {"claude-code", "none", "two", nil},
		"Codex":                      {"codex", "mail", "three", []connect.Configured{{filepath.Join(dir, "home/.codex/config.toml"), true}}},
		"Codex, of the project":      {"codex", "mail", "two", []connect.Configured{{filepath.Join(dir, "home/.codex/config.toml"), true}, {filepath.Join(dir, "two/.codex/config.toml"), false}}},
		"a file that cannot be read": {"gemini", "mail", "three", []connect.Configured{{filepath.Join(dir, "home/.gemini/settings.json"), true}, {filepath.Join(dir, "three/.gemini/settings.json"), false}}},
		"Cursor, of the project":     {"cursor", "mail", "two", []connect.Configured{{filepath.Join(dir, "home/.cursor/mcp.json"), true}, {filepath.Join(dir, "two/.cursor/mcp.json"), false}}},
		"VS Code, of the project":    {"vscode", "mail", "two", []connect.Configured{{filepath.Join(dir, "home/.config/Code/User/mcp.json"), true}, {filepath.Join(dir, "two/.vscode/mcp.json"), false}}},
		"Copilot CLI, three files":   {"copilot", "mail", "two", []connect.Configured{{filepath.Join(dir, "home/.copilot/mcp-config.json"), true}, {claudeTwo, false}, {filepath.Join(dir, "two/.copilot/mcp-config.json"), false}, {filepath.Join(dir, "two/.vscode/mcp.json"), false}}},
	} {
		if diff := cmp.Diff(tt.want, m.Configured(tt.client, tt.server, filepath.Join(dir, tt.folder))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
