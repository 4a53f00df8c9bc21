// Package toolname holds MCP's rule for the name of a tool, ours for the id of a server, and patterns of both.
package toolname

import (
	"errors"
	"fmt"
	"strings"
)

const most = 128

// Check returns the fault of a name, as the end of a sentence about the tool; nil if it has none.
func Check(name string) error {
	switch {
	case name == "":
		return errors.New("it has no name")
	case len(name) > most:
		return fmt.Errorf("its name has %d characters, more than the %d that MCP allows", len(name), most)
	case strings.ContainsFunc(name, foreign):
		return errors.New("its name has characters other than A-Z, a-z, 0-9, '_', '-' and '.'")
	}
	return nil
}

func foreign(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
}

// IsServer reports whether a string can be the id of a server: it has no slash and no double underscore.
func IsServer(id string) bool {
	const longest = 64
	return id != "" && len(id) <= longest && !strings.ContainsFunc(id, foreign) && !strings.Contains(id, "__")
}

// Match reports whether the text matches the pattern, in which * matches any text.
func Match(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	for ok {
		var part string
		if part, rest, star = strings.Cut(rest, "*"); !star {
			return strings.HasSuffix(text, part)
		}
		_, text, ok = strings.Cut(text, part)
	}
	return false
}
