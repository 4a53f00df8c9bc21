package preflight

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/fairlead-go/fairlead/middleware"
)

// deciding are the fields that arguments decide. The others are the tool's.
var deciding = []annotation.Field{
	annotation.ReadOnlyHint, annotation.DestructiveHint, annotation.IdempotentHint, annotation.RequiresConfirmation,
}

// over lays a verdict of the host's over what is known of the tool. What the verdict
// leaves open nobody knows.
func (v Verdict) over() callstate.Over {
	layer := hints(v.Annotations)
	if layer.Safety() == annotation.Unknown {
		layer.RequiresConfirmation = annotation.Yes // so that the reason is shown
	}
	layer = layer.Attribute(annotation.Rule, "")
	for i := range layer.Evidence {
		layer.Evidence[i].Word, layer.Evidence[i].Place = cut(v.Why, maxReason), "among the arguments"
	}
	return func(a annotation.Annotations) annotation.Annotations {
		return annotation.Merge(a.Without(deciding...), layer)
	}
}

// hints returns what decides the class, and the open world.
func hints(a annotation.Annotations) annotation.Annotations {
	return annotation.Annotations{
		ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld,
		RequiresConfirmation: a.RequiresConfirmation,
	}
}

// layer completes a server's answer: what it leaves out counts with MCP's default,
// which is the strictest there is. It returns the hints in which the answer is worse
// than what the tool declares for every call.
func layer(tool *middleware.Tool, answer annotation.Annotations) (complete annotation.Annotations, worse []annotation.Field) {
	a := hints(answer)
	if a.RequiresConfirmation == annotation.No { // it is no hint of MCP's, and can only be added
		a.RequiresConfirmation = annotation.Unset
	}
	declared, _ := annotation.FromTool(tool.Definition) // what it cannot say it does not promise
	worse = resolution.Exceeds(declared, a)
	d := a.Defaults()
	complete = a
	complete.ReadOnly, complete.OpenWorld = d.ReadOnly, d.OpenWorld
	if a.ReadOnly != annotation.Yes { // of a read the other two say nothing
		complete.Destructive, complete.Idempotent = d.Destructive, d.Idempotent
	}
	said := a.Attribute(annotation.Resolved, tool.Server)
	complete = complete.Attribute(annotation.Resolved, tool.Server)
	for i := range complete.Evidence {
		e := &complete.Evidence[i]
		_, spoken := said.EvidenceOf(e.Field)
		switch {
		case slices.Contains(worse, e.Field):
			e.Place = "for these arguments, against what it declares of all"
		case spoken:
			e.Place = "for these arguments"
		default:
			e.Place = "left it out, so MCP's default counts"
		}
	}
	return complete, worse
}

// raising lays an answer over what is known, to the stricter side only.
func raising(layer annotation.Annotations) callstate.Over {
	return func(a annotation.Annotations) annotation.Annotations { return annotation.Raise(a, layer) }
}

// believing lays a trusted server's answer over what is known. What the host itself
// said of the tool it does not lower.
func believing(layer annotation.Annotations) callstate.Over {
	return func(a annotation.Annotations) annotation.Annotations {
		return annotation.Raise(annotation.Merge(a, layer), hosts(a))
	}
}

// hosts returns what the host said of the deciding fields.
func hosts(a annotation.Annotations) annotation.Annotations {
	var others []annotation.Field
	for _, f := range append(slices.Clone(deciding), annotation.OpenWorldHint) {
		if source := a.SourceOf(f); source != annotation.Host && source != annotation.Rule {
			others = append(others, f)
		}
	}
	word := hints(a)
	word.Evidence = a.Evidence
	return word.Without(others...)
}

// unanswered is what becomes of a call whose server failed to answer. The static
// class stands where somebody stated it; where it is only inferred, a person is
// asked and sees what happened.
func unanswered(tool *middleware.Tool, said string) callstate.Over {
	declared, _ := annotation.FromTool(tool.Definition)
	if stated(declared) || stated(hosts(tool.Annotations)) {
		return nil
	}
	ask := annotation.Annotations{RequiresConfirmation: annotation.Yes}.Attribute(annotation.Resolved, tool.Server)
	ask.Evidence[0].Word, ask.Evidence[0].Place = said, "came instead of an answer"
	return raising(ask)
}

// stated reports whether a says anything of what a call does.
func stated(a annotation.Annotations) bool {
	return a.ReadOnly != annotation.Unset || a.Destructive != annotation.Unset || a.RequiresConfirmation != annotation.Unset
}

// How long a text of somebody else's may be: among the reasons, where it is shown
// quoted, and in an error that tells the model what is wrong.
const (
	maxReason  = 200
	maxMessage = 2000
)

// cut returns the beginning of a text, marked as such.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
