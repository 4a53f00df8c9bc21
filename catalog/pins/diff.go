package pins

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/jsontree"
)

// Limits on what is shown of a change. A definition is whatever a server sends, perhaps an attack on its reader: a
// diff is bounded in fields and bytes, its keys and values have no control characters, and what a value shares with
// the one before is cut from its two ends, so that a change of one word in a long text shows.
const (
	maxEdits  = 40  // fields
	maxValue  = 400 // bytes of what differs in one field
	maxKey    = 64  // bytes of one key
	margin    = 40  // bytes around what differs
	shortText = 160 // bytes of a value that is shown whole
)

// An edit is one field that differs between two definitions, with its values as text, "" for none.
type edit struct {
	member  string // of the definition, in which the field is
	path    string
	was, is string
}

// members returns the members of a definition, its numbers as they are written; nil if it is not an object.
func members(form []byte) map[string]any {
	tree, _ := jsontree.Decode(form)
	members, _ := tree.(map[string]any)
	return members
}

// edits returns the fields that differ between two definitions, sorted by path. A list is one value.
func edits(before, after map[string]any) (found []edit) {
	var walk func(member, path string, old, now map[string]any)
	walk = func(member, path string, old, now map[string]any) {
		keys := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(now))
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			was, had := old[key]
			is, has := now[key]
			wasMembers, wasObject := was.(map[string]any)
			isMembers, isObject := is.(map[string]any)
			at := path + shownKey(path, key)
			in := cmp.Or(member, at)
			switch {
			case wasObject && isObject:
				walk(in, at, wasMembers, isMembers)
			case had && has && reflect.DeepEqual(was, is):
			default:
				found = append(found, edit{in, at, text(was, had), text(is, has)})
			}
		}
	}
	walk("", "", before, after)
	return found
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_$-]+$`)

// shownKey returns a key as the next part of a path, safe to show.
func shownKey(path, key string) string {
	switch {
	case !plainKey.MatchString(key) || len(key) > maxKey:
		return `["` + safetext.Cut(safetext.Line(key), maxKey) + `"]`
	case path == "":
		return key
	}
	return "." + key
}

// fields returns the members of the definition that differ, sorted.
func fields(was, is []byte) []string {
	var fields []string
	for _, e := range edits(members(was), members(is)) {
		fields = append(fields, e.member)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// writeDiff writes each field that differs, with its value before and after.
func writeDiff(b *strings.Builder, was, is []byte) {
	found := edits(members(was), members(is))
	for i, e := range found {
		if i == maxEdits {
			fmt.Fprintf(b, "  … and %d more\n", len(found)-i)
			return
		}
		was, is := around(e.was, e.is)
		fmt.Fprintf(b, "  %s\n", e.path)
		if was != "" {
			fmt.Fprintf(b, "    - %s\n", was)
		}
		if is != "" {
			fmt.Fprintf(b, "    + %s\n", is)
		}
	}
}

// text returns a value as JSON, a string without JSON's escapes, and "" if it is not there.
func text(v any, there bool) string {
	if !there {
		return ""
	}
	if s, ok := v.(string); ok {
		return `"` + s + `"`
	}
	return jsontree.Encode(v)
}

// around returns two values without what they share at their beginning and end, but for a margin.
func around(was, is string) (shownWas, shownIs string) {
	head, tail := 0, 0
	if max(len(was), len(is)) > shortText && was != "" && is != "" {
		for head < min(len(was), len(is)) && was[head] == is[head] {
			head++
		}
		for tail < min(len(was), len(is))-head && was[len(was)-1-tail] == is[len(is)-1-tail] {
			tail++
		}
		head, tail = max(0, head-margin), max(0, tail-margin)
		for head > 0 && !utf8.RuneStart(was[head]) {
			head--
		}
		for tail > 0 && !utf8.RuneStart(was[len(was)-tail]) {
			tail--
		}
	}
	show := func(s string) string {
		return same(head) + safetext.Cut(safetext.Line(s[head:len(s)-tail]), maxValue) + same(tail)
	}
	return show(was), show(is)
}

// same replaces text that two values share. A value cannot contain it, since its backslashes are doubled.
func same(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(`⟦%d bytes the same⟧`, n)
}
