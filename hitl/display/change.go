package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/strictjson"
)

// A Line is one line of a comparison of two texts.
type Line struct {
	// Mark is "+" for a line that is new, "-" for one that is not there afterwards, " " for one that stays, and "@" for
	// our own words about lines that stay and are left out.
	Mark string
	Text string
}

// Compared returns the lines of a part that compares two texts, nil for any other part.
func (p Part) Compared() (lines []Line) {
	if p.marks == nil || p.Text == "" {
		return nil
	}
	for line := range strings.SplitSeq(p.Text, "\n") {
		lines = append(lines, Line{line[:1], line[min(2, len(line)):]})
	}
	return lines
}

// showCompared sets the text to a beginning of the compared lines, each behind its mark, so that no line of theirs can
// be taken for one with another mark.
func (p *Part) showCompared(value string) {
	var b strings.Builder
	for i, line := range strings.Split(value, "\n") {
		if i >= len(p.marks) {
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		if n := p.gaps[i]; n > 0 {
			b.WriteString("@ " + count(n, "line") + " before this are not shown\n")
		}
		b.WriteString(string(p.marks[i]) + " " + safetext.Text(line))
	}
	p.Text = b.String()
}

// condense leaves out the lines that stay and are not beside one that changes, so that a place with little room shows what
// changes first. What is left out is missing there, as any other line.
func (p *Part) condense() {
	lines := strings.Split(p.value, "\n")
	near := func(i int) bool {
		for j := max(i-1, 0); j < min(i+2, len(p.marks)); j++ {
			if p.marks[j] != kept {
				return true
			}
		}
		return false
	}
	var text []string
	var marks []byte
	gaps, gap := make(map[int]int), 0
	for i, mark := range p.marks {
		if !near(i) {
			gap++
			continue
		}
		if gap > 0 {
			gaps[len(text)] = gap
		}
		text, marks, gap = append(text, lines[i]), append(marks, mark), 0
	}
	if len(text) == 0 || len(text) == len(lines) {
		return
	}
	value := strings.Join(text, "\n")
	p.Left = Missing{Values: 1, Bytes: len(p.value) - len(value), Lines: len(lines) - len(text)}
	p.value, p.marks, p.gaps = value, marks, gaps
}

// comparison returns the part that compares two texts.
func comparison(name, before, after string) Part {
	text, marks := compare(before, after)
	p := Part{Group: Changes, Name: name, Bytes: len(text), Lines: len(marks), value: text, marks: marks, Block: true}
	p.counts = fmt.Sprintf("%s removed, %d added", count(bytes.Count(marks, []byte{removed}), "line"), bytes.Count(marks, []byte{added}))
	p.show(text)
	return p
}

// changed returns the parts that an approval is about, with the changes first. An argument all of whose lines are in a
// comparison is not shown a second time.
func (c *call) changed(all []Part, given []hitl.Change) []Part {
	var changes []Part
	drop := make(map[string]bool)
	for _, g := range given {
		p := comparison(called(g.Name), g.Before, g.After)
		if p.Lines == 0 {
			continue
		}
		changes = append(changes, p)
		var same []string // the content, and what else has the same text
		for _, argument := range all {
			if argument.Group == Arguments && argument.isText && argument.value == g.After {
				same = append(same, argument.Name)
			}
		}
		if len(same) == 1 && holds(p.value, p.marks, removed, g.After) {
			drop[same[0]] = true
		}
	}
	if slices.Contains(writing, c.verb) {
		for _, e := range edits(all) {
			p := comparison(e.name, e.before.value, e.after.value)
			newlines := strings.HasSuffix(e.before.value, "\n") == strings.HasSuffix(e.after.value, "\n") // of which lines show nothing
			if p.Lines == 0 || !newlines || !holds(p.value, p.marks, added, e.before.value) || !holds(p.value, p.marks, removed, e.after.value) {
				continue
			}
			changes = append(changes, p)
			drop[e.before.Name], drop[e.after.Name] = true, true
		}
	}
	for _, p := range all {
		if p.Group != Arguments || !drop[p.Name] {
			changes = append(changes, p)
		}
	}
	return changes
}

// changing describes where the texts of a change are from.
func changing(g hitl.Change) (all []Effect) {
	name := safetext.Word(g.Name, maxWord)
	if g.Source != "" {
		all = append(all, Effect{Text: fmt.Sprintf("What %s has now is as %s returned it", name, safetext.Word(g.Source, 2*maxWord))})
	}
	if g.Before != "" && g.After != "" && strings.HasSuffix(g.Before, "\n") != strings.HasSuffix(g.After, "\n") {
		all = append(all, Effect{Text: "Only one of the two texts of " + name + " ends in a newline"})
	}
	return all
}

// An edit is a text of the arguments that another one replaces.
type edit struct {
	name          string
	before, after Part
}

// replaced are the names of such texts, the old one first, in small letters and without underscores.
var replaced = [][2]string{
	{"oldtext", "newtext"}, {"oldstring", "newstring"}, {"oldstr", "newstr"}, {"oldcontent", "newcontent"}, {"oldvalue", "newvalue"},
	{"search", "replace"}, {"find", "replace"}, {"before", "after"},
}

// edits returns the pairs of texts in the arguments that have the same place.
func edits(all []Part) (found []edit) {
	split := func(p Part) (place, name string) {
		at := strings.LastIndexByte(p.Name, '.') + 1
		return p.Name[:at], strings.ToLower(strings.ReplaceAll(p.Name[at:], "_", ""))
	}
	for _, before := range all {
		place, name := split(before)
		i := slices.IndexFunc(replaced, func(pair [2]string) bool { return pair[0] == name })
		if i < 0 || before.Group != Arguments || !before.isText {
			continue
		}
		for _, after := range all {
			its, as := split(after)
			if its == place && as == replaced[i][1] && after.Group == Arguments && after.isText {
				found = append(found, edit{strings.TrimSuffix(place, "."), before, after})
				break
			}
		}
	}
	for i := range found {
		if found[i].name == "" {
			found[i].name = "the text"
		}
	}
	return found
}

// mailed puts whom a message goes to, what it is about and its text before what else is sent with it.
func (c *call) mailed(all []Part) {
	if !slices.Contains(sending, c.verb) {
		return
	}
	rank := func(p Part) int {
		name, _, _ := strings.Cut(p.Name, "[")
		i := slices.Index(ofMessages, name)
		if i < 0 || p.Group != Arguments {
			return len(ofMessages)
		}
		return i
	}
	slices.SortStableFunc(all, func(a, b Part) int { return rank(a) - rank(b) })
}

// copies are the members that name further recipients of a message.
var copies = []string{"cc", "bcc"}

// ofMessages are the members of a message in the order in which they are read.
var ofMessages = slices.Concat(recipients, copies, about[:2], about[2:])

// maxLeaves is how many values of an object are seen at a glance.
const maxLeaves = 6

// mapOf describes what a member of the arguments holds that is an object or a list of objects, if it has many values, and
// is "" for others.
func mapOf(m strictjson.Member) string {
	if len(value(nil, Arguments, "", m.Value, 1)) <= maxLeaves {
		return ""
	}
	list, isObject := strictjson.Members(m.Value)
	if isObject && len(list) > 0 {
		return fmt.Sprintf("%s has %s: %s", safetext.Word(m.Name, maxWord), count(len(list), "member"), namesOf(list))
	}
	var elements []json.RawMessage
	if json.Unmarshal(m.Value, &elements) != nil || len(elements) < 2 {
		return ""
	}
	if list, isObject = strictjson.Members(elements[0]); !isObject {
		return ""
	}
	return fmt.Sprintf("%s has %s; the first one has %s", safetext.Word(m.Name, maxWord), count(len(elements), "element"), namesOf(list))
}

// namesOf names the first members, and how many more there are.
func namesOf(list []strictjson.Member) string {
	const most = 6
	var names []string
	for _, m := range list[:min(len(list), most)] {
		names = append(names, safetext.Word(m.Name, maxWord))
	}
	text := strings.Join(names, ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
