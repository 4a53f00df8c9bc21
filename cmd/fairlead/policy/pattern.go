package policy

import (
	"fmt"
	"path"
	"strings"
)

// A Pattern names tools: "server/tool", each part with the wildcards of [path.Match], or "tool" for that of any server.
// In the name of a tool a star stands for a slash too. The zero value names none.
type Pattern struct{ Server, Tool, written string }

// ParsePattern reads a pattern. An error says what is wrong with its text.
func ParsePattern(s string) (Pattern, error) {
	server, tool, there := strings.Cut(s, "/")
	if !there {
		server, tool = "*", s
	}
	if server == "" || tool == "" {
		return Pattern{}, fmt.Errorf(`%q names no tool; write "server/tool", "server/*" or "tool"`, s)
	}
	for _, part := range []string{server, flat(tool)} {
		if _, err := path.Match(part, ""); err != nil {
			return Pattern{}, fmt.Errorf("%q is no pattern: a bracket is not closed, or it ends in a backslash", s)
		}
	}
	return Pattern{server, tool, s}, nil
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
	return strings.Contains(p.written, "/") && !strings.ContainsAny(p.written, `*?[\`)
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
