package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// decode returns what the JSON text says, its numbers as they were written. The
// value is our own, to be written to.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind its end")
	}
	return v, checkNumbers(v)
}

// checkNumbers refuses numbers that no float64 holds: a validator would write out
// all the digits of 1e999999999.
func checkNumbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		if _, err := v.Float64(); err != nil {
			return fmt.Errorf("the number %.40s is too large", v)
		}
	case []any:
		for _, e := range v {
			if err := checkNumbers(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := checkNumbers(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// encode writes a value that decode made, in as few characters as there can be.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("output: " + err.Error()) // it was decoded from JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// looksLikeJSON reports whether the text may be an object or a list.
func looksLikeJSON(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n\ufeff")
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// same reports whether two values say the same, however their numbers are written.
func same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok || a == b {
			return ok
		}
		x, _ := a.Float64()
		y, _ := b.Float64()
		return x == y
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !same(v, w) {
				return false
			}
		}
		return true
	}
	return a == b
}

// A pointer is a JSON Pointer (RFC 6901), taken apart; empty is the whole value.
type pointer []string

func parsePointer(s string) (pointer, error) {
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("%q is no JSON Pointer; it begins with a slash, as in /meta/cursor", s)
	}
	parts := strings.Split(s[1:], "/")
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts, nil
}

// in returns what the pointer leads to.
func (p pointer) in(v any) (any, bool) {
	for _, part := range p {
		switch at := v.(type) {
		case map[string]any:
			e, ok := at[part]
			if !ok {
				return nil, false
			}
			v = e
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// set returns v with the value at the pointer replaced, where its parent is there.
// It writes into the objects and lists on the way.
func (p pointer) set(v, value any) any {
	if len(p) == 0 {
		return value
	}
	parent, _ := p[:len(p)-1].in(v)
	last := p[len(p)-1]
	switch at := parent.(type) {
	case map[string]any:
		at[last] = value
	case []any:
		if i, err := strconv.Atoi(last); err == nil && i >= 0 && i < len(at) {
			at[i] = value
		}
	}
	return v
}

// remove takes the member at the pointer out of its object.
func (p pointer) remove(v any) {
	if len(p) == 0 {
		return
	}
	parent, _ := p[:len(p)-1].in(v)
	if at, ok := parent.(map[string]any); ok {
		delete(at, p[len(p)-1])
	}
}
