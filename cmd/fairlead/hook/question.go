package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/display"
	"github.com/fairlead-go/fairlead/middleware"
)

// question returns what the person reads in the agent's dialog, which shows the arguments itself: as package display
// words it, the sentence, what is known against the call, who asks, and what the class rests on.
func question(e *event, r hitl.Request) string {
	q := display.Of(e.shown(r))
	var b strings.Builder
	fmt.Fprintf(&b, "Fairlead: %s", q.Sentence)
	if q.Warning != "" {
		fmt.Fprintf(&b, "\n! %s", q.Warning)
	}
	fmt.Fprintf(&b, "\n%s", q.Asker)
	for _, effect := range q.Effects {
		fmt.Fprintf(&b, "\n· %s", effect.Text)
	}
	fmt.Fprintf(&b, "\nIts class is %s", q.Class)
	if why, ok := r.Tool.Annotations.Because(); ok {
		fmt.Fprintf(&b, " (%s)", why)
	}
	b.WriteString(".")
	for _, s := range r.Sources {
		if warned := s.Rule != "" || s.From == "result" && !s.Trusted; s.Argument != folderArgument && !warned {
			fmt.Fprintf(&b, "\n%s", s)
		}
	}
	return b.String()
}

// shown returns a request as a person is shown it: without the folder, which is not an argument of the agent's, and with
// the language of a shell's command line.
func (e *event) shown(r hitl.Request) hitl.Request {
	var members map[string]json.RawMessage
	if json.Unmarshal(r.Arguments, &members) == nil && members[folderArgument] != nil {
		r.Arguments = e.input
	}
	r.Sources = slices.DeleteFunc(slices.Clone(r.Sources), func(s hitl.Source) bool { return s.Argument == folderArgument })
	if _, _, ofServer := e.server(); !ofServer && deeds[e.tool] == shell {
		tool := *r.Tool
		for _, name := range commandNames {
			tool.Annotations.Conditions = append(slices.Clip(tool.Annotations.Conditions), annotation.Condition{Argument: "/" + name, Language: "shell"})
		}
		r.Tool = &tool
	}
	return r
}

// commandNames are the arguments that the shells of agents take a command line in.
var commandNames = []string{"command", "cmd", "script"}

// asking names who asks for the call of a context: the agent, and its sub-agent if it is one that asks.
func asking(ctx context.Context, _ middleware.Call) string {
	p, ok := ctx.Value(pendingKey{}).(*pending)
	switch {
	case !ok:
		return ""
	case p.event.agent == "":
		return p.event.client.title
	}
	return fmt.Sprintf("the sub-agent %s of %s", p.event.agent, p.event.client.title) // it is escaped where it is shown
}

func allowed(t *middleware.Tool) string { return fmt.Sprintf("Fairlead: %s", t.Safety()) }
