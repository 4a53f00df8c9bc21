package pins

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/jsonobject"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/safetext"
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
		Definition json.RawMessage `json:"definition"`
	}
	l.mu.RLock()
	tools := make(map[string]block, len(l.pins))
	for id, p := range l.pins {
		tools[id.String()] = block{p.class.String(), p.digest.String(), p.form}
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

// Load reads a lock file, see [Parse]. If there is none, the error is [fs.ErrNotExist] and nothing
// is trusted. A host that wants to accept what it meets the first time begins with an empty Lock
// and calls [Lock.Accept].
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

// Save writes the lock to a file, all of it or nothing: a reader finds the old text or the new
// one, even if the host ends in between.
func (l *Lock) Save(path string) error {
	text, err := l.MarshalText()
	if err != nil {
		return err
	}
	if err := replaceFile(filepath.Clean(path), text); err != nil {
		return fmt.Errorf("pins: the lock was not saved: %w", err)
	}
	return nil
}

// replaceFile puts a file with the text in the place of path.
func replaceFile(path string, text []byte) error {
	mode := fs.FileMode(0o644) // it is reviewed like code, and holds no secret
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d, err := os.Open(dir) // so that the new name lasts
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Parse reads the text of a lock file. It refuses a text with anything that it does not
// understand, or with a definition that is not that of its digest; the error names line and key.
func Parse(text []byte) (*Lock, error) {
	if len(text) > maxLock {
		return nil, fmt.Errorf("pins: the lock has %d bytes, more than %d", len(text), maxLock)
	}
	r := reader{text}
	top, err := r.object("the lock", jsonobject.Member{RawMessage: text}, "version", "tools")
	if err != nil {
		return nil, err
	}
	var is int
	if err := r.value("version", top["version"], &is); err != nil {
		return nil, err
	}
	if is != version {
		return nil, r.fault(top["version"].Start, "version", "is %d; this Fairlead reads %d", is, version)
	}
	blocks, err := r.object("tools", top["tools"])
	if err != nil {
		return nil, err
	}
	l := &Lock{pins: make(map[name]pin, len(blocks))}
	for _, key := range slices.Sorted(maps.Keys(blocks)) {
		server, tool, _ := strings.Cut(key, "/")
		if !toolname.IsServer(server) || toolname.Check(tool) != nil {
			return nil, r.fault(blocks[key].Start, key, `is no name of a tool; write "server/tool"`)
		}
		if l.pins[name{server, tool}], err = r.pin(key, tool, blocks[key]); err != nil {
			return nil, err
		}
	}
	return l, nil
}

type reader struct{ text []byte }

// fault reports what is wrong with a key, and the line at the offset.
func (r reader) fault(offset int, key, format string, args ...any) error {
	line := 1 + bytes.Count(r.text[:min(offset, len(r.text))], []byte("\n"))
	return fmt.Errorf("pins: the lock, line %d: %s %s; restore the file, or accept the tool again",
		line, safetext.Cut(safetext.Line(key), 200), fmt.Sprintf(format, args...))
}

// object reads an object. Its members start at their place in the whole text.
func (r reader) object(key string, from jsonobject.Member, keys ...string) (map[string]jsonobject.Member, error) {
	members, err := jsonobject.Parse(from.RawMessage, keys...)
	if fault, ok := errors.AsType[*jsonobject.Error](err); ok {
		return nil, r.fault(from.Start+fault.Offset, key, "%s", fault.Reason)
	}
	for key, m := range members {
		m.Start += from.Start
		members[key] = m
	}
	return members, nil
}

// value reads a value of the type that v points to. A null is of no type.
func (r reader) value(key string, m jsonobject.Member, v any) error {
	if string(m.RawMessage) == "null" {
		return r.fault(m.Start, key, "is null")
	}
	if err := json.Unmarshal(m.RawMessage, v); err != nil {
		return r.fault(m.Start, key, "is of the wrong type: %v", err)
	}
	return nil
}

// pin reads the block of a tool.
func (r reader) pin(key, tool string, block jsonobject.Member) (p pin, err error) {
	members, err := r.object(key, block, "class", "digest", "definition")
	if err != nil {
		return p, err
	}
	var class, digest string
	if err := r.value(key+": class", members["class"], &class); err != nil {
		return p, err
	}
	if err := r.value(key+": digest", members["digest"], &digest); err != nil {
		return p, err
	}
	for p.class = annotation.Safe; p.class.String() != class; p.class-- {
		if p.class == annotation.Unknown {
			return p, r.fault(members["class"].Start, key, "has the class %.40q, which is none of safe, moderate, dangerous, unknown", class)
		}
	}
	if p.form, err = r.definition(key+": definition", tool, members["definition"]); err != nil {
		return p, err
	}
	if p.digest = sha256.Sum256(p.form); p.digest.String() != digest {
		return p, r.fault(members["digest"].Start, key,
			"has a definition that is not the one of its digest, which is %d lower-case hexadecimal digits", 2*len(p.digest))
	}
	return p, nil
}

// definition returns the canonical form of a tool's definition.
func (r reader) definition(key, tool string, m jsonobject.Member) ([]byte, error) {
	var text json.RawMessage
	if err := r.value(key, m, &text); err != nil {
		return nil, err
	}
	if len(text) > canonical.MaxBytes { // most of it is indentation
		var b bytes.Buffer
		_ = json.Compact(&b, text) // it was JSON
		text = b.Bytes()
	}
	form, err := canonical.Append(nil, text)
	if c, ok := errors.AsType[*canonical.Error](err); ok {
		return nil, r.fault(m.Start+c.Offset, key, "cannot be taken: %s", c.Reason)
	}
	switch definition := members(form); {
	case definition == nil:
		return nil, r.fault(m.Start, key, "is no object")
	case definition["name"] != any(tool):
		return nil, r.fault(m.Start, key, "is that of another tool")
	}
	return form, nil
}
