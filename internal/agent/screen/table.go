package screen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/internal/escape"
)

// Tools draws the table of what is known of each tool and what will be done with
// its calls.
func (t *transcript) Tools(tools []Tool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	head := Tool{Name: "tool", Declared: "declared", Inferred: "inferred", Class: "class", Will: "so the chain will"}
	var w [4]int
	for _, row := range append([]Tool{head}, tools...) {
		for i, cell := range row.cells() {
			w[i] = min(max(w[i], wide(cell)), [...]int{24, 12, 14, 9}[i])
		}
	}
	const leastWill = 20
	w[0] = max(8, min(w[0], t.width-w[1]-w[2]-w[3]-11-leastWill))
	t.names = w[0]
	will := max(t.width-w[0]-w[1]-w[2]-w[3]-11, leastWill)
	t.linef("")
	t.row(head, w, will, dim, dim)
	t.linef("%s", t.paint(dim, strings.Repeat("─", min(t.width, w[0]+w[1]+w[2]+w[3]+11+widest(tools, will)))))
	for _, row := range tools {
		t.row(row, w, will, bold, classColour(row.Class))
	}
}

func (r Tool) cells() [4]string {
	return [4]string{escape.Line(r.Name), r.Declared, r.Inferred, r.Class}
}

func (t *transcript) row(r Tool, w [4]int, will int, name, class paint) {
	c := r.cells()
	dot := "●"
	if r.Class == "class" {
		dot = " "
	}
	lines := wrap(r.Will, will)
	t.linef("%s  %s  %s  %s  %s",
		t.paint(name, pad(fit(c[0], w[0]), w[0])), t.paint(dim, pad(fit(c[1], w[1]), w[1])), pad(fit(c[2], w[2]), w[2]),
		t.paint(class, dot+" "+pad(c[3], w[3])), lines[0])
	for _, more := range lines[1:] {
		t.linef("%s%s", strings.Repeat(" ", w[0]+w[1]+w[2]+w[3]+10), more)
	}
}

func widest(tools []Tool, limit int) int {
	n := 0
	for _, r := range tools {
		for _, line := range wrap(r.Will, limit) {
			n = max(n, wide(line))
		}
	}
	return n
}

func classColour(class string) paint {
	switch class {
	case "safe":
		return green
	case "moderate":
		return yellow
	case "dangerous":
		return red
	case "class":
		return dim
	}
	return purple
}

// Summary draws the figures of the run.
func (t *transcript) Summary(c Counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wipe()
	cells := []struct {
		name  string
		value int
		paint paint
	}{
		{"calls", c.Calls, bold},
		{"server", c.ServerCalls, bold},
		{"memory", c.CacheHits, green},
		{"retries", c.Retries, yellow},
		{"asked", c.Asked, bold},
		{"allowed", c.Allowed, green},
		{"denied", c.Denied, red},
		{"waited", c.Waited, yellow},
		{"limited", c.Limited, yellow},
		{"unknown", c.Unknown, yellow},
	}
	var names, values strings.Builder
	for _, cell := range cells {
		w := wide(cell.name)
		names.WriteString(cell.name + " ")
		value := fmt.Sprintf("%*d", w, cell.value)
		if cell.value > 0 {
			value = t.paint(cell.paint, value)
		}
		values.WriteString(value + " ")
	}
	t.linef("")
	t.linef("%s", t.paint(dim, strings.TrimRight(names.String(), " ")))
	t.linef("%s", strings.TrimRight(values.String(), " "))
}

// Ledger says what the server itself wrote down.
func (t *transcript) Ledger(l Ledger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.linef("")
	switch {
	case l.Effects == 0:
		t.linef("%s nothing was changed: the server's ledger is empty", t.paint(green, "✓"))
	case len(l.Twice) == 0:
		t.linef("%s no effect happened twice: the server's ledger has %s, each one once", t.paint(green, "✓"), plural(l.Effects, "effect"))
	}
	for _, e := range l.Twice {
		t.linef("%s happened more than once: %s", t.paint(red, "✗"), escape.Line(e))
	}
	t.linef("%s %s", t.paint(dim, "  in"), escape.Line(l.Folder))
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
