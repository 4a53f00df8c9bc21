package terminal

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/safetext"
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

// numbers reads "1 3" or "1,3". It returns nil if a number is not one from 1 to most.
func numbers(text string, most int) (picked map[int]bool, isNumbers bool) {
	picked = make(map[int]bool)
	known := true
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, false
		}
		known = known && 1 <= n && n <= most
		picked[n] = true
	}
	if !known {
		return nil, true
	}
	return picked, len(picked) > 0
}
