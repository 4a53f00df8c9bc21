package screen

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/internal/escape"
)

// Text returns a Screen for a person: a transcript on out, and while a call is
// under way a bar on bar, if that is a terminal.
func Text(out, bar io.Writer, getenv func(string) string) Screen {
	return &transcript{out: out, bar: bar, style: styleOf(out, getenv), barStyle: styleOf(bar, getenv)}
}

type transcript struct {
	style
	mu       sync.Mutex
	out, bar io.Writer
	barStyle style
	drawn    bool // a bar is on the screen
	names    int  // columns of the longest tool name
}

func (t *transcript) linef(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

func (t *transcript) Start(s Start) {
	t.mu.Lock()
	defer t.mu.Unlock()
	planner := "planner: " + s.Planner
	if s.Hint != "" {
		planner += t.paint(dim, " ("+s.Hint+")")
	}
	t.linef("%s", planner)
	t.linef("%s %s", t.paint(dim, "server: "), escape.Line(s.Server))
	if s.Folder != "" {
		t.linef("%s %s", t.paint(dim, "folder: "), escape.Line(s.Folder))
	}
	if s.Record != "" {
		t.linef("%s %s", t.paint(dim, "record: "), escape.Line(s.Record))
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
	for line := range strings.Lines(escape.Text(text)) {
		for _, part := range wrap(line, t.width-2) {
			t.linef("%s %s", t.paint(cyan, "›"), part)
		}
	}
}

func (t *transcript) Problem(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wipe()
	for i, part := range wrap(escape.Line(text), t.width-2) {
		mark := "!"
		if i > 0 {
			mark = " "
		}
		t.linef("%s %s", t.paint(yellow, mark), part)
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
	name := pad(fit(escape.Line(c.Tool), max(t.names, 12)), t.names)
	right := facts(c)
	room := t.width - wide(name) - wide(right) - 5
	args, result := briefArguments(c.Arguments), briefResult(c)
	args, note := share(args, result, room)
	gap := strings.Repeat(" ", max(1, room+2-wide(args)-wide(note)))
	t.linef("%s %s %s%s%s%s", t.paint(colour, mark), t.paint(bold, name), args, t.paint(noteColour(c.State), note), gap, t.paint(dim, right))
	if (c.State == plan.Errored || c.State == plan.Failed) && strings.HasSuffix(note, "…") {
		t.indented(result)
	}
}

// indented shows a text that did not fit on its line in full below it.
func (t *transcript) indented(text string) {
	for _, part := range wrap(text, t.width-4) {
		t.linef("    %s", t.paint(red, part))
	}
}

// share fits what was asked and what came of it into n columns. What was asked
// goes first, as long as the other keeps a third.
func share(args, note string, n int) (string, string) {
	if args != "" && note != "" {
		note = "  " + note
	}
	if wide(args)+wide(note) <= n {
		return args, note
	}
	args = fit(args, max(n-wide(note), n*2/3))
	return args, fit(note, n-wide(args))
}

func mark(s plan.State) (string, paint) {
	switch s {
	case plan.Done:
		return "✓", green
	case plan.Unknown:
		return "?", yellow
	case plan.Denied:
		return "⊘", red
	}
	return "✗", red
}

func noteColour(s plan.State) paint {
	switch s {
	case plan.Done:
		return dim
	case plan.Unknown:
		return yellow
	}
	return red
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
