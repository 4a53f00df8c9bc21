package connect

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Configured is a file with a server of a name.
type Configured struct {
	Path    string
	Proxied bool // it starts fairlead proxy there
}

// projectFiles are the files of a project with servers of an agent, by the name that fairlead hook --client takes.
var projectFiles = map[string][]place{
	"claude-code": {{path: ".mcp.json", servers: [][]string{{"mcpServers"}}}},
	"codex":       {{path: ".codex/config.toml"}},
	"gemini":      {{path: ".gemini/settings.json", servers: [][]string{{"mcpServers"}}}},
	"cursor":      {{path: ".cursor/mcp.json", servers: [][]string{{"mcpServers"}}}},
	"vscode":      {{path: ".vscode/mcp.json", servers: [][]string{{"servers"}}}},
	"copilot": {
		{path: ".mcp.json", servers: [][]string{{"mcpServers"}}}, {path: ".github/mcp.json", servers: [][]string{{"mcpServers"}}},
		{path: ".copilot/mcp-config.json", servers: [][]string{{"mcpServers"}}}, {path: ".vscode/mcp.json", servers: [][]string{{"servers"}}},
	},
}

// Configured returns the files of an agent that have a server of a name, as the agent writes it in the names of tools: the
// user's, and those of the projects around the folder where the agent works. A file that cannot be read may have it,
// without the proxy. None of them has the servers of an extension of the agent.
func (m Machine) Configured(client, server, folder string) (all []Configured) {
	places := m.serversOf(client)
	if folder != "" {
		for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
			for _, p := range projectFiles[client] {
				p.path = filepath.Join(at, filepath.FromSlash(p.path))
				places = append(places, p)
			}
			if filepath.Dir(at) == at {
				break
			}
		}
	}
	seen := make(map[string]bool)
	for _, p := range places {
		if seen[p.path] {
			continue
		}
		seen[p.path] = true
		has, without := p.has(server, folder)
		if has {
			all = append(all, Configured{Path: p.path, Proxied: !without})
		}
	}
	return all
}

// serversOf returns the user's files with servers of an agent.
func (m Machine) serversOf(client string) (all []place) {
	if m.Home == "" {
		return nil
	}
	title := map[string]string{"vscode": "VS Code"}[client]
	places := m.places()
	for _, p := range places {
		if p.hooks != nil && p.hooks.client == client {
			title = p.client
		}
	}
	for _, p := range places {
		if p.client == title && !p.project && (len(p.servers) > 0 || p.hooks == nil) {
			p.hooks = nil
			all = append(all, p)
		}
	}
	return all
}

// has reports whether a file has a server of a name that counts in a folder, and whether one of that name is not behind
// the proxy.
func (p place) has(server, folder string) (has, without bool) {
	f := &File{Path: p.path}
	info, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false
	}
	if err == nil && info.Size() > maxFile {
		return true, true
	}
	if f.before, err = os.ReadFile(p.path); err == nil {
		err = f.edit(context.Background(), p, Guard{Program: "fairlead"})
	}
	if err != nil {
		return true, true
	}
	counts := func(what string) bool {
		name, project, of := strings.Cut(what, " of ")
		if named(name) != server {
			return false
		}
		below, err := filepath.Rel(project, folder)
		return !of || err == nil && below != ".." && !strings.HasPrefix(below, ".."+string(filepath.Separator))
	}
	without = slices.ContainsFunc(f.Guarded, counts) || slices.ContainsFunc(f.Left, func(l Left) bool { return counts(l.What) })
	return without || slices.ContainsFunc(f.Already, counts), without
}
