package dial

// A server or tool that a person switched off in a client stays off here. Clients keep that beside a server, in its entry, or elsewhere in
// their files: a list of names, a list for each project, the names of tools, patterns for them. Which client wrote a file
// follows from its name and folder, or from members that only one client has.

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// A kind is a client with rules of its own about placeholders.
type kind uint8

const (
	anyClient kind = iota
	claudeCode
	gemini // and Qwen Code
	copilot
	opencode
	windsurf
	otherClient // a known one, whose rules are those of most
)

// kindOf returns which client keeps such a file.
func kindOf(file string, members map[string]json.RawMessage) kind {
	abs, _ := filepath.Abs(file)
	dir, base := filepath.Base(filepath.Dir(abs)), filepath.Base(file)
	switch {
	case base == ".claude.json" || base == ".mcp.json":
		return claudeCode
	case dir == ".gemini" || dir == ".qwen" || base == geminiExtension:
		return gemini
	case dir == ".copilot" || base == "mcp-config.json":
		return copilot
	case dir == "windsurf" || base == "mcp_config.json":
		return windsurf
	case dir == ".cursor" || dir == ".vscode" || base == "claude_desktop_config.json" || strings.HasSuffix(base, ".toml"):
		return otherClient
	case members["mcpServers"] != nil && (base == "settings.json" || strings.Contains(string(members["mcpServers"]), `"httpUrl"`)):
		return gemini
	case members["mcpServers"] != nil:
		return anyClient
	case strings.HasPrefix(base, "opencode."):
		return opencode
	case members["mcp"] != nil && members["servers"] == nil && members["context_servers"] == nil && object(members["mcp"])["servers"] == nil:
		return anyClient // Crush, and other forks of opencode, have other placeholders
	}
	return otherClient
}

// geminiExtension is the file of an extension of Gemini CLI, in a folder of its own.
const geminiExtension = "gemini-extension.json"

// A Filter is which tools of a server its client offers. The zero value offers all.
type Filter struct {
	Only    []string // patterns of those that are offered, nil for all
	Without []string // patterns of those that are not
}

// Offers reports whether a tool is offered.
func (f Filter) Offers(tool string) bool {
	named := func(pattern string) bool { return matches(pattern, tool) }
	return !slices.ContainsFunc(f.Without, named) && (f.Only == nil || slices.ContainsFunc(f.Only, named))
}

// Switches are what is switched off in a client's files, beside the entries.
type switches struct {
	off   []func(name string) bool
	offAt []func(name string, t Target) bool
	tools []func(name string, f *Filter)
}

func (s *switches) isOff(name string, t Target) bool {
	return slices.ContainsFunc(s.off, func(off func(string) bool) bool { return off(name) }) ||
		slices.ContainsFunc(s.offAt, func(off func(string, Target) bool) bool { return off(name, t) })
}

// filter adds what is switched off of a server's tools.
func (s *switches) filter(name string, f *Filter) {
	for _, add := range s.tools {
		add(name, f)
	}
}

// without switches off the servers of a list.
func (s *switches) without(names []string) {
	if len(names) > 0 {
		s.off = append(s.off, func(name string) bool { return contains(names, name) })
	}
}

// only switches off all other servers, unless the list is absent.
func (s *switches) only(names []string) {
	if names != nil {
		s.off = append(s.off, func(name string) bool { return !contains(names, name) })
	}
}

func contains(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimSpace(n), name) })
}

// object returns the members of a JSON object, nil for anything else.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members)
	return members
}

// list returns the texts of a JSON list, nil if it is not there or not a list.
func list(raw json.RawMessage) []string {
	var texts []string
	if json.Unmarshal(raw, &texts) != nil {
		return nil
	}
	return texts
}

// isFalse reports whether a value is false.
func isFalse(raw json.RawMessage) bool { return string(raw) == "false" }

// switchesOf returns what a file of a client, and the files that the client reads with it, switch off.
func switchesOf(file string, members map[string]json.RawMessage) *switches {
	s := new(switches)
	s.gemini(file, members)
	s.claude(file, members)
	s.opencode(members)
	s.zed(members)
	s.cursor(file)
	s.vscode(members)
	return s
}

// gemini reads mcp.excluded and mcp.allowed, as they were called before too, and what /mcp disable writes.
func (s *switches) gemini(file string, members map[string]json.RawMessage) {
	if members["mcpServers"] == nil {
		return
	}
	mcp := object(members["mcp"])
	s.without(list(mcp["excluded"]))
	s.only(list(mcp["allowed"]))
	s.without(list(members["excludeMCPServers"]))
	s.only(list(members["allowMCPServers"]))
	for name, state := range jsonFile(filepath.Join(filepath.Dir(file), "mcp-server-enablement.json")) {
		if isFalse(object(state)["enabled"]) {
			s.without([]string{name})
		}
	}
}

// claude reads what Claude Code keeps for a project and in its settings: servers, and denied tools.
func (s *switches) claude(file string, members map[string]json.RawMessage) {
	project, _ := os.Getwd()
	base, home := filepath.Base(file), homeDir()
	isClaude := members["projects"] != nil || base == ".claude.json" || base == ".mcp.json"
	if !isClaude {
		return
	}
	settings := []map[string]json.RawMessage{members}
	if base == ".mcp.json" {
		if abs, err := filepath.Abs(file); err == nil {
			project = filepath.Dir(abs)
		}
		settings = append(settings, jsonFile(filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), home), ".claude.json")))
	}
	for i, one := range settings {
		for dir, its := range object(one["projects"]) {
			if sameDir(dir, project) {
				settings[i] = merge(one, object(its))
			}
		}
	}
	own := cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude"))
	settings = append(settings, jsonFile(managedSettings))
	for _, dir := range []string{own, filepath.Join(project, ".claude")} {
		for _, name := range []string{"settings.json", "settings.local.json"} {
			settings = append(settings, jsonFile(filepath.Join(dir, name)))
		}
	}
	for _, one := range settings {
		s.without(list(one["disabledMcpServers"]))
		if base == ".mcp.json" {
			s.without(list(one["disabledMcpjsonServers"]))
		}
		s.managed(one)
		for _, rule := range list(object(one["permissions"])["deny"]) {
			s.claudeRule(rule)
		}
	}
}

// claudeRule reads a permission that is denied: mcp__server, mcp__server__tool, or either with a star. The name of a server
// may have "__" in it as well. One with arguments in parentheses counts for nothing, as there.
func (s *switches) claudeRule(rule string) {
	if rule != "*" && !strings.HasPrefix(rule, "mcp__") {
		return
	}
	s.off = append(s.off, func(name string) bool {
		whole := "mcp__" + claudeName(name)
		return matches(rule, whole) || matches(rule, whole+"__")
	})
	s.tools = append(s.tools, func(name string, f *Filter) {
		if tool, of := strings.CutPrefix(rule, "mcp__"+claudeName(name)+"__"); of {
			f.Without = append(f.Without, tool)
		} else if server, tool, _ := strings.Cut(strings.TrimPrefix(rule, "mcp__"), "__"); tool != "" && matches(server, claudeName(name)) {
			f.Without = append(f.Without, tool)
		}
	})
}

// matches reports whether a name matches a pattern, where * is for any characters.
func matches(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return pattern == name || ok && err == nil
}

// claudeName is how Claude Code writes the name of a server in that of a tool.
func claudeName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// managedSettings are those of the administrator for Claude Code.
var managedSettings = cmp.Or(map[string]string{
	"darwin":  "/Library/Application Support/ClaudeCode/managed-settings.json",
	"windows": `C:\Program Files\ClaudeCode\managed-settings.json`,
}[runtime.GOOS], "/etc/claude-code/managed-settings.json")

// A managedServer names servers by their name, their whole command, or a pattern of their address.
type managedServer struct {
	Name    string   `json:"serverName"`
	Command []string `json:"serverCommand"`
	URL     string   `json:"serverUrl"`
}

// managed reads deniedMcpServers and allowedMcpServers.
func (s *switches) managed(settings map[string]json.RawMessage) {
	var denied, allowed []managedServer
	_ = json.Unmarshal(settings["deniedMcpServers"], &denied)
	for _, d := range denied {
		s.offAt = append(s.offAt, func(name string, t Target) bool { return d.names(name) || d.isAt(t) })
	}
	if settings["allowedMcpServers"] == nil {
		return
	}
	_ = json.Unmarshal(settings["allowedMcpServers"], &allowed)
	s.offAt = append(s.offAt, func(name string, t Target) bool {
		// If there are entries of the server's kind, a name alone does not allow it.
		ofKind := slices.ContainsFunc(allowed, func(a managedServer) bool { return t.URL != "" && a.URL != "" || t.URL == "" && a.Command != nil })
		return !slices.ContainsFunc(allowed, func(a managedServer) bool { return a.isAt(t) || !ofKind && a.names(name) })
	})
}

func (m managedServer) names(name string) bool {
	return m.Name != "" && contains([]string{m.Name}, name)
}

func (m managedServer) isAt(t Target) bool {
	return t.URL != "" && m.URL != "" && matches(m.URL, t.URL) || t.URL == "" && m.Command != nil && slices.Equal(m.Command, t.Command)
}

// opencode reads "tools", which names server_tool or a pattern of it.
func (s *switches) opencode(members map[string]json.RawMessage) {
	if members["mcp"] == nil {
		return
	}
	var off []string
	for pattern, value := range object(members["tools"]) {
		if isFalse(value) {
			off = append(off, pattern)
		}
	}
	if string(members["permission"]) == `"deny"` {
		off = append(off, "*")
	}
	for pattern, value := range object(members["permission"]) {
		if every := object(value)["*"]; string(value) == `"deny"` || string(every) == `"deny"` && len(object(value)) == 1 {
			off = append(off, pattern)
		}
	}
	slices.Sort(off)
	s.tools = append(s.tools, func(name string, f *Filter) {
		for _, pattern := range off {
			if ok, err := path.Match(pattern, name+"_"); ok && err == nil {
				f.Only = []string{} // the whole server
			}
			if tool, of := strings.CutPrefix(pattern, claudeName(name)+"_"); of {
				f.Without = append(f.Without, tool)
			}
		}
	})
}

// zed reads the tools that the profile in use switches off.
func (s *switches) zed(members map[string]json.RawMessage) {
	agent := object(members["agent"])
	profile := "write"
	if chosen := agent["default_profile"]; chosen != nil {
		_ = json.Unmarshal(chosen, &profile)
	}
	servers := object(object(object(agent["profiles"])[profile])["context_servers"])
	chosenAlone := isFalse(object(object(agent["profiles"])[profile])["enable_all_context_servers"])
	permissions := object(object(agent["tool_permissions"])["tools"])
	s.tools = append(s.tools, func(name string, f *Filter) {
		var on []string
		for tool, value := range object(object(servers[name])["tools"]) {
			if isFalse(value) {
				f.Without = append(f.Without, tool)
			} else {
				on = append(on, tool)
			}
		}
		if chosenAlone {
			f.Only = append([]string{}, on...)
		}
		for of, rules := range permissions {
			if tool, its := strings.CutPrefix(of, "mcp:"+name+":"); its && string(object(rules)["default"]) == `"deny"` {
				f.Without = append(f.Without, tool)
			}
		}
		slices.Sort(f.Without)
	})
}

// cursor reads the permissions of Cursor's command line, which are Mcp(server:tool).
func (s *switches) cursor(file string) {
	abs, _ := filepath.Abs(file)
	dir := filepath.Dir(abs)
	if filepath.Base(dir) != ".cursor" {
		return
	}
	for _, one := range []string{filepath.Join(dir, "cli.json"), filepath.Join(homeDir(), ".cursor", "cli-config.json")} {
		for _, rule := range list(object(jsonFile(one)["permissions"])["deny"]) {
			inner, is := strings.CutPrefix(rule, "Mcp(")
			server, tool, both := strings.Cut(strings.TrimSuffix(inner, ")"), ":")
			if !is || !both {
				continue
			}
			s.tools = append(s.tools, func(name string, f *Filter) {
				if matches(server, name) {
					f.Without = append(f.Without, tool)
				}
			})
		}
	}
}

// vscode reads the settings that keep VS Code from starting any server.
func (s *switches) vscode(members map[string]json.RawMessage) {
	if isFalse(members["chat.mcp.enabled"]) || string(members["chat.mcp.access"]) == `"none"` {
		s.off = append(s.off, func(string) bool { return true })
	}
}

// merge returns the members of both; of a name that both have, lists are joined and the second counts otherwise.
func merge(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(a)+len(b))
	maps.Copy(out, a)
	for name, value := range b {
		if both := append(list(out[name]), list(value)...); both != nil {
			value, _ = json.Marshal(both) //nolint:errchkjson // texts
		}
		out[name] = value
	}
	return out
}

// sameDir reports whether two names are of one folder.
func sameDir(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	resolve := func(dir string) string {
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return dir
		}
		return resolved
	}
	return resolve(a) == resolve(b)
}

func homeDir() string {
	home, _ := os.UserHomeDir()
	return home
}

// jsonFile returns the members of a file beside the one that was named, nil if there is none that can be read.
func jsonFile(name string) map[string]json.RawMessage {
	text, err := read(name)
	if err != nil {
		return nil
	}
	plain, err := hujson.Standardize([]byte(strings.TrimPrefix(string(text), byteOrderMark)))
	if err != nil {
		return nil
	}
	return object(plain)
}
