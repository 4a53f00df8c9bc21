package screen

import (
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/internal/tty"
	"github.com/fairlead-go/fairlead/safetext"
)

const barWidth = 24

// Progress draws the bar of the call that is under way. Without a terminal there
// is nothing to draw on.
func (t *transcript) Progress(p Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.barStyle.Live {
		return
	}
	t.drawn = true
	fmt.Fprintf(t.bar, "\r\x1b[K  %s", draw(t.barStyle, p))
}

// draw returns the bar, or what there is to say where no total is known.
func draw(s tty.Style, p Progress) string {
	message := safetext.Line(p.Message)
	if p.Total <= 0 {
		return s.Paint(tty.Dim, tty.Fit(fmt.Sprintf("%g %s", p.Done, message), s.Width-4))
	}
	share := min(max(p.Done/p.Total, 0), 1)
	full := int(share * barWidth)
	return s.Paint(tty.Green, strings.Repeat("█", full)) + s.Paint(tty.Dim, strings.Repeat("░", barWidth-full)) +
		fmt.Sprintf(" %3.0f%% ", share*100) + s.Paint(tty.Dim, tty.Fit(message, s.Width-barWidth-12))
}

// wipe takes the bar away.
func (t *transcript) wipe() {
	if t.drawn {
		fmt.Fprint(t.bar, "\r\x1b[K")
		t.drawn = false
	}
}

// freeze leaves the bar of a call that is done as a line of its own, and takes
// away any other.
func (t *transcript) freeze(done bool) {
	if t.drawn && done && t.Live {
		fmt.Fprintf(t.bar, "\r\x1b[K  %s\n", draw(t.barStyle, Progress{Done: 1, Total: 1, Message: string(plan.Done)}))
		t.drawn = false
	}
	t.wipe()
}
