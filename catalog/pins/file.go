package pins

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/internal/wholefile"
)

const (
	version = 1
	maxLock = 64 << 20 // bytes
)

// MarshalText returns the text of a lock file. The same lock has the same text.
func (l *Lock) MarshalText() ([]byte, error) {
	type block struct {
		Class      string          `json:"class"`
		Digest     string          `json:"digest"`
		Review     *Decision       `json:"review,omitempty"`
		Definition json.RawMessage `json:"definition"`
	}
	l.mu.RLock()
	tools := make(map[string]block, len(l.pins))
	for id, p := range l.pins {
		tools[id.String()] = block{p.class.String(), p.digest.String(), p.decision, p.form}
	}
	l.mu.RUnlock()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(struct {
		Version int              `json:"version"`
		Tools   map[string]block `json:"tools"`
	}{version, tools}); err != nil {
		return nil, fmt.Errorf("pins: the lock: %w", err)
	}
	text := []byte(safetext.JSON(shortEscapes.Replace(b.String()))) // with the ends of lines as a reader knows them
	if len(text) > maxLock {
		return nil, fmt.Errorf("pins: the lock has %d bytes, more than the %d that can be read again", len(text), maxLock)
	}
	return text, nil
}

// shortEscapes has the backslash first, so that one that was escaped begins none.
var shortEscapes = strings.NewReplacer(`\\`, `\\`, `\u000a`, `\n`, `\u000d`, `\r`, `\u0009`, `\t`)

// Load reads a lock file, see [Parse]. If the file does not exist, the error is an [os.ErrNotExist]; begin with
// an empty Lock.
func Load(path string) (*Lock, error) {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("pins: the lock: %w", err)
	}
	l, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return l, nil
}

// Save writes the whole lock to a file, or nothing, even if the host ends meanwhile.
func (l *Lock) Save(path string) error {
	text, err := l.MarshalText()
	if err != nil {
		return err
	}
	if err := wholefile.Replace(filepath.Clean(path), text); err != nil {
		return fmt.Errorf("pins: the lock was not saved: %w", err)
	}
	return nil
}

// Parse reads the text of a lock file, and refuses anything unknown and a wrong digest; the error names line and key.
func Parse(text []byte) (*Lock, error) {
	if len(text) > maxLock {
		return nil, fmt.Errorf("pins: the lock has %d bytes, more than %d", len(text), maxLock)
	}
	l, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("pins: the lock, %w; restore the file, or accept the tool again", err)
	}
	return l, nil
}

func read(text []byte) (*Lock, error) {
	whole, err := strictjson.Parse(text)
	if err != nil {
		return nil, err
	}
	top, err := membersOf(whole, "the lock", []string{"version", "tools"})
	if err != nil {
		return nil, err
	}
	var is int
	if err := decode(top["version"], &is); err != nil {
		return nil, err
	}
	if is != version {
		return nil, top["version"].Errorf("is %d; this Fairlead reads %d", is, version)
	}
	blocks, err := top["tools"].Object("tools")
	if err != nil {
		return nil, err
	}
	l := &Lock{pins: make(map[name]pin, len(blocks))}
	for _, block := range blocks {
		server, tool, _ := strings.Cut(block.Name(), "/")
		if !toolname.IsServer(server) || toolname.Check(tool) != nil {
			return nil, block.Errorf(`is not the name of a tool; write "server/tool"`)
		}
		if l.pins[name{server, tool}], err = pinOf(block, tool); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// membersOf returns the members of an object that has all of the keys, and no others but the optional ones.
func membersOf(object strictjson.Value, what string, keys []string, optional ...string) (map[string]strictjson.Value, error) {
	values, err := object.Object(what)
	if err != nil {
		return nil, err
	}
	members := make(map[string]strictjson.Value, len(values))
	for _, v := range values {
		if known := slices.Concat(keys, optional); !slices.Contains(known, v.Name()) {
			return nil, v.Errorf("is an unknown key; %s has %s", what, strings.Join(known, ", "))
		}
		members[v.Name()] = v
	}
	for _, key := range keys {
		if members[key].Raw() == nil {
			return nil, object.Errorf("%s has no %q", what, key)
		}
	}
	return members, nil
}

// decode reads a value of the type that into points to. A null is of no type.
func decode(v strictjson.Value, into any) error {
	if string(v.Raw()) == "null" {
		return v.Errorf("is null")
	}
	if err := json.Unmarshal(v.Raw(), into); err != nil {
		return v.Errorf("is of the wrong type: %w", err)
	}
	return nil
}

// pinOf reads the block of one tool. The digest must be that of the definition, so that an edited lock file is refused.
func pinOf(block strictjson.Value, tool string) (p pin, err error) {
	members, err := membersOf(block, "a tool", []string{"class", "digest", "definition"}, "review")
	if err != nil {
		return p, err
	}
	var digest string
	if err := cmp.Or(decode(members["class"], &p.class), decode(members["digest"], &digest)); err != nil {
		return p, err
	}
	if members["review"].Raw() != nil {
		if p.decision, err = decisionOf(members["review"]); err != nil {
			return p, err
		}
	}
	if p.form, err = definitionOf(members["definition"], tool); err != nil {
		return p, err
	}
	if p.digest = sha256.Sum256(p.form); p.digest.String() != digest {
		return p, members["digest"].Errorf("is not that of the definition, which is %d lower-case hexadecimal digits", 2*len(p.digest))
	}
	return p, nil
}

// definitionOf returns the canonical form of a definition.
func definitionOf(v strictjson.Value, tool string) ([]byte, error) {
	text := v.Raw()
	if len(text) > canonical.MaxBytes { // most of it is indentation
		var b bytes.Buffer
		_ = json.Compact(&b, text) // it was JSON
		text = b.Bytes()
	}
	form, err := canonical.Append(nil, text)
	if err != nil {
		return nil, v.Errorf("cannot be taken: %w", err)
	}
	switch definition := members(form); {
	case definition == nil:
		return nil, v.Errorf("is not an object")
	case definition["name"] != any(tool):
		return nil, v.Errorf("is the definition of another tool")
	}
	return form, nil
}

func decisionOf(v strictjson.Value) (*Decision, error) {
	d := new(Decision)
	if _, err := membersOf(v, "a review", []string{"class", "reason", "reviewer", "date"}, "conditions", "model", "prompt", "answer"); err != nil {
		return nil, err
	}
	if err := decode(v, d); err != nil {
		return nil, err
	}
	strict := json.NewDecoder(bytes.NewReader(v.Raw()))
	strict.DisallowUnknownFields() // a condition of which a part is not understood would be a weaker one
	if err := strict.Decode(new(Decision)); err != nil {
		return nil, v.Errorf("cannot be taken: %w", err)
	}
	if err := d.Validate(); err != nil {
		return nil, v.Errorf("cannot be taken: %w", err)
	}
	return d, nil
}
