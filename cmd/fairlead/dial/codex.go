package dial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/BurntSushi/toml"
)

// codexKey is where Codex keeps its servers.
const codexKey = "mcp_servers"

// codexEntries returns the servers of a file of Codex's, which is TOML, in their order.
// Each is made the JSON object that another client would have written.
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

// codexLine is the line in which the server is first named. The parser does not tell,
// and it is only for people who look for it.
func codexLine(text []byte, name string) int {
	names := regexp.MustCompile(`(?m)^[ \t]*(\[?[ \t]*` + codexKey + `[ \t]*\.[ \t]*)?["']?` + regexp.QuoteMeta(name) + `["']?[ \t]*[].=]`)
	if at := names.FindIndex(text); at != nil {
		return 1 + bytes.Count(text[:at[0]], []byte("\n"))
	}
	return 1
}
