// Package strictjson reads JSON objects member by member, in order: [Members] one object of a call or a server,
// [Parse] a whole file, in which every fault names its line and its place.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Member is one member of an object. An object may have two of the same name.
type Member struct {
	Name  string
	Value json.RawMessage

	end int // of the value in the object's text
}

// Members returns the members of an object. It reports false for a text that does not begin with a whole object.
func Members(text []byte) (all []Member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		m := Member{Name: name.(string)} // in an object it is one
		if d.Decode(&m.Value) != nil {
			return nil, false
		}
		m.end = int(d.InputOffset())
		all = append(all, m)
	}
	_, err := d.Token()
	return all, err == nil
}

// A Value is a value of a file, with its place there.
type Value struct {
	file  []byte
	end   int
	raw   json.RawMessage
	names []string
}

// Parse reads a file of one JSON value in UTF-8.
func Parse(file []byte) (Value, error) {
	v := Value{file: file, end: len(file)}
	for i := 0; i < len(file); {
		r, n := utf8.DecodeRune(file[i:])
		if i += n; r == utf8.RuneError && n == 1 {
			return Value{}, v.faultAt(i, "not valid UTF-8")
		}
	}
	d := json.NewDecoder(bytes.NewReader(file))
	if err := d.Decode(&v.raw); err != nil {
		at := len(file)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(syntax.Offset)
		} else if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Value{}, v.faultAt(at, "not valid JSON: %w", err)
	}
	v.end = int(d.InputOffset())
	if rest := bytes.TrimLeft(file[v.end:], " \t\r\n"); len(rest) > 0 {
		return Value{}, v.faultAt(len(file)-len(rest)+1, "there is more after its end")
	}
	return v, nil
}

// Errorf returns an error about the value, with the line where it ends and the names that lead to it.
func (v Value) Errorf(format string, args ...any) error { return v.faultAt(v.end, format, args...) }

// faultAt is Errorf for the line of the last byte before an offset.
func (v Value) faultAt(end int, format string, args ...any) error {
	var at strings.Builder
	for _, name := range v.names {
		fmt.Fprintf(&at, "%.80q: ", name)
	}
	return fmt.Errorf("line %d: %s%w", 1+bytes.Count(v.file[:end], []byte("\n")), at.String(), fmt.Errorf(format, args...))
}

// Name returns the name of the member that the value is of, "" for the whole file.
func (v Value) Name() string {
	if len(v.names) == 0 {
		return ""
	}
	return v.names[len(v.names)-1]
}

// Raw returns the JSON of the value, as it is written.
func (v Value) Raw() json.RawMessage { return v.raw }

// Object returns the members of an object, of which no two have the same name. what names the value in an error.
func (v Value) Object(what string) ([]Value, error) {
	members, ok := Members(v.raw)
	if !ok {
		return nil, v.Errorf("%s must be an object", what)
	}
	start := v.end - len(v.raw)
	seen := make(map[string]bool, len(members))
	values := make([]Value, len(members))
	for i, m := range members {
		values[i] = Value{v.file, start + m.end, m.Value, append(slices.Clip(v.names), m.Name)}
		if seen[m.Name] {
			return nil, values[i].Errorf("is given twice")
		}
		seen[m.Name] = true
	}
	return values, nil
}

// List returns the elements of a list. what names the value in an error.
func (v Value) List(what string) (elements []Value, err error) {
	d := json.NewDecoder(bytes.NewReader(v.raw))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil, v.Errorf("%s must be a list", what)
	}
	start := v.end - len(v.raw)
	for d.More() {
		e := Value{file: v.file, names: append(slices.Clip(v.names), strconv.Itoa(len(elements)))}
		if err := d.Decode(&e.raw); err != nil {
			return nil, v.Errorf("not valid JSON: %w", err)
		}
		e.end = start + int(d.InputOffset())
		elements = append(elements, e)
	}
	return elements, nil
}
