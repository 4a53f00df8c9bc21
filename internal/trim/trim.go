// Package trim weighs a string or a tree of JSON values in characters (Unicode's code points), and cuts it to a
// weight. The rest stays valid JSON, keeps to its schema as far as possible, and states what is missing.
package trim

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/schema"
)

// A Whole is a string inside a document, a cursor for one, that is not cut.
type Whole string

// maxFitDepth is how deep a document is cut; what is nested deeper stays whole or goes.
const maxFitDepth = 100

// leastRoom is what a member of an object should at least have room for, else there are too many members.
const leastRoom = 48

// CutJSON returns v cut to the room, as far as its shape allows it: lists lose their tail, texts their end, and
// objects members that are not required. It may come back too large. It does not write to v, and its cost is
// linear in the size of v.
func CutJSON(v any, room int, s *schema.Shape) any { return fit(v, room, s, 0) }

// fit cuts a value to the room. The room of an object or list is shared among its members, so that one long text does not
// cost the others their place, and each member is cut to its share in the same way. What cannot be cut is kept if a
// schema requires it, and otherwise goes if it does not fit.
func fit(v any, room int, s *schema.Shape, depth int) any {
	if depth > maxFitDepth || JSON(v, room) <= room {
		return v
	}
	switch v := v.(type) {
	case string:
		if isStiff(v, s) {
			return v
		}
		return cut(v, room-2, true)
	case []any:
		return fitList(v, room, s, depth)
	case map[string]any:
		return fitObject(v, room, s, depth)
	}
	return v
}

// fitList keeps as many elements from the beginning as there is room for, and at least a part of the first.
func fitList(v []any, room int, s *schema.Shape, depth int) []any {
	left, n := room-2, 0
	for ; n < len(v); n++ {
		weight := JSON(v[n], left)
		if n > 0 {
			weight++ // the comma
		}
		if weight > left {
			break
		}
		left -= weight
	}
	kept := slices.Clone(v[:n])
	if n == 0 && len(v) > 0 {
		kept = append(kept, fit(v[0], left, s.Item(0), depth+1))
	}
	return kept
}

// fitObject keeps the members that there is room for, each cut to its share.
func fitObject(v map[string]any, room int, s *schema.Shape, depth int) map[string]any {
	keys, left := admit(v, room, s)
	out := make(map[string]any, len(keys))
	weights := make(map[string]int, len(keys))
	for _, k := range keys {
		weight := JSON(v[k], room)
		if s.Requires(k) && isStiff(v[k], s.Member(k)) {
			out[k] = v[k]
			left -= weight
		} else {
			weights[k] = weight
		}
	}
	// A member that cannot be cut to its share goes.
	share := Share(maps.Values(weights), left)
	for k, weight := range weights {
		if weight > share && isStiff(v[k], s.Member(k)) {
			delete(weights, k)
			left += quoted(k, room) + 2
		}
	}
	share = Share(maps.Values(weights), left)
	for k := range weights {
		e := fit(v[k], share, s.Member(k), depth+1)
		if s.Requires(k) || JSON(e, share) <= share {
			out[k] = e
		}
	}
	return out
}

// admit returns the members that there is room for, the required ones first, and the room that their names leave.
func admit(v map[string]any, room int, s *schema.Shape) (keys []string, left int) {
	left = room - 2
	least := 0
	all := slices.Sorted(maps.Keys(v))
	for _, required := range []bool{true, false} {
		for _, k := range all {
			name := quoted(k, room) + 2 // with the colon and the comma
			need := name + JSON(v[k], leastRoom)
			if s.Requires(k) != required || !required && least+need > room-2 {
				continue
			}
			least += need
			left -= name
			keys = append(keys, k)
		}
	}
	return keys, left
}

// isStiff reports whether nothing can be cut from v: neither a list nor an object, nor a string that may be any string.
func isStiff(v any, s *schema.Shape) bool {
	switch v := v.(type) {
	case []any, map[string]any:
		return false
	case string:
		return s.IsFixed() || len(v) < 2*len(cutMark(0))
	}
	return true
}

// Share returns how much each may have so that all together fit the room; small ones get what they need.
func Share(weights iter.Seq[int], room int) int {
	sorted := slices.Sorted(weights)
	share := room
	for i, weight := range sorted {
		share = max(0, room/(len(sorted)-i))
		if weight > share {
			return share
		}
		room -= weight
	}
	return max(share, room)
}

// Bytes returns at most so many bytes of s, whole characters, and a sign for the rest.
func Bytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// CutText returns the beginning of s and a mark with the length of the rest.
func CutText(s string, room int) string { return cut(s, room, false) }

func cut(s string, room int, inJSON bool) string {
	end, _ := scan(s, room-Text(cutMark(len(s)), room), inJSON)
	return strings.ToValidUTF8(s[:end], "\ufffd") + cutMark(utf8.RuneCountInString(s[end:]))
}

func cutMark(n int) string { return fmt.Sprintf("… [%d characters cut]", n) }

// A Loss is what was cut from a document.
type Loss struct {
	Shown, Of int // elements of the list that lost most, 0 of 0 where none did
	Texts     int // that lost their end
	Members   int // of objects that are gone
}

// Count adds what is missing in is, which [CutJSON] made of was.
func (l *Loss) Count(was, is any) {
	switch was := was.(type) {
	case string:
		if got, ok := is.(string); ok && got != was {
			l.Texts++
		}
	case []any:
		got, _ := is.([]any)
		if lost := len(was) - len(got); lost > l.Of-l.Shown {
			l.Shown, l.Of = len(got), len(was)
		}
		for i, e := range got {
			l.Count(was[i], e)
		}
	case map[string]any:
		got, _ := is.(map[string]any)
		l.Members += len(was) - len(got)
		for k, e := range got {
			l.Count(was[k], e)
		}
	case json.Number, Whole: // never cut
	}
}

// weigh returns the weight of a rune as it is, or as jsontree.Encode writes it.
func weigh(r rune, size int, inJSON bool) int {
	switch {
	case inJSON && strings.ContainsRune("\"\\\n\r\t\b\f", r):
		return 2
	case inJSON && (r < ' ' || r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029'):
		return len(`\u0000`)
	}
	return 1
}

// scan returns the end of the part of s that weighs at most that much, and the weight of s, or more than most.
func scan(s string, most int, inJSON bool) (end, weight int) {
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		if weight += weigh(r, size, inJSON); weight > most {
			break
		}
		end += size
	}
	return end, weight
}

// Text returns the weight of s as it is, or something above most.
func Text(s string, most int) int {
	_, weight := scan(s, most, false)
	return weight
}

func quoted(s string, most int) int {
	_, weight := scan(s, most-2, true)
	return weight + 2
}

// JSON returns the weight of a value as jsontree.Encode writes it, or something above most.
func JSON(v any, most int) int {
	switch v := v.(type) {
	case string:
		return quoted(v, most)
	case Whole:
		return quoted(string(v), most)
	case []any:
		n := 2 + max(0, len(v)-1)
		for _, e := range v {
			if n > most {
				break
			}
			n += JSON(e, most-n)
		}
		return n
	case map[string]any:
		n := 2 + max(0, len(v)-1)
		for k, e := range v {
			if n > most {
				break
			}
			n += quoted(k, most-n) + 1
			n += JSON(e, most-n)
		}
		return n
	}
	return len(jsontree.Encode(v)) // null, a boolean or a number
}
