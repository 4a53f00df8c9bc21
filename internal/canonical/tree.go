package canonical

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// AppendTree appends the canonical form of what encoding/json would write for v.
// A tree as encoding/json decodes it, of maps, lists, strings and numbers, is
// written without the detour; anything else is marshalled first.
func AppendTree(dst []byte, v any) ([]byte, error) {
	w := writers.Get().(*writer)
	w.src, w.pos, w.run, w.dst, w.members, w.keys = nil, 0, 0, dst, w.members[:0], w.keys[:0]
	err := w.tree(v, 0)
	switch {
	case err != nil:
	case len(w.dst)-len(dst) > MaxBytes:
		err = tooLong(len(w.dst) - len(dst))
	default:
		dst = w.dst
	}
	w.src, w.dst = nil, nil
	clear(w.keys[:cap(w.keys)]) // they are the caller's
	if cap(w.members) <= maxPooled {
		writers.Put(w)
	}
	return dst, err
}

// AppendText appends a string as it stands in a canonical form.
func AppendText(dst []byte, s string) []byte {
	w := writer{dst: dst}
	w.text(s)
	return w.dst
}

func (w *writer) tree(v any, depth int) error {
	if depth > MaxDepth {
		return tooDeep(w.pos)
	}
	switch v := v.(type) {
	case nil:
		w.dst = append(w.dst, "null"...)
	case bool:
		w.dst = strconv.AppendBool(w.dst, v)
	case string:
		w.text(v)
	case float64:
		return w.float(v)
	case map[string]any:
		if v == nil {
			w.dst = append(w.dst, "null"...)
			return nil
		}
		return w.branch(v, depth)
	case []any:
		if v == nil {
			w.dst = append(w.dst, "null"...)
			return nil
		}
		w.dst = append(w.dst, '[')
		for i, e := range v {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			if err := w.tree(e, depth+1); err != nil {
				return err
			}
		}
		w.dst = append(w.dst, ']')
	default:
		return w.foreign(v, depth)
	}
	return nil
}

func (w *writer) branch(v map[string]any, depth int) error {
	w.dst = append(w.dst, '{')
	if len(v) == 0 {
		w.dst = append(w.dst, '}')
		return nil
	}
	first := len(w.keys)
	for k := range v {
		w.keys = append(w.keys, k)
	}
	slices.Sort(w.keys[first:])
	base := len(w.members)
	for i := first; i < first+len(v); i++ {
		if i > first {
			w.dst = append(w.dst, ',')
		}
		m := member{start: len(w.dst)}
		w.text(w.keys[i])
		m.keyEnd = len(w.dst)
		w.dst = append(w.dst, ':')
		if err := w.tree(v[w.keys[i]], depth+1); err != nil {
			return err
		}
		m.end = len(w.dst)
		w.members = append(w.members, m)
	}
	w.dst = append(w.dst, '}')
	err := w.order(w.members[base:])
	w.members, w.keys = w.members[:base], w.keys[:first]
	return err
}

// foreign writes what only encoding/json knows how to write.
func (w *writer) foreign(v any, depth int) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(raw) > MaxBytes {
		return tooLong(len(raw))
	}
	w.src, w.pos, w.run = raw, 0, 0
	err = w.value(depth)
	w.flush()
	return err
}

// float writes a number as encoding/json does.
func (w *writer) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return w.fail("%v is no number of JSON", f)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	w.dst = strconv.AppendFloat(w.dst, f, format, -1, 64)
	if n := len(w.dst); format == 'e' && n >= 4 && w.dst[n-4] == 'e' && w.dst[n-3] == '-' && w.dst[n-2] == '0' {
		w.dst = append(w.dst[:n-2], w.dst[n-1])
	}
	return nil
}

// text writes a string of Go; what is no UTF-8 in it becomes U+FFFD.
func (w *writer) text(s string) {
	w.dst = append(w.dst, '"')
	for len(s) > 0 {
		run := 0
		for run < len(s) && plain[s[run]] {
			run++
		}
		w.dst = append(w.dst, s[:run]...)
		if s = s[run:]; s == "" {
			break
		}
		r, n := utf8.DecodeRuneInString(s)
		w.rune(r)
		s = s[n:]
	}
	w.dst = append(w.dst, '"')
}

// Copy returns a private copy of v, as encoding/json would decode what it would
// write for it.
func Copy(v any) (any, error) { return copied(v, 0) }

func copied(v any, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, tooDeep(0)
	}
	switch v := v.(type) {
	case nil, bool, string, float64:
		return v, nil
	case map[string]any:
		if v == nil {
			return nil, nil //nolint:nilnil // it is JSON's null
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			c, err := copied(e, depth+1)
			if err != nil {
				return nil, err
			}
			out[k] = c
		}
		return out, nil
	case []any:
		if v == nil {
			return nil, nil //nolint:nilnil // it is JSON's null
		}
		out := make([]any, len(v))
		for i, e := range v {
			c, err := copied(e, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = c
		}
		return out, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	err = json.Unmarshal(raw, &out)
	return out, err
}

func tooLong(n int) error {
	return &Error{Reason: fmt.Sprintf("%d bytes, more than the limit of %d", n, MaxBytes), Offset: MaxBytes}
}

func tooDeep(at int) error {
	return &Error{Reason: fmt.Sprintf("nested deeper than %d levels", MaxDepth), Offset: at}
}
