// Package toolname holds our rule for the name of a tool, that for the id of a server, and patterns of both.
package toolname

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

const most = 128

// Check returns the fault of a name, as the end of a sentence about the tool; nil if it has none.
//
// MCP recommends the characters of [Plain] and does not require them, and there are servers with tools such as "Disk
// report", "repos/list" and "查询". Whether a client can call them follows from its own rule. A name is refused if a person
// could not see what it is, since questions, policies and records name tools: one with invisible characters, with
// letters that look like those of another alphabet, or with blanks at its ends or in a row. A * is refused because it
// is a pattern in policies.
func Check(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case name == "":
		return errors.New("it has no name")
	case n > most:
		return fmt.Errorf("its name has %d characters, more than the %d that MCP allows", n, most)
	case Plain(name):
		return nil
	case strings.ContainsFunc(name, safetext.Invisible):
		return errors.New("its name has characters that cannot be seen")
	case strings.Contains(name, "*"):
		return errors.New("its name has a *, which is a pattern in policies")
	case strings.TrimSpace(name) != name || strings.Contains(name, "  "):
		return errors.New("its name has blanks at an end, or in a row")
	case strings.ContainsRune(name, utf8.RuneError) || safetext.Line(strings.ReplaceAll(name, `\`, "/")) != strings.ReplaceAll(name, `\`, "/"):
		return errors.New("its name has letters that are not shown as they are, such as those that look like letters of another alphabet")
	}
	return nil
}

// Plain reports whether a name has only the characters that MCP recommends.
func Plain(name string) bool {
	return name != "" && len(name) <= most && !strings.ContainsFunc(name, foreign)
}

func foreign(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
}

// IsServer reports whether a string can be the id of a server: it has no slash and no double underscore.
func IsServer(id string) bool {
	const longest = 64
	return id != "" && len(id) <= longest && !strings.ContainsFunc(id, foreign) && !strings.Contains(id, "__")
}

// Match reports whether the text matches the pattern, where * matches any text.
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
