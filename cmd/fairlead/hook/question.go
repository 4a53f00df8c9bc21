package hook

import (
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
)

// question returns what the person reads in the agent's dialog.
func question(e *event, r hitl.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Fairlead: %s is %s", safetext.Line(e.tool), r.Tool.Safety())
	if why, ok := r.Tool.Annotations.Because(); ok {
		fmt.Fprintf(&b, " (%s)", why)
	}
	if e.agent != "" {
		fmt.Fprintf(&b, ", asked for by the sub-agent %s", safetext.Line(e.agent))
	}
	b.WriteString(".")
	for _, s := range r.Sources {
		if s.Argument == folderArgument {
			continue
		}
		fmt.Fprintf(&b, "\n%s", s)
	}
	if caution := r.Caution(); caution != "" {
		fmt.Fprintf(&b, "\nCaution: %s", caution)
	}
	return b.String()
}

func allowed(t *middleware.Tool) string { return fmt.Sprintf("Fairlead: %s", t.Safety()) }
