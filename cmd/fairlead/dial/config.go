package dial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/cmd/fairlead/jsonc"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/tailscale/hujson"
)

// maxConfig is how long a configuration file may be. Some clients keep their history in it.
const maxConfig = 64 << 20

// Configured returns the servers of a configuration file, in the order of the file, as the clients write it:
// "mcpServers" (Claude, Cursor, Windsurf, Cline, Gemini and others), "servers" (VS Code, in its settings within
// "mcp"), "context_servers" (Zed), "mcp" (opencode), or "mcp_servers" in a .toml file (Codex).
//
// With names, it returns those servers, switched off or not; otherwise all that are not switched off.
// Servers that are switched off in the client's files stay off: a server that is not named, and the tools in Target.Tools.
//
// The error names file and entry. A file without servers is an error too. If some of the entries can be used, the others
// are returned with their Fault.
func Configured(path string, names ...string) ([]Target, error) {
	text, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	var entries []entry
	var members map[string]json.RawMessage
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		entries, err = codexEntries(text)
	} else {
		entries, members, err = jsonEntries(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUsage, path, err)
	}
	client, switched := kindOf(path, members), switchesOf(path, members)
	if err := missing(path, entries, names); err != nil {
		return nil, err
	}
	var found []Target
	var faults []error
	for _, e := range entries {
		named := slices.Contains(names, e.name)
		if len(names) > 0 && !named {
			continue
		}
		t, off, err := e.target(path, client)
		if (off || switched.isOff(e.name, t)) && !named {
			continue
		}
		if switched.filter(e.name, &t.Tools); err != nil {
			t.Fault = fmt.Errorf("%s, line %d: the server %s %w", path, e.line, quoted(e.name), err)
			faults = append(faults, t.Fault)
		}
		found = append(found, t)
	}
	if len(faults) > 0 && (len(faults) == len(found) || len(names) > 0) { // otherwise it is that server's own
		return nil, fmt.Errorf("%w: %w", ErrUsage, faults[0])
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %s: every server is switched off; name one by --server", ErrUsage, path)
	}
	return Several(found), nil
}

func read(path string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(path)) //nolint:gosec // the user names it
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

// missing returns an error for the first of the names that no entry has.
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

// quoted returns names of a file in quotes, which a terminal can show.
func quoted(names ...string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = `"` + safetext.Cut(safetext.Line(name), 100) + `"`
	}
	return strings.Join(shown, ", ")
}

// places are where the clients keep their servers; the first that names any counts.
var places = [][]string{{"mcpServers"}, {"context_servers"}, {"servers"}, {"mcp", "servers"}, {"mcp", "mcpServers"}, {"amp.mcpServers"}, {"mcp"}}

// byteOrderMark is what editors on Windows write before a text.
const byteOrderMark = "\ufeff"

// jsonEntries reads JSON with comments and trailing commas, as editors keep their settings.
func jsonEntries(text []byte) ([]entry, map[string]json.RawMessage, error) {
	if line := jsonc.Deep(text); line > 0 {
		return nil, nil, fmt.Errorf("line %d: it is nested too deeply", line)
	}
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	file, err := hujson.Parse(text)
	if err != nil { // which has the line
		return nil, nil, err
	}
	if _, ok := file.Value.(*hujson.Object); !ok {
		return nil, nil, errors.New("want a JSON object")
	}
	file.Standardize() // which moves nothing
	var found []entry
	there := false
	dir, _ := os.Getwd() // without one this is not a project
	for _, place := range append(places, []string{"projects", dir, "mcpServers"}) {
		beside := place[0] == "projects" // Claude Code keeps those of one project beside those for all
		opencode := len(place) == 1 && place[0] == "mcp"
		if len(found) > 0 && !beside || there && opencode {
			continue
		}
		list, is, err := entriesAt(file, text, place)
		if err != nil {
			return nil, nil, err
		}
		there, found = there || is, append(found, list...)
	}
	switch {
	case !there:
		return nil, nil, errors.New(`it has none of "mcpServers", "servers", "context_servers" and "mcp", which is where clients keep their servers`)
	case len(found) == 0:
		return nil, nil, errors.New("it names no server")
	}
	i, last := 0, make(map[string]int, len(found)) // the last of a name takes the place of the others
	for i, e := range found {
		last[e.name] = i
	}
	return slices.DeleteFunc(found, func(e entry) bool {
		i++
		return last[e.name] != i-1
	}), object(file.Pack()), nil
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
		return nil, true, fmt.Errorf("%q is not an object", strings.Join(place, "."))
	}
	for _, m := range all {
		list = append(list, entry{nameOf(m), 1 + bytes.Count(text[:m.Value.StartOffset], []byte("\n")), bytes.TrimSpace(m.Value.Pack())})
	}
	return list, true, nil
}

// members returns the members of an object, in their order, and whether the value is one.
func members(v hujson.Value) ([]hujson.ObjectMember, bool) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, false
	}
	return o.Members, true
}

func nameOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }
