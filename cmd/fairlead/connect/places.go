package connect

import (
	"cmp"
	"path/filepath"
)

// A place is a file in which a client keeps servers, hooks, or both.
type place struct {
	client  string
	path    string
	servers [][]string // where the servers are; "*" stands for any name
	style   style
	hooks   *hooks // nil for none
	folder  string // of a client with hooks: it is there if the client is
	project bool   // the file belongs to a project, and is only named
}

// A style is how a client writes a server that is a command, where clients differ.
type style struct {
	list  bool   // the command is a list with its arguments
	env   string // the member with the variables
	stdio string // the type of a command
}

var usual = style{env: "env", stdio: "stdio"}

// places returns the files of the clients, whether or not they are there.
func (m Machine) places() []place {
	in := filepath.Join
	config, apps := m.folders()
	var (
		servers  = [][]string{{"mcpServers"}}
		claude   = cmp.Or(m.env("CLAUDE_CONFIG_DIR"), in(m.Home, ".claude"))
		accounts = in(cmp.Or(m.env("CLAUDE_CONFIG_DIR"), m.Home), ".claude.json")
		codex    = cmp.Or(m.env("CODEX_HOME"), in(m.Home, ".codex"))
		copilot  = cmp.Or(m.env("COPILOT_HOME"), in(m.Home, ".copilot"))
		gemini   = in(m.Home, ".gemini")
		cursor   = in(m.Home, ".cursor")
		zed      = in(m.Home, ".config", "zed")
		local    = style{list: true, env: "environment", stdio: "local"}
	)
	if m.System == "windows" {
		zed = in(apps, "Zed")
	} else if m.System == "linux" {
		zed = in(config, "zed")
	}
	all := []place{
		{client: "Claude Code", path: accounts, servers: [][]string{{"mcpServers"}, {"projects", "*", "mcpServers"}}, style: usual},
		{client: "Claude Code", path: in(claude, "settings.json"), hooks: claudeHooks, folder: claude},
		{client: "Claude Desktop", path: in(apps, "Claude", "claude_desktop_config.json"), servers: servers, style: usual},
		{client: "Cursor", path: in(cursor, "mcp.json"), servers: servers, style: usual},
		{client: "Cursor", path: in(cursor, "hooks.json"), hooks: cursorHooks, folder: cursor},
	}
	for _, variant := range []struct{ client, folder string }{{"VS Code", "Code"}, {"VS Code Insiders", "Code - Insiders"}} {
		all = append(all,
			place{client: variant.client, path: in(apps, variant.folder, "User", "mcp.json"), servers: [][]string{{"servers"}}, style: usual},
			place{client: variant.client, path: in(apps, variant.folder, "User", "settings.json"), servers: [][]string{{"mcp", "servers"}}, style: usual})
	}
	all = append(all,
		place{client: "Codex", path: in(codex, "config.toml")},
		place{client: "Codex", path: in(codex, "hooks.json"), hooks: codexHooks, folder: codex},
		place{client: "Gemini CLI", path: in(gemini, "settings.json"), servers: servers, style: usual, hooks: geminiHooks, folder: gemini},
		place{client: "Windsurf", path: in(m.Home, ".codeium", "windsurf", "mcp_config.json"), servers: servers, style: usual},
		place{client: "Zed", path: in(zed, "settings.json"), servers: [][]string{{"context_servers"}}, style: usual},
	)
	for _, name := range []string{"opencode.json", "opencode.jsonc", "config.json"} {
		all = append(all, place{client: "opencode", path: in(config, "opencode", name), servers: [][]string{{"mcp"}}, style: local})
	}
	all = append(all,
		place{client: "Copilot CLI", path: in(copilot, "mcp-config.json"), servers: servers, style: style{env: "env", stdio: "local"}},
		place{client: "Copilot CLI", path: in(copilot, "hooks", "fairlead.json"), hooks: copilotHooks, folder: copilot},
	)
	if m.Folder != "" && m.Folder != m.Home {
		for _, p := range []struct{ client, file string }{
			{"Claude Code", ".mcp.json"}, {"Cursor", ".cursor/mcp.json"}, {"VS Code", ".vscode/mcp.json"}, {"Codex", ".codex/config.toml"},
			{"Gemini CLI", ".gemini/settings.json"}, {"Zed", ".zed/settings.json"}, {"opencode", "opencode.json"}, {"opencode", "opencode.jsonc"},
		} {
			all = append(all, place{client: p.client, path: in(m.Folder, filepath.FromSlash(p.file)), project: true})
		}
	}
	return all
}

// folders returns the user's folder of configurations by the convention of XDG, and that of applications with windows.
func (m Machine) folders() (config, apps string) {
	config = cmp.Or(m.env("XDG_CONFIG_HOME"), filepath.Join(m.Home, ".config"))
	switch m.System {
	case "windows":
		return config, cmp.Or(m.env("APPDATA"), filepath.Join(m.Home, "AppData", "Roaming"))
	case "darwin":
		return config, filepath.Join(m.Home, "Library", "Application Support")
	}
	return config, config
}

func (m Machine) env(name string) string {
	if m.Env == nil {
		return ""
	}
	return m.Env(name)
}
