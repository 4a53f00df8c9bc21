package pins

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// Limits on what is shown of a change.
const (
	maxEdits  = 40  // fields
	maxValue  = 400 // bytes of what differs in one field
	maxKey    = 64  // bytes of one key
	margin    = 40  // bytes around what differs
	shortText = 160 // bytes of a value that is shown whole
)

// An edit is one field in which two definitions differ, with its values as text, "" for none.
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

// edits returns the fields in which two definitions differ, sorted by path. A list is one value.
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

func fields(was, is []byte) []string {
	var fields []string
	for _, e := range edits(members(was), members(is)) {
		fields = append(fields, e.member)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

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

// A ChangeKind is how a tool has changed since definitions were accepted.
type ChangeKind string

// The kinds of a [Change].
const (
	New     ChangeKind = "new"     // no tool of this name was accepted
	Changed ChangeKind = "changed" // its definition, or its class has become less strict
	Removed ChangeKind = "removed" // its server no longer lists it
)

// A Change is a difference between what a server listed, when [Lock.Changes] was called, and what was accepted.
type Change struct {
	Server, Tool string
	Kind         ChangeKind
	// Was is the class with which it was accepted, Is its class now; Unknown without one.
	Was, Is annotation.Safety

	// Now is the tool as its server lists it; nil for one that was removed. No model may see it.
	Now *middleware.Tool

	accepted, now pin
}

func (c Change) name() name { return name{c.Server, c.Tool} }

func (c Change) same(o Change) bool {
	return c.name() == o.name() && c.Is == o.Is && c.now.digest == o.now.digest
}

// String returns the change on one line, without any text that the server wrote:
//
//	crm/list_customers: changed since it was accepted (annotations, description; safe → dangerous)
func (c Change) String() string { return c.name().String() + ": " + c.reason() }

func (c Change) reason() string {
	switch {
	case c.Kind == New:
		return fmt.Sprintf("new, nobody has accepted it (%s)", c.Is)
	case c.Kind == Removed:
		return "was accepted, and its server no longer lists it"
	case c.accepted.digest == c.now.digest:
		return fmt.Sprintf("its class has become less strict since it was accepted (%s → %s)", c.Was, c.Is)
	}
	what := strings.Join(fields(c.accepted.form, c.now.form), ", ")
	if c.Was != c.Is {
		what += fmt.Sprintf("; %s → %s", c.Was, c.Is)
	}
	return "changed since it was accepted (" + what + ")"
}

// Diff returns the change on many lines, safe to show to a person: the class with its reasons if it changed, and
// each field that differs. Long values are cut to the difference.
func (c Change) Diff() string {
	var b strings.Builder
	b.WriteString(c.String() + "\n")
	if c.Now != nil && (c.Was != c.Is || c.Kind == New) {
		_, reasons, _ := strings.Cut(c.Now.Explain(), "\n")
		b.WriteString("  class\n")
		if c.Kind != New {
			fmt.Fprintf(&b, "    - %s\n", c.Was)
		}
		fmt.Fprintf(&b, "    + %s\n", c.Is)
		for reason := range strings.Lines(reasons) {
			b.WriteString("    " + safetext.Text(reason))
		}
	}
	if c.Kind != Removed {
		writeDiff(&b, c.accepted.form, c.now.form)
	}
	return b.String()
}

// ErrNotAccepted is in the tree of every error about a tool whose definition was not accepted.
var ErrNotAccepted = errors.New("pins: definition not accepted")

type refused = fault.Final

// A NotAcceptedError refuses a call of a new or changed tool. Its text holds nothing that the server wrote.
type NotAcceptedError struct {
	refused

	Change Change
}

func (e *NotAcceptedError) Error() string {
	return fmt.Sprintf("pins: refused: %s; the host must look at Lock.Changes and accept it", e.Change)
}

// Reason returns what has changed, without the name of the tool.
func (e *NotAcceptedError) Reason() string { return e.Change.reason() }

func (*NotAcceptedError) ForModel() string {
	return "The tool was not called: it is new or has changed, and the host has not accepted it yet. Use another tool, or tell the user."
}

func (e *NotAcceptedError) Is(target error) bool { return target == ErrNotAccepted }
