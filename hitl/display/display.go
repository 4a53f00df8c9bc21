// Package display makes what a person is shown of a call before they decide, for all places where people are asked: the
// terminal, the page, the client's form and a host's own. [Of] has the texts in the order of reading: one
// sentence, one warning, who asks, what is sent. [Question.Fit] lays the values out for a place, and decides whether all
// of them are in sight there: without that nothing is approved.
package display

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// A Question is what a person is shown of a request, in the order of its fields. All its texts are safe to show, and on
// one line unless the field states otherwise.
type Question struct {
	// Sentence is what is done after an approval, with its object. It takes no more from the tool's name than its class
	// bears out, and quotes whatever is not one plain word.
	Sentence string
	// Warning is the most important of what is known against the call, "" for nothing. It belongs beside the sentence.
	Warning string
	Asker   string // who asks, for whom, since when
	// Effects are the further warnings, and sum up what the values come to: the commands of a command line, the tables of a
	// statement, the amounts.
	Effects []Effect
	Parts   []Part // all that an approval is about, with what changes first

	// The details, which belong one step deeper.

	Tool, Class string
	Reasons     []string // what the class rests on, and the sources of the arguments
	Does        string   // the server's description, in lines of its own: its words, not what is known
	Why, Undo   string   // the host's words, in lines of their own
	Suggestion  string
}

// maxTool is how many bytes of a tool's name are shown where it is one of several words.
const maxTool = 300

// Of returns what a person is shown of a request.
func Of(r hitl.Request) Question {
	q := Question{
		Parts: partsOf(r), Tool: safetext.Word(r.Tool.String(), maxTool), Class: r.Tool.Safety().String(), Does: safetext.Text(r.Tool.Definition.Description),
		Why: safetext.Text(r.Why), Undo: safetext.Text(r.Undo), Suggestion: r.Suggestion, Asker: asker(r), Sentence: sentence(r),
	}
	c := callOf(r)
	for i, w := range warnings(r) {
		if i == 0 {
			q.Warning = w
			continue
		}
		q.Effects = append(q.Effects, Effect{Text: w})
	}
	q.Effects = append(q.Effects, c.strays()...)
	for _, change := range r.Changes {
		q.Effects = append(q.Effects, changing(change)...)
	}
	q.Effects = append(q.Effects, c.overwriting()...)
	q.Effects = append(q.Effects, c.effects()...)
	for _, reason := range r.Reasons() { // the server's words in it are quoted
		q.Reasons = append(q.Reasons, safetext.Line(strings.Join(strings.Fields(reason), " ")))
	}
	return q
}

// Of returns the parts of a group.
func (q Question) Of(group string) (parts []Part) {
	for _, p := range q.Parts {
		if p.Group == group {
			parts = append(parts, p)
		}
	}
	return parts
}

// Size describes how much there is to read: "3 values, 30,117 bytes, 412 lines".
func (q Question) Size() string {
	bytes, lines := 0, 0
	for _, p := range q.Parts {
		bytes, lines = bytes+p.Bytes, lines+p.Lines
	}
	return count(len(q.Parts), "value") + ", " + count(bytes, "byte") + ", " + count(lines, "line")
}

// maxWho is how many bytes of a name are shown of who asks.
const maxWho = 100

// asker describes who asks for what, on one line.
func asker(r hitl.Request) string {
	const most = maxWho
	who := "The agent"
	if r.Client != "" {
		who = safetext.Word(r.Client, most)
	}
	text := who + " asks for " + safetext.Word(r.Tool.String(), 2*most)
	if behalf := Behalf(r.Caller); behalf != "" {
		text += " " + behalf
	}
	if r.Scope != "" && r.Scope != r.Caller.User {
		text += ", in " + safetext.Word(r.Scope, most)
	}
	switch {
	case r.Turn > 0 && r.Turns > 1:
		text += fmt.Sprintf(", call %d of %d of its turn", r.Turn, r.Turns)
	case r.Number > 0:
		text += fmt.Sprintf(", call %d since it connected", r.Number)
	}
	if ago := time.Since(r.Asked); !r.Asked.IsZero() && ago >= time.Second {
		text += ", " + ago.Round(time.Second).String() + " ago"
	}
	return text
}

// maxActors is how many of those who act for a person are named.
const maxActors = 3

// Behalf describes on whose behalf a call is made, on one line with the person first: "on behalf of ann, by a token for
// desk". It is "" if that is not known.
func Behalf(c hitl.Caller) (text string) {
	const most = maxWho
	if c.User != "" {
		text = "on behalf of " + safetext.Word(c.User, most)
	}
	if c.Client != "" {
		text += ", by a token for " + safetext.Word(c.Client, most)
	}
	for i, actor := range slices.Backward(c.Actors) {
		switch {
		case i == len(c.Actors)-1:
			text += ", through " + safetext.Word(actor, most)
		case i == 0 || i > len(c.Actors)-maxActors: // the one that makes the call is named in any case
			text += " and " + safetext.Word(actor, most)
		case i == 1:
			text += " and " + count(len(c.Actors)-maxActors, "other")
		}
	}
	return strings.TrimPrefix(text, ", ")
}
