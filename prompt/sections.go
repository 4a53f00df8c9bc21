package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/toolname"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// maxDescription is how many bytes of a server's description are shown.
const maxDescription = 200

// An entry is one tool as it is shown.
type entry struct {
	name, description string
	openWorld         bool
	class             annotation.Safety
}

// line returns the entry's line in its section. It never breaks, and the quotes,
// tags and fences of a description do not leave it.
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

// quote escapes, beyond what [safetext.Line] does, what means something to those who
// read markup: the quote that ends the description, tags, and fences.
var quote = strings.NewReplacer(`"`, `\"`, "<", `\x3c`, "```", `\x60\x60\x60`)

// A section is the tools of one class.
type section struct {
	tools     []entry // sorted by name
	shown     int     // so many of them are listed
	described bool    // with their descriptions
}

// sections are the tools by class.
type sections [4]section

// has reports whether there are tools of one of the classes.
func (s *sections) has(classes ...annotation.Safety) bool {
	return slices.ContainsFunc(classes, func(c annotation.Safety) bool { return len(s[c].tools) > 0 })
}

func (s *sections) count() (n int) {
	for i := range s {
		n += len(s[i].tools)
	}
	return n
}

// byClass puts the tools into their sections, in an order that does not depend on
// theirs.
func byClass(tools []*middleware.Tool, name func(*middleware.Tool) string) *sections {
	var entries []entry
	for _, tool := range tools {
		if tool.Name() == "" {
			continue
		}
		entries = append(entries, entry{
			name:        nameOf(tool, name),
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
		to.tools = append(to.tools, e)
		to.shown, to.described = len(to.tools), true
	}
	return s
}

// nameOf is what the model calls the tool by. No name can hold what a reader takes
// for something else.
func nameOf(tool *middleware.Tool, own func(*middleware.Tool) string) string {
	if own != nil {
		if name := own(tool); toolname.Check(name) == nil {
			return name
		}
	}
	return tool.ModelName()
}

// danger orders the classes, the most dangerous first.
func danger(s annotation.Safety) int {
	return slices.Index([]annotation.Safety{annotation.Dangerous, annotation.Unknown, annotation.Moderate, annotation.Safe}, s)
}

// strip leaves out the descriptions, where that makes the section shorter.
func (s *section) strip(int) {
	saved := 0
	for i := range s.tools {
		saved += len(s.tools[i].line(true)) - len(s.tools[i].line(false))
	}
	s.described = saved <= len(stripped)
}

const stripped = " For want of room they are listed without descriptions."

// drop leaves out tools from the end until at least excess bytes are gone. The line
// that counts them needs some as well.
func (s *section) drop(excess int) {
	if s.shown > 0 {
		excess += len(more(len(s.tools)))
	}
	for excess > 0 && s.shown > 0 {
		s.shown--
		excess -= len(s.tools[s.shown].line(s.described)) + 1
	}
}

func more(n int) string { return fmt.Sprintf("… and %d more\n", n) }

// write appends the section under its heading, and nothing where it has no tools.
func (s *section) write(b *strings.Builder, heading, means string) {
	if len(s.tools) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s: %d\n\n%s", heading, len(s.tools), means)
	if !s.described {
		b.WriteString(stripped)
	}
	b.WriteString("\n\n```text\n")
	for i := range s.shown {
		b.WriteString(s.tools[i].line(s.described) + "\n")
	}
	if n := len(s.tools) - s.shown; n > 0 {
		b.WriteString(more(n))
	}
	b.WriteString("```\n")
}
