package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// Top returns the error of [Once] for the members of an object alone, whatever is in them.
func Top(text []byte, known ...string) error { return once(text, 1, known) }

// Once returns an error for a text of valid JSON that two readers could take for different values: if an object in it, at
// any depth, has two members of one name, or if the text is an object with a member whose name differs only in case from
// a known one. Some readers take the first of two, some the last, and some ignore case, as package json does, for which
// "tool\u017f" is "tools".
func Once(text []byte, known ...string) error { return once(text, math.MaxInt, known) }

// once looks at objects down to a depth.
func once(text []byte, deepest int, known []string) error {
	var open []frame
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[':
			open = append(open, frame{object: c == '{', name: c == '{'})
		case '}', ']':
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		case ',':
			if len(open) > 0 {
				open[len(open)-1].name = open[len(open)-1].object
			}
		case '"':
			end := endOf(text, i)
			if end == len(text) {
				return nil // it is not valid
			}
			if 0 < len(open) && len(open) <= deepest && open[len(open)-1].name {
				in, name := &open[len(open)-1], unescaped(text[i+1:end])
				in.name = false
				if in.add(name) {
					return fmt.Errorf("%.80q is given twice", name)
				}
				if like := alike(name, known); len(open) == 1 && like != "" {
					return fmt.Errorf("%.80q can be taken for %q", name, like)
				}
			}
			i = end
		}
	}
	return nil
}

// endOf returns where the string that begins at i ends, the length of the text if it does not.
func endOf(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i, len(text))
}

// alike returns the known name from which a name differs only in case, "" if there is none.
func alike(name []byte, known []string) string {
	for _, one := range known {
		if string(name) != one && bytes.EqualFold(name, []byte(one)) {
			return one
		}
	}
	return ""
}

// A frame is an object or a list that is open.
type frame struct {
	object bool
	name   bool            // a string that begins now is the name of a member
	few    [][]byte        // names, until there are many
	many   map[string]bool // all names then
}

// few is how many names are compared one by one.
const few = 16

// add adds a name and reports whether the object has it already.
func (f *frame) add(name []byte) (twice bool) {
	if f.many != nil {
		twice = f.many[string(name)]
		f.many[string(name)] = true
		return twice
	}
	for _, one := range f.few {
		if bytes.Equal(one, name) {
			return true
		}
	}
	if f.few = append(f.few, name); len(f.few) > few {
		f.many = make(map[string]bool, 2*few)
		for _, one := range f.few {
			f.many[string(one)] = true
		}
	}
	return false
}

// unescaped returns what is between the quotes of a string as it is read.
func unescaped(inside []byte) []byte {
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside
	}
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, inside...), '"'), &s) != nil {
		return inside
	}
	return []byte(s)
}
