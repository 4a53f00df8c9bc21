package plan

import (
	"fmt"
	"strings"
)

// reportFile is where the planner writes what it did.
const reportFile = "REPORT.md"

// reportAction writes the report. An older one is only overwritten by somebody's
// leave; without it the report gets a name that is free.
func (t *Tidy) reportAction(exists bool) action {
	if exists {
		a := t.writing("write_file", reportFile, "the report is new, the one that is there is old")
		a.then = (*Tidy).reportElsewhere
		return a
	}
	return t.writing("create_file", reportFile, "so that you can see what was done")
}

func (t *Tidy) reportElsewhere() {
	for n := 2; ; n++ {
		name := fmt.Sprintf("REPORT-%d.md", n)
		if !t.find.files.has(name) {
			t.todo = append(t.todo, t.writing("create_file", name, "the old report stays as it is"))
			return
		}
	}
}

func (t *Tidy) writing(tool, name, why string) action {
	text := t.report(name)
	call := request(tool, map[string]any{"path": name, "text": text})
	call.Why = why
	return action{
		call: call, want: "write " + name, did: "wrote " + name, why: why, report: true,
		look: request("read_file", map[string]any{"path": name}), happened: written(text),
	}
}

// report says what came of every action, as it really came out. It is going to
// stand in the file name.
func (t *Tidy) report(name string) string {
	var b strings.Builder
	b.WriteString("# What was done here\n")
	section(&b, "Done", t.deeds(Done), "Nothing.")
	section(&b, "Denied: a person, or the rule that stands for one, said no", t.deeds(Denied), "")
	section(&b, "Unknown: look at these yourself", t.deeds(Unknown), "")
	section(&b, "Failed", append(append(t.deeds(Failed), t.deeds(Errored)...), t.deeds(Limited)...), "")
	var left []string
	for _, n := range t.left {
		left = append(left, quoted(n.path)+": "+n.why)
	}
	section(&b, "Left alone: not sure", left, "")
	var now []string
	for _, e := range t.find.files {
		if !e.Folder && e.Path != name {
			now = append(now, quoted(e.Path))
		}
	}
	section(&b, "What is here now, beside this report", now, "Nothing.")
	return b.String()
}

// deeds returns the lines of the actions that came out as state.
func (t *Tidy) deeds(state State) []string {
	var lines []string
	for _, d := range t.done {
		if d.state != state {
			continue
		}
		line := d.want + ": " + d.why
		switch state {
		case Done:
			line = d.did + ": " + d.why
			if d.kept != "" {
				line += " (kept as " + quoted(d.kept) + ")"
			}
		case Failed, Errored, Limited:
			line += " (" + firstLine(d.said) + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

func section(b *strings.Builder, title string, lines []string, none string) {
	if len(lines) == 0 {
		if none != "" {
			fmt.Fprintf(b, "\n## %s\n\n%s\n", title, none)
		}
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	for _, line := range lines {
		fmt.Fprintf(b, "- %s\n", line)
	}
}

func quoted(name string) string { return "`" + name + "`" }

func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}
