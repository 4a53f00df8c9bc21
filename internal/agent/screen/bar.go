package screen

import (
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/internal/escape"
)

const barWidth = 24

// Progress draws the bar of the call that is under way. Without a terminal there
// is nothing to draw on.
func (t *transcript) Progress(p Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.barStyle.live {
		return
	}
	t.drawn = true
	fmt.Fprintf(t.bar, "\r\x1b[K  %s", t.barStyle.draw(p))
}

// draw returns the bar, or what there is to say where no total is known.
func (s style) draw(p Progress) string {
	message := escape.Line(p.Message)
	if p.Total <= 0 {
		return s.paint(dim, fit(fmt.Sprintf("%g %s", p.Done, message), s.width-4))
	}
	share := min(max(p.Done/p.Total, 0), 1)
	full := int(share * barWidth)
	return s.paint(green, strings.Repeat("█", full)) + s.paint(dim, strings.Repeat("░", barWidth-full)) +
		fmt.Sprintf(" %3.0f%% ", share*100) + s.paint(dim, fit(message, s.width-barWidth-12))
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
	if t.drawn && done && t.live {
		fmt.Fprintf(t.bar, "\r\x1b[K  %s\n", t.barStyle.draw(Progress{Done: 1, Total: 1, Message: string(plan.Done)}))
		t.drawn = false
	}
	t.wipe()
}
