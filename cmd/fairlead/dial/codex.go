package dial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/BurntSushi/toml"
)

const codexKey = "mcp_servers"

// codexEntries returns the servers of a TOML file of Codex, in their order, each as JSON.
func codexEntries(text []byte) ([]entry, error) {
	if err := checkTOML(text); err != nil {
		return nil, err
	}
	var file map[string]any
	meta, err := toml.Decode(string(bytes.TrimPrefix(text, []byte(byteOrderMark))), &file)
	if err != nil {
		return nil, fmt.Errorf("it is no TOML: %w", err)
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

// codexLine is the line in which the server is first named, for people who look for it.
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

func checkTOML(text []byte) error {
	if len(text) > maxTOML {
		return fmt.Errorf("it has more than %d bytes", maxTOML)
	}
	depth, words := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			depth, words = depth+1, 0
		case ']', '}':
			depth, words = depth-1, 0
		case '.':
			words++
		case '=', ',', '\n':
			words = 0
		case '#':
			i += upTo(text[i:], "\n", false) - 1
		case '"', '\'':
			i += quotedTOML(text[i:]) - 1
		}
		if depth > maxTOMLDepth || words > maxTOMLDepth {
			return fmt.Errorf("line %d: it is nested too deeply, more than %d levels", 1+bytes.Count(text[:i], []byte("\n")), maxTOMLDepth)
		}
	}
	return nil
}

// quotedTOML is how many bytes the text in quotes has that begins here.
func quotedTOML(text []byte) int {
	mark := string(text[:1])
	escapes := mark == `"`
	if whole := mark + mark + mark; bytes.HasPrefix(text, []byte(whole)) {
		return 3 + upTo(text[3:], whole, escapes) + 3
	}
	line := text[:upTo(text, "\n", false)]
	return min(len(line), 1+upTo(line[1:], mark, escapes)+1)
}

func upTo(text []byte, end string, escapes bool) int {
	for i := 0; i < len(text); i++ {
		switch {
		case bytes.HasPrefix(text[i:], []byte(end)):
			return i
		case escapes && text[i] == '\\':
			i++
		}
	}
	return len(text)
}
