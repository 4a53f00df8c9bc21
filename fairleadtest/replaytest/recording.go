package replaytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/internal/wholefile"
)

// format names what a file is, and its version.
const format = "fairlead recording 1"

// A Recording is what one server answered in one session. [Load] reads one. It does not change, so that several servers
// may answer from it at once.
type Recording struct {
	server json.RawMessage // the result of its initialization, nil for none
	tools  []json.RawMessage
	calls  []call
}

// A call is one of tools/call with one of result, error and missing.
type call struct {
	Tool         string          `json:"tool"`
	Arguments    json.RawMessage `json:"arguments"`
	Result       json.RawMessage `json:"result,omitempty"`
	Error        json.RawMessage `json:"error,omitempty"`
	Missing      string          `json:"missing,omitempty"` // why there is no answer
	Milliseconds int64           `json:"milliseconds"`
}

// write replaces the file.
func (r *Recording) write(path string) (size int, err error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(struct {
		Format string            `json:"format"`
		Server json.RawMessage   `json:"server"`
		Tools  []json.RawMessage `json:"tools"`
		Calls  []call            `json:"calls"`
	}{format, r.server, append([]json.RawMessage{}, r.tools...), append([]call{}, r.calls...)})
	if err != nil {
		return 0, fmt.Errorf("replaytest: %w", err)
	}
	if err := wholefile.Replace(path, text.Bytes()); err != nil {
		return 0, fmt.Errorf("replaytest: the recording was not saved: %w", err)
	}
	return text.Len(), nil
}

// Load reads the file of a recording, and refuses anything unknown; the error names the line.
func Load(path string) (*Recording, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the file that the caller names
	if err != nil {
		return nil, fmt.Errorf("replaytest: %w; record it first", err)
	}
	r, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("replaytest: %s: %w; a file holds one session of one server: restore it, or record anew", path, err)
	}
	return r, nil
}

// parse reads a recording, and reports what is wrong with it by the line.
func parse(text []byte) (*Recording, error) {
	root, err := strictjson.Parse(text)
	if err != nil {
		return nil, err
	}
	members, err := root.Object("a recording")
	if err != nil {
		return nil, err
	}
	var version string
	if len(members) == 0 || members[0].Name() != "format" || json.Unmarshal(members[0].Raw(), &version) != nil {
		return nil, root.Errorf(`not a recording: its first member is not "format"`)
	}
	if version != format {
		return nil, members[0].Errorf("is %q, and this version of fairlead reads %q", version, format)
	}
	r := new(Recording)
	readers := map[string]func(strictjson.Value) error{
		"server": func(v strictjson.Value) error { r.server = compact(v.Raw()); return nil },
		"tools":  r.readTools, "calls": r.readCalls,
	}
	for _, m := range members[1:] {
		read := readers[m.Name()]
		if read == nil {
			return nil, m.Errorf("is not a member of a recording")
		}
		if err := read(m); err != nil {
			return nil, err
		}
		delete(readers, m.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(readers)) {
		return nil, root.Errorf("%q is missing", name)
	}
	return r, nil
}

func (r *Recording) readTools(v strictjson.Value) error {
	all, err := v.List("the tools")
	seen := make(map[string]bool)
	for _, tool := range all {
		name := nameOf(tool.Raw())
		if seen[name] {
			return tool.Errorf("a second tool is called %q", name)
		}
		seen[name] = true
		r.tools = append(r.tools, compact(tool.Raw()))
	}
	return err
}

func (r *Recording) readCalls(v strictjson.Value) error {
	all, err := v.List("the calls")
	for _, one := range all {
		var c call
		d := json.NewDecoder(bytes.NewReader(one.Raw()))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return one.Errorf("%w", err)
		}
		if c.Arguments, err = canonical.AppendObject(nil, c.Arguments); err != nil {
			return one.Errorf("its arguments: %w", err)
		}
		if answers := min(len(c.Result), 1) + min(len(c.Error), 1) + min(len(c.Missing), 1); c.Tool == "" || answers != 1 {
			return one.Errorf("needs a tool, and one of result, error and missing")
		}
		c.Result, c.Error = compact(c.Result), compact(c.Error)
		r.calls = append(r.calls, c)
	}
	return err
}

// compact returns JSON on one line; any other text is returned as it is.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// nameOf returns the name of a tool, "" for none.
func nameOf(tool json.RawMessage) string {
	var t struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(tool, &t) // one without a name has none
	return t.Name
}
