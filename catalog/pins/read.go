package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/defdiff"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// ParseLock reads the text of a lock file. One that holds anything that is not
// understood is refused whole, and so is one whose definitions are not those of
// its digests; the error names line and key.
func ParseLock(text []byte) (*Lock, error) {
	if len(text) > maxLock {
		return nil, fmt.Errorf("catalog: the lock has %d bytes, more than %d", len(text), maxLock)
	}
	r := &lockReader{text: text, d: json.NewDecoder(bytes.NewReader(text)), lock: &Lock{pins: make(map[name]pin)}}
	err := r.object("the lock", []string{"version", "tools"}, func(key string) error {
		if key == "tools" {
			return r.object(key, nil, r.tool)
		}
		var version int
		if err := r.value(key, &version); err != nil {
			return err
		}
		if version != lockVersion {
			return r.fault(key, "is %d; this Fairlead reads %d", version, lockVersion)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, err := r.d.Token(); !errors.Is(err, io.EOF) {
		return nil, r.fault("the lock", "goes on after its end")
	}
	return r.lock, nil
}

// A lockReader reads a lock token by token, since a decoder into structs would
// take members twice, and in another case.
type lockReader struct {
	text []byte
	d    *json.Decoder
	lock *Lock
}

// fault says what is wrong with a key in the line that was read last.
func (r *lockReader) fault(key, format string, args ...any) error {
	return r.faultAt(r.d.InputOffset(), key, format, args...)
}

func (r *lockReader) faultAt(offset int64, key, format string, args ...any) error {
	line := 1 + bytes.Count(r.text[:min(int(offset), len(r.text))], []byte("\n"))
	return fmt.Errorf("catalog: the lock, line %d: %s %s; restore the file, or accept the tool again",
		line, safetext.Line(cut(key, 200)), fmt.Sprintf(format, args...))
}

// broken says where a text is no JSON.
func (r *lockReader) broken(key string, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return r.faultAt(syntax.Offset, key, "is no JSON: %v", err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.faultAt(int64(len(r.text)), key, "ends too soon")
	}
	return r.fault(key, "is of the wrong type: %v", err)
}

// object reads an object that has every one of the keys, once, and no other;
// no keys means any. The func reads the value of one key.
func (r *lockReader) object(what string, keys []string, read func(key string) error) error {
	switch t, err := r.d.Token(); {
	case err != nil:
		return r.broken(what, err)
	case t != json.Delim('{'):
		return r.fault(what, "is no object")
	}
	seen := make(map[string]bool)
	for r.d.More() {
		t, err := r.d.Token()
		if err != nil {
			return r.broken(what, err)
		}
		key, _ := t.(string) // in an object it is one
		switch {
		case seen[key]:
			return r.fault(what, "has %q twice", cut(key, 200))
		case keys != nil && !slices.Contains(keys, key):
			return r.fault(what, "has the unknown key %q; it knows %s", cut(key, 200), strings.Join(keys, ", "))
		}
		seen[key] = true
		if err := read(key); err != nil {
			return err
		}
	}
	if _, err := r.d.Token(); err != nil {
		return r.broken(what, err)
	}
	for _, key := range keys {
		if !seen[key] {
			return r.fault(what, "has no %q", key)
		}
	}
	return nil
}

// value reads one value of the type that v points to. A null is of no type.
func (r *lockReader) value(key string, v any) error {
	var raw json.RawMessage
	if err := r.d.Decode(&raw); err != nil {
		return r.broken(key, err)
	}
	if string(raw) == "null" {
		return r.fault(key, "is null")
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return r.broken(key, err)
	}
	return nil
}

// tool reads one block.
func (r *lockReader) tool(key string) error {
	id := name{}
	id.server, id.tool, _ = strings.Cut(key, "/")
	if !serverID.MatchString(id.server) || strings.Contains(id.server, "__") || toolname.Check(id.tool) != nil {
		return r.fault(key, `is no name of a tool; write "server/tool"`)
	}
	var p pin
	err := r.object(key, []string{"class", "digest", "definition"}, func(member string) (err error) {
		switch member {
		case "class":
			p.class, err = r.class(key)
		case "digest":
			p.digest, err = r.digest(key)
		default:
			p.form, err = r.definition(key, id.tool)
		}
		return err
	})
	if err != nil {
		return err
	}
	if sha256.Sum256(p.form) != p.digest {
		return r.fault(key, "has a definition that is not the one of its digest")
	}
	r.lock.pins[id] = p
	return nil
}

func (r *lockReader) class(key string) (annotation.Safety, error) {
	var text string
	if err := r.value(key+": class", &text); err != nil {
		return 0, err
	}
	for class := annotation.Unknown; class <= annotation.Safe; class++ {
		if class.String() == text {
			return class, nil
		}
	}
	return 0, r.fault(key, "has the class %.40q, which is none of safe, moderate, dangerous, unknown", text)
}

func (r *lockReader) digest(key string) (d middleware.Digest, err error) {
	var text string
	if err := r.value(key+": digest", &text); err != nil {
		return d, err
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(d) || strings.ToLower(text) != text {
		return d, r.fault(key, "has the digest %.80q, which is not %d lower-case hexadecimal digits", text, 2*len(d))
	}
	return middleware.Digest(raw), nil
}

func (r *lockReader) definition(key, tool string) ([]byte, error) {
	var raw json.RawMessage
	if err := r.value(key+": definition", &raw); err != nil {
		return nil, err
	}
	text := raw
	if len(text) > canonical.MaxBytes { // most of it is indentation
		var b bytes.Buffer
		_ = json.Compact(&b, raw) // it was JSON
		text = b.Bytes()
	}
	form, err := canonical.Append(nil, text)
	if err != nil {
		at := r.d.InputOffset() - int64(len(raw))
		if c, ok := errors.AsType[*canonical.Error](err); ok {
			return nil, r.faultAt(at+int64(c.Offset), key+": definition", "cannot be taken: %s", c.Reason)
		}
		return nil, r.faultAt(at, key+": definition", "cannot be taken: %v", err)
	}
	members, err := defdiff.Members(form)
	if err != nil {
		return nil, r.fault(key+": definition", "is no object")
	}
	if members["name"] != any(tool) {
		return nil, r.fault(key, "has the definition of another tool")
	}
	return form, nil
}
