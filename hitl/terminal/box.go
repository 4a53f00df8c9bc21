package terminal

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// A box is what a terminal shows of one call. Its rows are so short that the terminal does
// not break them, and it has no right-hand border, since characters differ in width.
type box struct {
	most   int // rows of one text
	folded bool

	text bytes.Buffer
}

func (b *box) heading(text string) {
	border := "\n  ╭─ "
	for _, text := range safetext.Wrap(safetext.Line(text), 75) {
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
		fmt.Fprintf(&b.text, "  │ %-12s %s\n", name, text)
		name = ""
	}
}

// rows writes rows up to the most, and how many it left out.
func (b *box) rows(rows []string, what string) {
	for i, r := range rows {
		if i == b.most {
			fmt.Fprintf(&b.text, "  │ … %d more lines of %s; d shows them\n", len(rows)-i, what)
			b.folded = true
			return
		}
		b.text.WriteString("  │   " + r + "\n")
	}
}

func (b *box) bytes() []byte {
	b.text.WriteString("  ╰─\n")
	return b.text.Bytes()
}

// How many lines of arguments are shown at first.
const (
	foldedArguments = 12
	allArguments    = 1 << 20
)

// show draws the call: what it is, why it is asked about, and exactly what will be sent.
// It reports whether nothing was folded.
func (t *terminal) show(request hitl.Request, most int) (whole bool) {
	b := box{most: most}
	b.heading(fmt.Sprintf("%s: %s", request.Tool, request.Tool.Safety()))
	for _, reason := range request.Reasons() { // the server's words in it are quoted
		b.plain(strings.TrimPrefix(reason, "  "))
	}
	b.row("does", safetext.Cut(safetext.Line(request.Tool.Definition.Description), 160))
	b.row("why", safetext.Line(request.Why))
	b.row("undo", safetext.Line(request.Undo))
	b.row("scope", safetext.Line(request.Scope))
	b.row("caution", request.Caution())
	b.rows(safetext.JSONRows(request.Arguments), "arguments")
	if request.Extra != nil {
		b.row("also sent", "with the arguments:")
		b.rows(safetext.JSONRows(request.Extra), "what else is sent")
	}
	if request.ClientIDs != nil && most == allArguments {
		b.row("client", "identifies it by:")
		b.rows(safetext.JSONRows(request.ClientIDs), "the client's identifiers")
	}
	for _, d := range request.Drafts {
		b.row("draft", safetext.Line(d.ID))
		b.rows(safetext.Rows(d.Shown), "this draft")
	}
	for _, c := range request.Choices()[1:] {
		b.row(key(c), c.Text)
	}
	for _, m := range request.Free {
		b.row("free", safetext.Line(m.Name)+": "+m.String())
	}
	b.row("suggested", request.Suggestion)
	_, _ = t.out.Write(b.bytes()) // a broken terminal gives no answer either, and that is a denial
	return !b.folded
}
