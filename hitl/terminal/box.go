package terminal

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/display"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// A box is what a terminal shows of one call. Its rows are so short that the terminal does
// not break them, and it has no right-hand border, since characters differ in width.
type box struct {
	text bytes.Buffer
}

func (b *box) heading(text string) {
	border := "\n  ╭─ "
	for _, text := range safetext.Wrap(text, 75) {
		b.text.WriteString(border + text + "\n")
		border = "  │ "
	}
}

func (b *box) plain(text string) {
	for _, text := range safetext.Wrap(text, 76) {
		b.text.WriteString("  │ " + text + "\n")
	}
}

// row writes a text of one line with its name, unless it is empty.
func (b *box) row(name, text string) {
	for _, text := range safetext.Wrap(text, 63) {
		if len([]rune(name)) > 12 { // it has a row of its own
			b.plain(name)
			name = ""
		}
		fmt.Fprintf(&b.text, "  │ %-12s %s\n", name, text)
		name = ""
	}
}

// part writes a value: beside its name, or if it has lines of its own below it.
func (b *box) part(p display.Part) {
	if !p.Block {
		b.row(p.Name, p.Text)
		return
	}
	b.row(p.Name, p.Size())
	for _, r := range p.Rows(columns) {
		b.text.WriteString("  │   " + r + "\n")
	}
}

// parts writes the values in their groups.
func (b *box) parts(parts []display.Part) {
	group := display.Arguments
	for _, p := range parts {
		if p.Group != group {
			group = p.Group
			b.plain(group + ":")
		}
		b.part(p)
	}
}

func (b *box) bytes() []byte {
	b.text.WriteString("  ╰─\n")
	return b.text.Bytes()
}

// maxDescription is how many bytes of a server's words are among the details; nothing of them is approved.
const maxDescription = 600

// columns is the width of a value's own lines.
const columns = 72

// A depth is how much of a call is shown.
type depth uint8

const (
	first   depth = iota // the sentence, a warning, who asks, and what there is room for
	details              // all of it, with what the class rests on
)

// folded is what there is room for at first.
var folded = display.Limit{Lines: 14, Columns: columns}

// show draws the call: what is done, what is known against it, who asks, and what will be sent. It returns what of that
// it left out: with anything missing the call is not approved.
func (t *terminal) show(request hitl.Request, d depth) display.Missing {
	q, limit := display.Of(request), folded
	if d == details {
		limit = display.Limit{}
	}
	parts, missing := q.Fit(limit)
	b := new(box)
	b.heading(q.Sentence)
	if q.Warning != "" {
		b.plain("! " + q.Warning)
	}
	b.plain(q.Asker)
	b.row("why", safetext.Line(request.Why))
	b.row("undo", safetext.Line(request.Undo))
	b.text.WriteString("  │\n")
	for _, e := range q.Effects {
		b.plain("· " + e.Text)
	}
	b.parts(parts)
	if len(parts) == 0 {
		b.plain("no arguments")
	}
	if !missing.None() {
		b.plain("… " + missing.String() + "; d shows them")
	}
	if d == details {
		b.details(q, request)
	}
	b.offers(request)
	_, _ = t.out.Write(b.bytes()) // a broken terminal gives no answer either, and that is a denial
	return missing
}

// details writes what is one step deeper.
func (b *box) details(q display.Question, request hitl.Request) {
	b.text.WriteString("  │\n")
	b.row("class", q.Class)
	for _, reason := range request.Reasons() { // the server's words in it are quoted
		b.plain(strings.TrimPrefix(reason, "  "))
	}
	b.row("its server", safetext.Cut(safetext.Line(request.Tool.Definition.Description), maxDescription))
	if request.ClientIDs != nil {
		b.row("client", "identifies it by:")
		for _, r := range safetext.JSONRows(request.ClientIDs) {
			b.text.WriteString("  │   " + r + "\n")
		}
	}
	b.plain("as JSON:")
	for _, r := range safetext.JSONRows(request.Arguments) {
		b.text.WriteString("  │   " + r + "\n")
	}
}

// offers writes what may be remembered, each with its key.
func (b *box) offers(request hitl.Request) {
	choices := keyed(request)
	if len(choices) > 0 {
		b.text.WriteString("  │\n")
	}
	for _, c := range choices {
		b.row(key(c), c.Text)
	}
	for _, m := range request.Free {
		b.row("free", safetext.Word(m.Name, columns)+": "+m.String())
	}
	b.row("suggested", request.Suggestion)
}
