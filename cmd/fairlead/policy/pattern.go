package policy

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// A Pattern names tools: "server/tool", each part with the wildcards of [path.Match], or "tool" for that of any server.
// In the name of a tool a star stands for a slash too. The names that clients show, "server__tool" and
// "mcp__server__tool", are those of a server's tool. The zero value names none.
type Pattern struct {
	Server, Tool, written string

	also *[]spelling
}

// ParsePattern reads a pattern. An error says what is wrong with its text, also if no tool can have the name.
func ParsePattern(s string) (Pattern, error) {
	server, tool, there := strings.Cut(s, "/")
	if !there {
		if server, tool, there = strings.Cut(strings.TrimPrefix(s, "mcp__"), "__"); !there {
			server, tool = "*", s
		}
	}
	switch {
	case server == "" || tool == "":
		return Pattern{}, fmt.Errorf(`%q names no tool; write "server/tool", "server/*" or "tool"`, s)
	case strings.TrimSpace(s) != s || strings.TrimSpace(server) != server || strings.TrimSpace(tool) != tool || strings.ContainsFunc(s, unicode.IsControl):
		return Pattern{}, fmt.Errorf(`%q names no tool, since no name begins or ends with a blank; write "server/tool"`, s)
	case !serverPart().MatchString(server):
		return Pattern{}, fmt.Errorf(`%q names no tool, since no server can be called %q: its name has letters, digits, '.', '-' and single '_'`, s, server)
	}
	for _, part := range []string{server, flat(tool)} {
		if _, err := path.Match(part, ""); err != nil {
			return Pattern{}, fmt.Errorf("invalid pattern %q: a bracket is not closed, or it ends in a backslash", s)
		}
	}
	p := Pattern{server, tool, s, nil}
	p.also = new(spellings(p))
	return p, nil
}

// serverPart matches names of servers and patterns of such names.
var serverPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(_?[A-Za-z0-9.*?\[\]^\\-])+_?$`) })

// A spelling is a server and a tool that a pattern may be meant for, in lower case.
type spelling struct{ server, tool string }

// spellings returns how else a pattern may be read than as it is defined: in another case, and if it has no slash, with
// what clients put between a server and a tool, and before both.
func spellings(p Pattern) []spelling {
	all := []spelling{{strings.ToLower(p.Server), flat(strings.ToLower(p.Tool))}}
	if strings.Contains(p.written, "/") {
		return all
	}
	all = append(all, spelling{"*", strings.ToLower(p.written)})
	text := clientsText(strings.ToLower(p.written))
	for i := range text {
		for _, separator := range []string{"__", ":", ".", "_", "-"} {
			if tool, found := strings.CutPrefix(text[i:], separator); found && tool != "" && tool != "_" {
				server := text[:i]
				if len(separator) == 1 && separator != ":" && (server == "" || strings.ContainsAny(server, `*?[`)) {
					continue // a pattern of names, such as *_file, and no server
				}
				if before := strings.LastIndex(server, "__"); before >= 0 {
					server = server[before+len("__"):] // before it is what the client calls the proxy
				}
				all = append(all, spelling{server, tool})
			}
		}
	}
	return all
}

// clientsText returns a pattern without what clients write around "server:tool" or "server__tool": mcp__server__tool(*)
// of Claude Code, mcp_server_tool of Gemini CLI, Mcp(server:tool) of Cursor, server(tool) of Copilot CLI.
func clientsText(text string) string {
	if strings.HasPrefix(text, "mcp__") {
		text = strings.TrimSuffix(text, "(*)")
	}
	if before, inner, found := strings.Cut(strings.TrimSuffix(text, ")"), "("); found && strings.HasSuffix(text, ")") {
		if text = inner; before != "mcp" {
			text = before + ":" + inner
		}
	}
	for _, prefix := range []string{"mcp__", "mcp:", "mcp.", "mcp_"} {
		if rest, found := strings.CutPrefix(text, prefix); found {
			return rest
		}
	}
	return text
}

// Names reports whether the pattern may be meant for a tool, in any spelling that clients and people use. A rule that
// restricts counts for all of these; one that permits, for what [Pattern.Matches].
func (p Pattern) Names(server, tool string) bool {
	if p.Matches(server, tool) {
		return true
	}
	if p.also == nil {
		return false
	}
	server, tool = strings.ToLower(server), flat(strings.ToLower(tool))
	for _, s := range *p.also {
		if match(s.server, server) && match(s.tool, tool) {
			return true
		}
	}
	return false
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.written }

// flat makes one word of a tool's name, so that a star stands for a slash in it too.
func flat(tool string) string { return strings.ReplaceAll(tool, "/", "\x00") }

// Matches reports whether the pattern names a tool.
func (p Pattern) Matches(server, tool string) bool {
	return match(p.Server, server) && match(flat(p.Tool), flat(tool))
}

// match reports whether a name is the pattern or matches it.
func match(pattern, name string) bool {
	if pattern == name {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// Exact reports whether the pattern is the name of one tool of one server.
func (p Pattern) Exact() bool {
	return p.Server != "" && !strings.ContainsAny(p.Server+p.Tool, `*?[\`)
}

// namesServer reports whether the pattern is about one server.
func (p Pattern) namesServer() bool { return !strings.ContainsAny(p.Server, `*?[\`) }

// covers reports whether it is certain that p names every tool that q does.
func (p Pattern) covers(q Pattern) bool {
	return coversWord(p.Server, q.Server) && coversWord(flat(p.Tool), flat(q.Tool))
}

// coversWord tries what a star may match: nothing, something short, something long. A question mark
// of p's covers one of these and not the others.
func coversWord(p, q string) bool {
	if p == q || p == "*" {
		return true
	}
	if strings.ContainsAny(q, `[\`) || strings.Contains(p, "[") && strings.ContainsAny(q, "*?") {
		return false // it would take a proof: what stands for a character here may be in a class, and others not
	}
	for _, stands := range []string{"", "\x01", "\x01\x01\x01\x01\x01"} {
		if !match(p, strings.NewReplacer("*", stands, "?", "\x01").Replace(q)) {
			return false
		}
	}
	return true
}
