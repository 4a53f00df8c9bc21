// Package jsonobject reads JSON objects strictly: each member once, and no member that is not
// expected. A decoder into a struct would take members twice, and in another case.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Member is the value of one member of an object.
type Member struct {
	json.RawMessage

	Start int // in bytes from the beginning of the object's text
}

// An Error reports what is wrong with a text, as the end of a sentence about it.
type Error struct {
	Offset int // in bytes
	Reason string
}

func (e *Error) Error() string { return e.Reason }

// Parse returns the members of the object that the text is. The object must have all of the keys
// and no other; if there are no keys, it may have any. An error is an [*Error].
func Parse(text []byte, keys ...string) (map[string]Member, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil {
		return nil, broken(text, err)
	} else if t != json.Delim('{') {
		return nil, fault(d, "is no object")
	}
	members := make(map[string]Member)
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, broken(text, err)
		}
		key, _ := t.(string) // in an object it is one
		if _, twice := members[key]; twice {
			return nil, fault(d, "has %.200q twice", key)
		}
		if keys != nil && !slices.Contains(keys, key) {
			return nil, fault(d, "has the unknown key %.200q; it knows %s", key, strings.Join(keys, ", "))
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, broken(text, err)
		}
		members[key] = Member{value, int(d.InputOffset()) - len(value)}
	}
	if _, err := d.Token(); err != nil {
		return nil, broken(text, err)
	}
	for _, key := range keys {
		if _, ok := members[key]; !ok {
			return nil, fault(d, "has no %q", key)
		}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fault(d, "goes on after its end")
	}
	return members, nil
}

func fault(d *json.Decoder, format string, args ...any) *Error {
	return &Error{int(d.InputOffset()), fmt.Sprintf(format, args...)}
}

// broken reports where a text is no JSON.
func broken(text []byte, err error) *Error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && len(text) > 0 {
		return &Error{min(int(syntax.Offset), len(text)), "is no JSON: " + err.Error()}
	}
	return &Error{len(text), "ends too soon"}
}
