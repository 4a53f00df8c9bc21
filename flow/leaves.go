package flow

import (
	"encoding/json"
	"strconv"
	"strings"
)

type leaf struct {
	name  string // of the innermost member
	value string // a string's content, or a number as written
	text  bool   // it is a string
}

type walker struct {
	form  string
	at    int
	place []byte // of the leaf, such as "flights[0].date"
	yield func(leaf)
}

func (w *walker) value(name string) {
	if w.at >= len(w.form) {
		return
	}
	before := len(w.place)
	switch c := w.form[w.at]; c {
	case '{':
		for w.at++; w.more('}'); w.comma() {
			key := w.str()
			w.at++ // the colon
			if before > 0 {
				w.place = append(w.place, '.')
			}
			w.place = append(w.place, key...)
			w.value(key)
			w.place = w.place[:before]
		}
		w.at++
	case '[':
		i := int64(0)
		for w.at++; w.more(']'); w.comma() {
			w.place = append(strconv.AppendInt(append(w.place, '['), i, 10), ']')
			w.value(name)
			w.place = w.place[:before]
			i++
		}
		w.at++
	case '"':
		w.yield(leaf{name, w.str(), true})
	default:
		end := w.at
		for end < len(w.form) && strings.IndexByte(",]}", w.form[end]) < 0 {
			end++
		}
		if c == '-' || '0' <= c && c <= '9' {
			w.yield(leaf{name, w.form[w.at:end], false})
		}
		w.at = end
	}
}

func (w *walker) more(end byte) bool { return w.at < len(w.form) && w.form[w.at] != end }

func (w *walker) comma() {
	if w.at < len(w.form) && w.form[w.at] == ',' {
		w.at++
	}
}

func (w *walker) str() string {
	from, plain := w.at, true
	for w.at++; w.more('"'); w.at++ {
		if w.form[w.at] == '\\' {
			plain = false
			w.at++
		}
	}
	w.at++
	if plain {
		return w.form[from+1 : w.at-1]
	}
	var s string
	_ = json.Unmarshal([]byte(w.form[from:w.at]), &s) // it is canonical
	return s
}
