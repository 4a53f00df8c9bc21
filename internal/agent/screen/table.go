package screen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/internal/tty"
	"github.com/fairlead-go/fairlead/safetext"
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
			w[i] = min(max(w[i], tty.Wide(cell)), [...]int{24, 12, 14, 9}[i])
		}
	}
	const leastWill = 20
	w[0] = max(8, min(w[0], t.Width-w[1]-w[2]-w[3]-11-leastWill))
	t.names = w[0]
	will := max(t.Width-w[0]-w[1]-w[2]-w[3]-11, leastWill)
	t.linef("")
	t.row(head, w, will, tty.Dim, tty.Dim)
	t.linef("%s", t.Paint(tty.Dim, strings.Repeat("─", min(t.Width, w[0]+w[1]+w[2]+w[3]+11+widest(tools, will)))))
	for _, row := range tools {
		t.row(row, w, will, tty.Bold, classColour(row.Class))
	}
}

func (r Tool) cells() [4]string {
	return [4]string{safetext.Line(r.Name), r.Declared, r.Inferred, r.Class}
}

func (t *transcript) row(r Tool, w [4]int, will int, name, class tty.Paint) {
	c := r.cells()
	dot := "●"
	if r.Class == "class" {
		dot = " "
	}
	lines := tty.Wrap(r.Will, will)
	t.linef("%s  %s  %s  %s  %s",
		t.Paint(name, tty.Pad(tty.Fit(c[0], w[0]), w[0])), t.Paint(tty.Dim, tty.Pad(tty.Fit(c[1], w[1]), w[1])), tty.Pad(tty.Fit(c[2], w[2]), w[2]),
		t.Paint(class, dot+" "+tty.Pad(c[3], w[3])), lines[0])
	for _, more := range lines[1:] {
		t.linef("%s%s", strings.Repeat(" ", w[0]+w[1]+w[2]+w[3]+10), more)
	}
}

func widest(tools []Tool, limit int) int {
	n := 0
	for _, r := range tools {
		for _, line := range tty.Wrap(r.Will, limit) {
			n = max(n, tty.Wide(line))
		}
	}
	return n
}

func classColour(class string) tty.Paint {
	switch class {
	case "safe":
		return tty.Green
	case "moderate":
		return tty.Yellow
	case "dangerous":
		return tty.Red
	case "class":
		return tty.Dim
	}
	return tty.Purple
}

// Summary draws the figures of the run.
func (t *transcript) Summary(c Counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wipe()
	cells := []struct {
		name  string
		value int
		paint tty.Paint
	}{
		{"calls", c.Calls, tty.Bold},
		{"server", c.ServerCalls, tty.Bold},
		{"memory", c.CacheHits, tty.Green},
		{"retries", c.Retries, tty.Yellow},
		{"asked", c.Asked, tty.Bold},
		{"allowed", c.Allowed, tty.Green},
		{"denied", c.Denied, tty.Red},
		{"waited", c.Waited, tty.Yellow},
		{"limited", c.Limited, tty.Yellow},
		{"unknown", c.Unknown, tty.Yellow},
	}
	var names, values strings.Builder
	for _, cell := range cells {
		w := tty.Wide(cell.name)
		names.WriteString(cell.name + " ")
		value := fmt.Sprintf("%*d", w, cell.value)
		if cell.value > 0 {
			value = t.Paint(cell.paint, value)
		}
		values.WriteString(value + " ")
	}
	t.linef("")
	t.linef("%s", t.Paint(tty.Dim, strings.TrimRight(names.String(), " ")))
	t.linef("%s", strings.TrimRight(values.String(), " "))
}

// Ledger says what the server itself wrote down.
func (t *transcript) Ledger(l Ledger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.linef("")
	switch {
	case l.Effects == 0:
		t.linef("%s nothing was changed: the server's ledger is empty", t.Paint(tty.Green, "✓"))
	case len(l.Twice) == 0:
		t.linef("%s no effect happened twice: the server's ledger has %s, each one once", t.Paint(tty.Green, "✓"), plural(l.Effects, "effect"))
	}
	for _, e := range l.Twice {
		t.linef("%s happened more than once: %s", t.Paint(tty.Red, "✗"), safetext.Line(e))
	}
	t.linef("%s %s", t.Paint(tty.Dim, "  in"), safetext.Line(l.Folder))
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
