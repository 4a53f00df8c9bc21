package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/strictjson"
)

// A Part is one value that an approval is about. All its texts are safe to show.
type Part struct {
	Group string // Changes, Arguments, AlsoSent or Drafts
	Name  string // where it is: "path", "edits[0].newText", the id of a draft; "" for all of it
	// Text is the value. A text of one line is in quotation marks; the lines of others are as they are, and other values
	// are as JSON has them.
	Text  string
	Block bool // the text has its own lines, which are shown below the name
	// Bytes and Lines are those of the value as it is sent, and of a comparison those of its lines without their marks,
	// whatever of it is in Text.
	Bytes, Lines int
	// Left is what [Question.Fit] left out of Text.
	Left Missing

	value  string
	isText bool
	marks  []byte      // of the lines of a comparison, nil for any other value
	counts string      // of a comparison: how many lines go and come
	gaps   map[int]int // how many lines were left out before a line
}

// The groups of parts.
const (
	// Trial is what the server answered to a trial of the call: its words, which the approval is bound to.
	Trial = "Its server's answer to a trial"
	// Changes are texts as they are and as they become: see [Part.Compared].
	Changes   = "What changes"
	Arguments = "Arguments"
	AlsoSent  = "Also sent"
	Drafts    = "Drafts that this commits"
)

// Size describes the bytes and lines of the value, of a comparison the lines that go and come, and is "" for a short value.
func (p Part) Size() string {
	if !p.Block && p.Left.None() {
		return ""
	}
	if p.marks != nil { // its bytes are those of both texts, which is the size of neither
		return p.counts
	}
	return count(p.Bytes, "byte") + ", " + count(p.Lines, "line")
}

// Rows lays the text out in rows of so many columns.
func (p Part) Rows(columns int) (rows []string) {
	for _, line := range p.Compared() { // each row has the mark of its line
		wrapped := safetext.Wrap(line.Text, columns-2)
		if wrapped == nil {
			wrapped = []string{""}
		}
		for _, row := range wrapped {
			rows = append(rows, line.Mark+" "+row)
		}
	}
	if rows != nil {
		return rows
	}
	for line := range strings.SplitSeq(p.Text, "\n") {
		wrapped := safetext.Wrap(line, columns)
		if wrapped == nil {
			wrapped = []string{""}
		}
		rows = append(rows, wrapped...)
	}
	return rows
}

// partsOf returns all that an approval of the request is about.
func partsOf(r hitl.Request) (all []Part) {
	c := callOf(r)
	all = members(all, Arguments, r.Arguments)
	c.mailed(all)
	all = c.changed(all, r.Changes)
	if r.Preview != nil && (r.Preview.Answer != "" || !r.Preview.Failed) {
		all = append([]Part{newPart(Trial, "with "+safetext.Word(r.Preview.With, maxName), r.Preview.Answer, true)}, all...)
	}
	if r.Extra != nil {
		all = members(all, AlsoSent, r.Extra)
	}
	for _, d := range r.Drafts {
		name := safetext.Line(d.ID)
		if json.Valid([]byte(d.Shown)) {
			before := len(all)
			all = value(all, Drafts, "", json.RawMessage(d.Shown), 0)
			for i := range all[before:] {
				all[before+i].Name = strings.TrimSuffix(name+" "+all[before+i].Name, " ")
			}
			continue
		}
		all = append(all, newPart(Drafts, name, d.Shown, true))
	}
	return all
}

// members appends the members of an object, each at its place; what is not one unambiguous object is one part.
func members(all []Part, group string, object json.RawMessage) []Part {
	if len(bytes.TrimSpace(object)) == 0 {
		return all
	}
	list, ok := strictjson.Members(object)
	if _, err := canonical.AppendObject(nil, object); err != nil || !ok {
		return append(all, newPart(group, "", string(object), false))
	}
	for _, m := range list {
		all = value(all, group, named(m.Name), m.Value, 1)
	}
	return all
}

const (
	maxName   = 80  // bytes of a name that is shown without quotation marks
	maxInline = 160 // bytes of a list that is shown on one line
	maxDepth  = 12  // of the places; what is deeper is shown as JSON
)

// named returns the name of a member, all of it, since it is sent as well. One with the signs of a place, such as
// "edits[0].newText", is in quotation marks, so that it cannot be taken for a member of another value.
func named(name string) string {
	if strings.ContainsAny(name, ".[]") {
		return safetext.Quote(name, 0)
	}
	return called(name)
}

// called returns a name that is of no member, such as that of a file.
func called(name string) string {
	if len(name) > maxName {
		return safetext.Quote(name, 0)
	}
	return safetext.Word(name, maxName)
}

// value appends a value, one part for each leaf if it has members or elements that need room.
func value(all []Part, group, name string, v json.RawMessage, depth int) []Part {
	v = bytes.TrimSpace(v)
	if text, ok := textOf(v); ok {
		return append(all, newPart(group, name, text, true))
	}
	if inline, ok := inlined(v); ok || depth > maxDepth || len(v) == 0 {
		p := newPart(group, name, string(v), false)
		if ok {
			p.Text, p.Block = inline, false
		}
		return append(all, p)
	}
	if v[0] == '{' {
		list, _ := strictjson.Members(v)
		for _, m := range list {
			word := named(m.Name)
			if name != "" {
				word = name + "." + word
			}
			all = value(all, group, word, m.Value, depth+1)
		}
		return all
	}
	var list []json.RawMessage
	_ = json.Unmarshal(v, &list) // the whole is valid
	for i, element := range list {
		all = value(all, group, fmt.Sprintf("%s[%d]", name, i), element, depth+1)
	}
	return all
}

// textOf returns the text that a JSON value is. It is false for other values, and for texts that JSON's own escapes hold
// and UTF-8 does not.
func textOf(v json.RawMessage) (text string, ok bool) {
	ok = len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &text) == nil && !strings.ContainsRune(text, utf8.RuneError)
	return text, ok
}

// inlined returns a value that is not a text on one line: a scalar, or a short list of scalars.
func inlined(v json.RawMessage) (string, bool) {
	if len(v) == 0 || v[0] != '{' && v[0] != '[' {
		return safetext.Line(string(v)), true
	}
	if len(bytes.Trim(v, "{}[] \t\r\n")) == 0 && len(v) < 8 {
		return string(v[:1]) + string(v[len(v)-1:]), true
	}
	var list []json.RawMessage
	if len(v) > maxInline || v[0] == '{' || json.Unmarshal(v, &list) != nil {
		return "", false
	}
	var shown []string
	for _, element := range list {
		text, isText := textOf(element)
		switch {
		case isText && strings.Contains(text, "\n"), element[0] == '{', element[0] == '[':
			return "", false
		case isText:
			shown = append(shown, safetext.Quote(text, 0))
		default:
			shown = append(shown, safetext.Line(string(element)))
		}
	}
	return "[" + strings.Join(shown, ", ") + "]", true
}

func newPart(group, name, value string, isText bool) Part {
	p := Part{Group: group, Name: name, Bytes: len(value), Lines: lines(value), value: value, isText: isText}
	p.show(value)
	return p
}

// show sets the text to a beginning of the value.
func (p *Part) show(value string) {
	if p.marks != nil {
		p.showCompared(value)
		return
	}
	p.Block = strings.Contains(p.value, "\n") || len(p.value) > maxInline
	switch {
	case p.isText && !p.Block:
		p.Text = safetext.Quote(value, 0)
	default:
		p.Text = safetext.Text(value)
	}
}

// lines returns how many lines a text has; an empty one has none.
func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
