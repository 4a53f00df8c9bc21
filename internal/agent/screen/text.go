package screen

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/internal/tty"
	"github.com/fairlead-go/fairlead/safetext"
)

// Text returns a Screen for a person: a transcript on out, and while a call is
// under way a bar on bar, if that is a terminal.
func Text(out, bar io.Writer, getenv func(string) string) Screen {
	return &transcript{out: out, bar: bar, Style: tty.Of(out, getenv), barStyle: tty.Of(bar, getenv)}
}

type transcript struct {
	tty.Style
	mu       sync.Mutex
	out, bar io.Writer
	barStyle tty.Style
	drawn    bool // a bar is on the screen
	names    int  // columns of the longest tool name
}

func (t *transcript) linef(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

func (t *transcript) Start(s Start) {
	t.mu.Lock()
	defer t.mu.Unlock()
	planner := "planner: " + s.Planner
	if s.Hint != "" {
		planner += t.Paint(tty.Dim, " ("+s.Hint+")")
	}
	t.linef("%s", planner)
	t.linef("%s %s", t.Paint(tty.Dim, "server: "), safetext.Line(s.Server))
	if s.Folder != "" {
		t.linef("%s %s", t.Paint(tty.Dim, "folder: "), safetext.Line(s.Folder))
	}
	if s.Record != "" {
		t.linef("%s %s", t.Paint(tty.Dim, "record: "), safetext.Line(s.Record))
	}
}

func (t *transcript) Say(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text == "" {
		return
	}
	t.wipe()
	t.linef("")
	for line := range strings.Lines(safetext.Text(text)) {
		for _, part := range tty.Wrap(line, t.Width-2) {
			t.linef("%s %s", t.Paint(tty.Cyan, "›"), part)
		}
	}
}

func (t *transcript) Problem(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wipe()
	for i, part := range tty.Wrap(safetext.Line(text), t.Width-2) {
		mark := "!"
		if i > 0 {
			mark = " "
		}
		t.linef("%s %s", t.Paint(tty.Yellow, mark), part)
	}
}

// Call draws the line of a call: its mark, what was called with what, what came
// of it, and on the right whether it was asked about, where the answer came from,
// how often it was tried and how long it took.
func (t *transcript) Call(c Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.freeze(c.State == plan.Done)
	mark, colour := mark(c.State)
	name := tty.Pad(tty.Fit(safetext.Line(c.Tool), max(t.names, 12)), t.names)
	right := facts(c)
	room := t.Width - tty.Wide(name) - tty.Wide(right) - 5
	args, result := briefArguments(c.Arguments), briefResult(c)
	args, note := share(args, result, room)
	gap := strings.Repeat(" ", max(1, room+2-tty.Wide(args)-tty.Wide(note)))
	t.linef("%s %s %s%s%s%s", t.Paint(colour, mark), t.Paint(tty.Bold, name), args, t.Paint(noteColour(c.State), note), gap, t.Paint(tty.Dim, right))
	if (c.State == plan.Errored || c.State == plan.Failed) && strings.HasSuffix(note, "…") {
		t.indented(result)
	}
}

// indented shows a text that did not fit on its line in full below it.
func (t *transcript) indented(text string) {
	for _, part := range tty.Wrap(text, t.Width-4) {
		t.linef("    %s", t.Paint(tty.Red, part))
	}
}

// share fits what was asked and what came of it into n columns. What was asked
// goes first, as long as the other keeps a third.
func share(args, note string, n int) (string, string) {
	if args != "" && note != "" {
		note = "  " + note
	}
	if tty.Wide(args)+tty.Wide(note) <= n {
		return args, note
	}
	args = tty.Fit(args, max(n-tty.Wide(note), n*2/3))
	return args, tty.Fit(note, n-tty.Wide(args))
}

func mark(s plan.State) (string, tty.Paint) {
	switch s {
	case plan.Done:
		return "✓", tty.Green
	case plan.Unknown:
		return "?", tty.Yellow
	case plan.Denied:
		return "⊘", tty.Red
	}
	return "✗", tty.Red
}

func noteColour(s plan.State) tty.Paint {
	switch s {
	case plan.Done:
		return tty.Dim
	case plan.Unknown:
		return tty.Yellow
	}
	return tty.Red
}

// facts are what stands on the right of a call's line.
func facts(c Call) string {
	var facts []string
	if c.Answer != "" {
		facts = append(facts, c.Answer)
	}
	if c.Edited {
		facts = append(facts, "edited")
	}
	switch {
	case c.From != "nowhere":
		facts = append(facts, c.From)
	case c.Answer == "":
		facts = append(facts, "not sent")
	}
	if c.Tries > 1 {
		facts = append(facts, fmt.Sprintf("%d tries", c.Tries))
	}
	if c.Waited > 0 {
		facts = append(facts, "waited "+short(c.Waited))
	}
	return strings.Join(append(facts, fmt.Sprintf("%5s", short(c.Took))), " · ")
}
