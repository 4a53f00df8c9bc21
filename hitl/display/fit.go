package display

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// A Limit is how much a place has room for; a field that is 0 sets none.
type Limit struct {
	Lines   int // in all, of so many Columns
	Columns int // 0 means 80
	Bytes   int // of all values, as they are sent
}

// Missing is what of the values is not in sight, as they are sent. The zero value is nothing.
type Missing struct{ Values, Bytes, Lines int }

// None reports whether nothing is missing. It decides for each surface whether its control approves: what was folded, cut
// or left out, by however little, is approved only where it is in sight.
func (m Missing) None() bool { return m == Missing{} }

// And returns what is missing of both.
func (m Missing) And(n Missing) Missing {
	return Missing{m.Values + n.Values, m.Bytes + n.Bytes, m.Lines + n.Lines}
}

// String states what is missing: "29,920 bytes in 411 lines are not shown".
func (m Missing) String() string {
	if m.None() {
		return "all of it is shown"
	}
	if m.Bytes == 0 {
		return count(m.Values, "empty value") + map[bool]string{true: " is", false: " are"}[m.Values == 1] + " not shown"
	}
	text := count(m.Bytes, "byte") + " in " + count(m.Lines, "line")
	if m.Values > 1 {
		text += " of " + count(m.Values, "value")
	}
	if m.Bytes == 1 {
		return text + " is not shown"
	}
	return text + " are not shown"
}

// Fit returns the parts as they are shown in a place with a limit, and what is missing there. Each value has its share,
// so that a long one does not leave the others out. The zero limit leaves out nothing.
func (q Question) Fit(l Limit) (shown []Part, missing Missing) {
	columns := l.Columns
	if columns == 0 {
		columns = 80
	}
	lineRoom, byteRoom := l.Lines, l.Bytes
	for i, p := range q.Parts {
		lineShare, byteShare := max(lineRoom-(len(q.Parts)-i-1), min(lineRoom, 1)), byteRoom
		if l.Lines == 0 {
			lineShare = 1 << 40
		}
		if l.Bytes == 0 {
			byteShare = 1 << 40
		}
		used := p.cut(lineShare, columns, byteShare)
		lineRoom -= used
		byteRoom -= p.Bytes - p.Left.Bytes
		missing.Values += p.Left.Values
		missing.Bytes += p.Left.Bytes
		missing.Lines += p.Left.Lines
		if lineShare > 0 {
			shown = append(shown, p)
		}
	}
	return shown, missing
}

// cut shortens the part's text to so many lines and bytes, and returns the lines that it takes.
func (p *Part) cut(most, columns, bytes int) int {
	if need := p.height(columns); need <= most && p.Bytes <= bytes {
		return need
	}
	if len([]rune(p.Name)) > columns { // a name is sent, too, and one that long is all that there is room for
		name := p.Name
		p.Name = safetext.Cut(name, columns)
		p.Left = Missing{Values: 1, Bytes: p.Bytes + len(name), Lines: max(p.Lines, 1)}
		p.Block, p.Text = false, ""
		return min(most, 2)
	}
	end, room := 0, most-1 // one is for the name, and for what is missing
	if most <= 1 {
		room = min(most, 1)
		columns = max(columns-len(p.Name)-40, 8)
	}
	if p.marks != nil {
		p.condense()
		columns -= 2
		room -= len(p.gaps)
		if most <= 1 { // a line without its mark could be taken for another
			room = 0
		}
	}
	row, column := 1, 0
	for i, r := range p.value {
		width := len(safetext.Line(string(r)))
		if r > 0x7f && width <= 4 {
			width = 2
		}
		if column += width; r != '\n' && column > columns {
			row, column = row+1, width
		}
		size := i + utf8.RuneLen(r)
		if r == utf8.RuneError { // a byte that is not UTF-8, or the character itself
			_, n := utf8.DecodeRuneInString(p.value[i:])
			size = i + n
		}
		if row > room || size > bytes {
			break
		}
		if end = size; r == '\n' { // which ends its own row
			row, column = row+1, 0
		}
	}
	switch left := p.value[end:]; {
	case left == "" && most < 1: // its name is sent all the same
		p.Left = Missing{Values: 1, Lines: 1}
	case left != "":
		p.Left = Missing{Values: 1, Bytes: p.Left.Bytes + len(left), Lines: p.Left.Lines + max(lines(left), 1)}
	}
	p.show(strings.TrimSuffix(p.value[:end], "\n"))
	if most <= 1 || p.marks != nil && end == 0 {
		p.Block, p.Text = false, safetext.Quote(p.value[:end], 0)
		return most
	}
	p.Block = true
	return most
}

// height is how many lines the part takes.
func (p *Part) height(columns int) int {
	if !p.Block {
		return max(1, (len([]rune(p.Name))+2+len([]rune(p.Text))+columns-1)/columns)
	}
	return max(1, (len([]rune(p.Name))+columns-1)/columns) + len(p.Rows(columns))
}

// count writes a number of things: "1 byte", "29,920 bytes".
func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text + " " + of + "s"
}

// size writes a number of bytes for a sentence: "512 bytes", "30.1 KB".
func size(n int) string {
	switch {
	case n < 1000:
		return count(n, "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1_000_000)
}
