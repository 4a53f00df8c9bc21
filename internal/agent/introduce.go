package agent

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/internal/agent/screen"
	"github.com/fairlead-go/fairlead/middleware"
)

// introduce says who plans and what there is, before the first call.
func (h *host) introduce(planner plan.Planner) {
	start := screen.Start{Planner: planner.Name(), Server: h.where.name, Folder: h.where.folder, Record: h.audit}
	if _, rules := planner.(*plan.Tidy); rules {
		start.Hint = "set OPENAI_BASE_URL or ANTHROPIC_API_KEY for one"
	}
	h.screen.Start(start)
	h.screen.Tools(h.table())
	for _, f := range h.tools.Findings() {
		h.screen.Problem(f.String())
	}
	for _, text := range h.interrupted {
		h.screen.Problem(text)
	}
}

// table has a row for each tool, the safest first.
func (h *host) table() []screen.Tool {
	tools := h.tools.List()
	slices.SortStableFunc(tools, func(a, b *middleware.Tool) int { return rank(b.Safety()) - rank(a.Safety()) })
	rows := make([]screen.Tool, 0, len(tools))
	for _, tool := range tools {
		declared, inferred := h.tools.Layers(tool)
		rows = append(rows, screen.Tool{
			Name: tool.Name(), Declared: words(declared), Inferred: words(inferred),
			Class: tool.Safety().String(), Will: h.chain.Describe().Will(tool),
		})
	}
	return rows
}

func rank(s annotation.Safety) int {
	return slices.Index([]annotation.Safety{annotation.Unknown, annotation.Dangerous, annotation.Moderate, annotation.Safe}, s)
}

// words says in one or two words what hints say of a tool.
func words(a annotation.Annotations) string {
	var said []string
	switch {
	case a.ReadOnly == annotation.Yes:
		said = append(said, "read-only")
	case a.Destructive == annotation.Yes:
		said = append(said, "destructive")
	case a.ReadOnly == annotation.No || a.Destructive == annotation.No:
		said = append(said, "writes")
	}
	if a.RequiresConfirmation == annotation.Yes {
		said = append(said, "confirm")
	}
	if len(said) == 0 {
		return "—"
	}
	return strings.Join(said, ", ")
}

// unknownTool tells the person what the planner is told.
func (h *host) unknownTool(err error) {
	h.counting.Lock()
	h.errored++
	h.counting.Unlock()
	h.screen.Problem(err.Error())
}

// replOut is where answers are shown to the one who typed the call. With --json
// they are in the events already.
func (h *host) replOut() io.Writer {
	if h.json {
		return h.program.Stderr
	}
	return h.program.Stdout
}

// goalText is what a model is told to do.
func (h *host) goalText() string {
	switch {
	case h.options.goal != "":
		return h.options.goal
	case h.folder != nil:
		return fmt.Sprintf("Tidy the folder: delete what is there twice (one of equal files stays), empty files and outdated backups; " +
			"move loose files into folders by their kind; leave what you are not sure of; write REPORT.md about what really happened, " +
			"what was denied included; list the folder again at the end.")
	}
	return "Look around with the tools that only read, and say what is there."
}
