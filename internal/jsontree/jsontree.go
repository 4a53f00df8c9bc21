// Package jsontree decodes a JSON text into a tree that the caller may write to, finds places in it, and
// encodes it again. Numbers stay as they were written.
package jsontree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Decode returns the tree of a JSON text, with numbers as [json.Number]. It refuses a text that goes on after
// its value, and a number that no float64 holds.
func Decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind its end")
	}
	for leaf := range Leaves(v) { // a validator would write out all the digits of 1e999999999
		if n, ok := leaf.(json.Number); ok {
			if _, err := n.Float64(); err != nil {
				return nil, fmt.Errorf("the number %.40s is too large", n)
			}
		}
	}
	return v, nil
}

// Leaves returns the values in v that are neither lists nor objects, at every depth.
func Leaves(v any) iter.Seq[any] { return func(yield func(any) bool) { leaves(v, yield) } }

func leaves(v any, yield func(any) bool) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if !leaves(e, yield) {
				return false
			}
		}
	case map[string]any:
		for _, e := range v {
			if !leaves(e, yield) {
				return false
			}
		}
	default:
		return yield(v)
	}
	return true
}

// Encode writes a value that [Decode] made, in as few characters as there can be.
func Encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("jsontree: " + err.Error()) // it was decoded from JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Likely reports whether the text may be an object or a list.
func Likely(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n\ufeff")
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// told is how many digits of any number a float64 keeps. The ids of some have more.
const told = 15

// exact reports whether a number has no more than these.
func exact(n json.Number) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(string(n)), "e")
	return len(strings.TrimLeft(strings.ReplaceAll(mantissa, ".", ""), "-0")) <= told
}

// Same reports whether two values are equal, however numbers are written; long whole numbers must be written alike.
func Same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok || a == b {
			return ok
		}
		x, _ := a.Float64()
		y, _ := b.Float64()
		return x == y && exact(a) && exact(b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Same)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Same)
	}
	return a == b
}

// A Pointer is a JSON Pointer (RFC 6901), taken apart; empty is the whole value.
type Pointer []string

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// ParsePointer takes a JSON Pointer apart.
func ParsePointer(s string) (Pointer, error) {
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("want a JSON Pointer, such as /meta/cursor, got %q", s)
	}
	parts := strings.Split(s[1:], "/")
	for i, part := range parts {
		parts[i] = unescape.Replace(part)
	}
	return parts, nil
}

// In returns what the pointer leads to.
func (p Pointer) In(v any) (any, bool) {
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

// Set returns v with the value at the pointer replaced, if its parent exists. It writes into v.
func (p Pointer) Set(v, value any) any {
	if len(p) == 0 {
		return value
	}
	parent, _ := p[:len(p)-1].In(v)
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

// Remove takes the member at the pointer out of its object.
func (p Pointer) Remove(v any) {
	if len(p) == 0 {
		return
	}
	parent, _ := p[:len(p)-1].In(v)
	if at, ok := parent.(map[string]any); ok {
		delete(at, p[len(p)-1])
	}
}
