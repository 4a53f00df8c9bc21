package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
)

// event prints an event as a line of JSON if there is --json, and reports whether there is.
func (o options) event(kind string, v any) bool {
	if o.json {
		raw, _ := json.Marshal(v) // all of it is our own or came as JSON
		fmt.Fprintf(o.out, "{\"event\":%q,%s\n", kind, raw[1:])
	}
	return o.json
}

// introduce prints the planner, and of each tool what is known and what the chain will do.
func (h *host) introduce(planner string) {
	start := map[string]string{"planner": planner, "server": h.server, "record": h.audit}
	if h.folder != nil {
		start["server"], start["folder"] = "files, in memory; it declares nothing about its tools", h.folder.dir
	}
	w := tabwriter.NewWriter(h.out, 0, 0, 2, ' ', 0)
	if !h.event("start", start) {
		for _, name := range []string{"planner", "server", "folder", "record"} {
			if text := start[name]; text != "" {
				fmt.Fprintf(h.out, "%-8s %s\n", name+":", safetext.Line(text))
			}
		}
		fmt.Fprintln(w, "\ntool\tdeclared\tinferred\tclass\tso the chain will")
	}
	tools := h.tools.List()
	slices.SortStableFunc(tools, func(a, b *middleware.Tool) int { return cmp.Compare(b.Safety(), a.Safety()) })
	for _, tool := range tools {
		declared, inferred := h.tools.Layers(tool)
		d, i, class, will := declared.Safety().String(), inferred.Safety().String(), tool.Safety().String(), h.chain.Describe().Plan(tool)
		if !h.event("tool", map[string]string{"tool": tool.Name(), "declared": d, "inferred": i, "class": class, "will": will}) {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", safetext.Line(tool.Name()), d, i, class, will)
		}
	}
	_ = w.Flush() // it fails only if out does
	for _, f := range h.tools.Findings() {
		h.problem(f.String())
	}
}

func (o options) sayf(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !o.event("say", map[string]string{"text": text}) {
		fmt.Fprintln(o.out)
		o.wrapped("›", text)
	}
}

func (o options) problem(text string) {
	if !o.event("problem", map[string]string{"text": text}) {
		o.wrapped("!", text)
	}
}

func (o options) wrapped(mark, text string) {
	for row := range strings.SplitSeq(strings.TrimSpace(safetext.Text(text)), "\n") {
		for _, row := range safetext.Wrap(row, 78) {
			fmt.Fprintln(o.out, mark, strings.TrimRight(row, " "))
			mark = " "
		}
	}
}

// showCall prints a call that has ended, with what the chain recorded on the right.
func (o options) showCall(c *call) {
	var sent, got map[string]any
	if json.Unmarshal(c.Arguments, &sent) != nil && len(c.Arguments) > 0 {
		c.Arguments, _ = json.Marshal(string(c.Arguments)) // it may not even be JSON
	}
	note := strings.TrimSpace(c.text())
	if denial, ok := errors.AsType[*hitl.DeniedError](c.err); ok && denial.Err != nil {
		note = denial.Err.Error() // why nobody answered
	}
	record := map[string]any{
		"outcome": c.outcome(), "class": c.record.Tool.Safety().String(), "cached": c.record.Cached, "attempts": c.record.Attempts,
		"approval": c.record.Approval.ID, "by": c.record.Approval.By, "decisions": c.record.Decisions, "took_ms": c.took.Milliseconds(),
	}
	if o.event("call", map[string]any{"tool": c.Tool, "arguments": c.Arguments, "edited": c.edited, "result": c.result, "text": note, "record": record}) {
		return
	}
	mark := cmp.Or(map[string]string{"ok": "✓", "unknown": "?", "denied": "⊘"}[c.outcome()], "✗")
	if c.outcome() == "ok" && json.Unmarshal([]byte(note), &got) == nil {
		maps.DeleteFunc(got, func(_ string, v any) bool { return v == sent["path"] || v == sent["to"] })
		note = brief(got)
	}
	right := c.facts()
	width := 64 - utf8.RuneCountInString(right)
	left := []rune(strings.TrimSpace(brief(sent) + "  " + safetext.Line(safetext.Cut(note, 1000))))
	if len(left) > width {
		left = append(left[:width-1], '…')
	}
	fmt.Fprintf(o.out, "%s %-11s  %-*s %s\n", mark, safetext.Line(c.Tool), width, string(left), right)
	if mark == "✗" {
		o.wrapped(" ", note)
	}
}

func (c *call) facts() string {
	var facts []string
	for _, d := range c.record.Decisions {
		if d.Stage == "hitl" || d.Stage == "ratelimit" {
			facts = append(facts, d.What)
		}
	}
	if c.edited {
		facts = append(facts, "edited")
	}
	switch {
	case c.record.Cached:
		facts = append(facts, "cache")
	case c.err == nil:
		facts = append(facts, "server")
	}
	if c.record.Attempts > 1 {
		facts = append(facts, count(c.record.Attempts, "attempt"))
	}
	return strings.Join(append(facts, fmt.Sprintf("%3dms", c.took.Milliseconds())), " · ")
}

func brief(object map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		part := fmt.Sprint(object[name])
		if list, ok := object[name].([]any); ok {
			part = fmt.Sprintf("%d %s", len(list), name)
		} else if len(part) > 40 || strings.Contains(part, "\n") {
			part = fmt.Sprintf("%s of %d bytes", name, len(part))
		}
		parts = append(parts, part)
	}
	return safetext.Line(strings.Join(parts, ", "))
}

// showLedger reports whether each effect happened once.
func (o options) showLedger(f *folder) bool {
	twice := []string{}
	for call, times := range f.ledger {
		if times > 1 {
			twice = append(twice, call)
		}
	}
	text := fmt.Sprintf("✓ no effect happened twice: the server's ledger has %s, each one once", count(len(f.ledger), "effect"))
	if len(twice) > 0 {
		text = fmt.Sprintf("✗ happened more than once: %q", twice)
	}
	if !o.event("ledger", map[string]any{"effects": len(f.ledger), "twice": twice, "folder": f.dir}) {
		fmt.Fprintf(o.out, "\n%s\n  in %s\n", text, safetext.Line(f.dir))
	}
	return len(twice) == 0
}

func (o options) showCounts(c counts) {
	if !o.event("summary", c) {
		fmt.Fprintln(o.out, "\ncalls server memory retries asked allowed denied waited limited unknown")
		fmt.Fprintf(o.out, "%5d %6d %6d %7d %5d %7d %6d %6d %7d %7d\n", c.Calls, c.ServerCalls, c.CacheHits, c.Retries, c.Asked, c.Allowed, c.Denied, c.Waited, c.Limited, c.Unknown)
	}
}

func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
