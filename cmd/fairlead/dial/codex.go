package dial

// Codex keeps its servers in TOML. The parser does not report the line of a table, and is not safe for deep nesting: it
// calls itself for each level, and a stack that overflows ends the program. So a text is measured before it is parsed,
// by counting brackets and dots outside of its strings and comments, and the line of a server is found by a pattern.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/BurntSushi/toml"
)

// codexKey is the table with the servers.
const codexKey = "mcp_servers"

// codexEntries returns the servers of a TOML file of Codex, in their order, each as JSON.
func codexEntries(text []byte) ([]entry, error) {
	if err := CheckTOML(text); err != nil {
		return nil, err
	}
	var file map[string]any
	meta, err := toml.Decode(string(bytes.TrimPrefix(text, []byte(byteOrderMark))), &file)
	if err != nil {
		return nil, fmt.Errorf("not valid TOML: %w", err)
	}
	servers, ok := file[codexKey].(map[string]any)
	switch {
	case !ok:
		return nil, fmt.Errorf("it has no table %q, which is where Codex keeps its servers", codexKey)
	case len(servers) == 0:
		return nil, errors.New("it names no server")
	}
	var found []entry
	seen := make(map[string]bool, len(servers))
	for _, key := range meta.Keys() {
		if len(key) < 2 || key[0] != codexKey || seen[key[1]] {
			continue
		}
		name := key[1]
		seen[name] = true
		raw, err := json.Marshal(servers[name])
		if err != nil {
			return nil, fmt.Errorf("the server %s cannot be read: %w", quoted(name), err)
		}
		found = append(found, entry{name, codexLine(text, name), raw})
	}
	return found, nil
}

// codexLine returns the line in which the server is first named, for people who look for it; 1 if none is found.
func codexLine(text []byte, name string) int {
	names := regexp.MustCompile(`(?m)^[ \t]*(\[?[ \t]*` + codexKey + `[ \t]*\.[ \t]*)?["']?` + regexp.QuoteMeta(name) + `["']?[ \t]*[].=]`)
	if at := names.FindIndex(text); at != nil {
		return 1 + bytes.Count(text[:at[0]], []byte("\n"))
	}
	return 1
}

// Limits on a file of TOML. Its parser calls itself for each level and could run out of stack.
const (
	maxTOML      = 1 << 20
	maxTOMLDepth = 100 // lists and tables within each other, and words of one key
)

// CheckTOML returns an error for a text that is too long, or nested too deeply, to be parsed.
func CheckTOML(text []byte) error {
	if len(text) > maxTOML {
		return fmt.Errorf("it has more than %d bytes", maxTOML)
	}
	text = opaque.ReplaceAllFunc(text, func(part []byte) []byte { return bytes.Repeat([]byte("\n"), bytes.Count(part, []byte("\n"))) })
	line, depth, words := 1, 0, 0
	for _, c := range text {
		switch c {
		case '[', '{':
			depth, words = depth+1, 0
		case ']', '}':
			depth, words = depth-1, 0
		case '.':
			words++
		case '=', ',':
			words = 0
		case '\n':
			line, words = line+1, 0
		}
		if depth > maxTOMLDepth || words > maxTOMLDepth {
			return fmt.Errorf("line %d: it is nested too deeply, more than %d levels", line, maxTOMLDepth)
		}
	}
	return nil
}

// opaque matches the texts and comments of TOML, which have no structure, whether or not they end.
var opaque = regexp.MustCompile(`(?s)"""(\\.|[^\\])*?("{3,5}|\z)|'''.*?('{3,5}|\z)|"(\\[^\n]|[^"\\\n])*"?|'[^'\n]*'?|#[^\n]*`)
