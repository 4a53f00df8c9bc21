package dial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/fairlead-go/fairlead/cmd/fairlead/jsonc"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/tailscale/hujson"
)

// maxConfig is how long a configuration file may be. Some clients keep their history in it.
const maxConfig = 64 << 20

// Configured returns the servers of a configuration file, in the order of the file, as the clients write it:
// "mcpServers" (Claude, Cursor, Windsurf, Cline, Gemini and others), "servers" (VS Code, in its settings within
// "mcp"), "context_servers" (Zed), "mcp" (opencode), or "mcp_servers" in a .toml file (Codex).
//
// With names, it returns those servers, switched off or not; otherwise all that are not switched off.
// The error names file and entry. A file without servers is an error too.
func Configured(path string, names ...string) ([]Target, error) {
	text, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	parse := jsonEntries
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		parse = codexEntries
	}
	entries, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUsage, path, err)
	}
	if err := missing(path, entries, names); err != nil {
		return nil, err
	}
	var found []Target
	for _, e := range entries {
		named := slices.Contains(names, e.name)
		if len(names) > 0 && !named {
			continue
		}
		t, off, err := e.target(path)
		switch {
		case off && !named:
			continue
		case err != nil:
			return nil, fmt.Errorf("%w: %s, line %d: the server %s %w", ErrUsage, path, e.line, quoted(e.name), err)
		}
		found = append(found, t)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %s: every server is switched off; name one by --server", ErrUsage, path)
	}
	return Several(found), nil
}

func read(path string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("%s has more than %d bytes", path, maxConfig)
	}
	return text, err
}

// ErrNoServer is the error for a server that a configuration file does not have.
var ErrNoServer = errors.New("has no server")

func missing(path string, all []entry, names []string) error {
	var there []string
	for _, e := range all {
		there = append(there, e.name)
	}
	for _, name := range names {
		if !slices.Contains(there, name) {
			return fmt.Errorf("%w: %s %w %s; it has %s", ErrUsage, path, ErrNoServer, quoted(name), quoted(there...))
		}
	}
	return nil
}

func quoted(names ...string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = `"` + safetext.Cut(safetext.Line(name), 100) + `"`
	}
	return strings.Join(shown, ", ")
}

type entry struct {
	name string
	line int
	raw  json.RawMessage
}

// places are where the clients keep their servers; the first that names any counts.
var places = [][]string{{"mcpServers"}, {"context_servers"}, {"servers"}, {"mcp", "servers"}, {"mcp", "mcpServers"}, {"amp.mcpServers"}, {"mcp"}}

const byteOrderMark = "\ufeff"

// jsonEntries reads JSON with comments and trailing commas, as editors keep their settings.
func jsonEntries(text []byte) ([]entry, error) {
	if line := jsonc.Deep(text); line > 0 {
		return nil, fmt.Errorf("line %d: it is nested too deeply", line)
	}
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	file, err := hujson.Parse(text)
	if err != nil { // which has the line
		return nil, err
	}
	if _, ok := file.Value.(*hujson.Object); !ok {
		return nil, errors.New("it is no JSON object")
	}
	file.Standardize() // which moves nothing
	var found []entry
	there := false
	dir, _ := os.Getwd() // without one this is no project
	for _, place := range append(places, []string{"projects", dir, "mcpServers"}) {
		beside := place[0] == "projects" // Claude Code keeps those of one project beside those for all
		opencode := len(place) == 1 && place[0] == "mcp"
		if len(found) > 0 && !beside || there && opencode {
			continue
		}
		list, is, err := entriesAt(file, text, place)
		if err != nil {
			return nil, err
		}
		there, found = there || is, append(found, list...)
	}
	switch {
	case !there:
		return nil, errors.New(`it has none of "mcpServers", "servers", "context_servers" and "mcp", which is where clients keep their servers`)
	case len(found) == 0:
		return nil, errors.New("it names no server")
	}
	i, last := 0, make(map[string]int, len(found)) // the last of a name takes the place of the others
	for i, e := range found {
		last[e.name] = i
	}
	return slices.DeleteFunc(found, func(e entry) bool {
		i++
		return last[e.name] != i-1
	}), nil
}

// entriesAt returns the servers of one place, in their order, and whether it is there.
func entriesAt(v hujson.Value, text []byte, place []string) (list []entry, there bool, err error) {
	for _, key := range place {
		all, _ := members(v)
		found := false
		for _, m := range all { // the last of a name counts
			if nameOf(m) == key {
				v, found = m.Value, true
			}
		}
		if !found {
			return nil, false, nil
		}
	}
	all, ok := members(v)
	if !ok {
		return nil, true, fmt.Errorf("%q is no object", strings.Join(place, "."))
	}
	for _, m := range all {
		list = append(list, entry{nameOf(m), 1 + bytes.Count(text[:m.Value.StartOffset], []byte("\n")), bytes.TrimSpace(m.Value.Pack())})
	}
	return list, true, nil
}

func members(v hujson.Value) ([]hujson.ObjectMember, bool) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, false
	}
	return o.Members, true
}

func nameOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

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
