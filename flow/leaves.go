package flow

import (
	"encoding/json"
	"strconv"
	"strings"
)

// A walker is where a trace is in the arguments. Their canonical form is scanned as it is: decoding it would cost more
// than looking the values up.
type walker struct {
	form  string
	at    int
	place []byte // of the leaf, such as "flights[0].date"
}

// value looks up the leaves of the value at a place of the form, which is canonical JSON: each with the name of the
// innermost member, and a string's content or a number as written.
func (tr *trace) value(name string) {
	w := &tr.walker
	before := len(w.place)
	switch c := w.form[w.at]; c {
	case '{', '[':
		i := int64(0)
		for w.at++; w.form[w.at] != c+2; i++ { // as '}' and ']' are
			if w.form[w.at] == ',' {
				w.at++
			}
			if c == '[' {
				w.place = append(strconv.AppendInt(append(w.place, '['), i, 10), ']')
			} else {
				name = w.str()
				w.at++ // the colon
				if before > 0 {
					w.place = append(w.place, '.')
				}
				w.place = append(w.place, name...)
			}
			tr.value(name)
			w.place = w.place[:before]
		}
		w.at++
	case '"':
		tr.leaf(name, w.str(), true)
	default:
		end := w.at + strings.IndexAny(w.form[w.at:], ",]}")
		if c == '-' || '0' <= c && c <= '9' {
			tr.leaf(name, w.form[w.at:end], false)
		}
		w.at = end
	}
}

// str returns the string at the place, and moves behind it.
func (w *walker) str() string {
	from := w.at
	w.at++
	if inside := w.form[w.at : w.at+strings.IndexByte(w.form[w.at:], '"')]; strings.IndexByte(inside, '\\') < 0 {
		w.at += len(inside) + 1
		return inside
	}
	for ; w.form[w.at] != '"'; w.at++ {
		if w.form[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	var s string
	_ = json.Unmarshal([]byte(w.form[from:w.at]), &s) // it is canonical
	return s
}
