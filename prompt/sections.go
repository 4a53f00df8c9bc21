package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/middleware"
)

const maxDescription = 200 // bytes of a tool's description

// An entry is one tool in the prompt.
type entry struct {
	name, description string
	openWorld         bool
	class             annotation.Safety
}

// line returns the entry's line in its section, from which quotes, tags and fences cannot escape.
func (e *entry) line(described bool) string {
	line := e.name
	if e.openWorld {
		line += " [open world]"
	}
	if described && e.description != "" {
		line += `: "` + e.description + `"`
	}
	return line
}

// quote escapes, beyond what [safetext.Line] does, the quote that ends the description, tags and fences.
var quote = strings.NewReplacer(`"`, `\"`, "<", `\x3c`, "```", `\x60\x60\x60`)

// A section is the tools of one class.
type section struct {
	Tools     []entry // sorted by name
	shown     int     // so many of them are listed
	described bool    // with their descriptions
}

// First returns the name of the first tool, "" if there is none.
func (s *section) First() string {
	if len(s.Tools) == 0 {
		return ""
	}
	return s.Tools[0].name
}

// Block returns the lines of the tools in a fence, and what was left out.
func (s *section) Block() string {
	var b strings.Builder
	if !s.described {
		b.WriteString(stripped)
	}
	b.WriteString("\n\n```text\n")
	for i := range s.shown {
		b.WriteString(s.Tools[i].line(s.described) + "\n")
	}
	if n := len(s.Tools) - s.shown; n > 0 {
		b.WriteString(more(n))
	}
	b.WriteString("```")
	return b.String()
}

// sections are those of the classes, by class.
type sections [4]section

// Count returns how many tools there are.
func (s *sections) Count() (n int) {
	for i := range s {
		n += len(s[i].Tools)
	}
	return n
}

// OpenWorld reports whether a tool is listed that reaches outside systems.
func (s *sections) OpenWorld() bool {
	return slices.ContainsFunc(s[:], func(sec section) bool {
		return slices.ContainsFunc(sec.Tools[:sec.shown], func(e entry) bool { return e.openWorld })
	})
}

// byClass puts the tools into their sections, in an order that does not depend on theirs.
func byClass(tools []*middleware.Tool, name func(*middleware.Tool) string) *sections {
	var entries []entry
	for _, tool := range tools {
		if tool.Name() == "" {
			continue
		}
		called := tool.ModelName()
		if name != nil {
			if own := name(tool); toolname.Plain(own) {
				called = own
			}
		}
		entries = append(entries, entry{
			name:        called,
			description: safetext.Cut(quote.Replace(safetext.Line(strings.TrimSpace(tool.Definition.Description))), maxDescription),
			openWorld:   tool.Annotations.OpenWorld == annotation.Yes,
			class:       tool.Safety(),
		})
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(danger(a.class), danger(b.class)),
			strings.Compare(a.line(true), b.line(true)))
	})
	entries = slices.CompactFunc(entries, func(a, b entry) bool { return a.name == b.name })
	s := new(sections)
	for _, e := range entries {
		to := &s[e.class]
		to.Tools = append(to.Tools, e)
		to.shown, to.described = len(to.Tools), true
	}
	return s
}

// danger orders the classes, the worst first.
func danger(s annotation.Safety) int {
	return slices.Index([]annotation.Safety{annotation.Dangerous, annotation.Unknown, annotation.Moderate, annotation.Safe}, s)
}

// strip leaves out the descriptions, where that makes the section shorter.
func (s *section) strip(int) {
	saved := 0
	for i := range s.Tools {
		saved += len(s.Tools[i].line(true)) - len(s.Tools[i].line(false))
	}
	s.described = saved <= len(stripped)
}

const stripped = " For want of room they are listed without descriptions."

// drop leaves out tools from the end of the list, and counts them, until that many bytes are saved.
func (s *section) drop(excess int) {
	if s.shown > 0 {
		excess += len(more(len(s.Tools)))
	}
	for excess > 0 && s.shown > 0 {
		s.shown--
		excess -= len(s.Tools[s.shown].line(s.described)) + 1
	}
}

func more(n int) string { return fmt.Sprintf("… and %d more\n", n) }
