package preflight

// How a server's answer about one call is asked for and weighed. The answer is laid over what is known of the tool as
// one more layer of hints: missing hints take MCP's strict defaults ([annotation.Annotations.Defaults]), so an omission
// never lowers a class. Then trust decides how the layer is applied. raising keeps the stricter of both in every field.
// believing lets the layer win, except over what the host itself has set.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/bounded"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Resolver asks a tool's server what a call with exactly these arguments would do. ok is false if the server has not
// offered to answer, and then it was not asked. Missing hints are unset. It returns soon after ctx is done;
// mount.Resolver is one.
//
// An error with a method InvalidArguments() bool that returns true ends the call. One with a method Permanent() bool
// that returns true is not asked again.
type Resolver interface {
	Resolve(ctx context.Context, call middleware.Call) (answer annotation.Annotations, ok bool, err error)
}

// ask asks the call's server, once more where it failed.
func (j *judge) ask(ctx context.Context, call middleware.Call) (answer annotation.Annotations, ok bool, err error) {
	for range attempts {
		answer, ok, err = j.once(ctx, call)
		if ctx.Err() != nil {
			return answer, false, fault.GivenUp(ctx)
		}
		if _, later := middleware.RetryAfter(err); err == nil || later || invalid(err) || middleware.Permanent(err) {
			break
		}
	}
	return answer, ok, err
}

const attempts = 2

// once asks within a time of its own, so that the call keeps its own.
func (j *judge) once(ctx context.Context, call middleware.Call) (annotation.Annotations, bool, error) {
	type answered struct {
		answer annotation.Annotations
		ok     bool
	}
	late := time.Now().Add(j.Timeout)
	a, err := bounded.Do(callstate.Leave(ctx), j.asking, func(ctx context.Context) (a answered, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = j.panicked(ctx, call, "the resolver", v)
			}
		}()
		a.answer, a.ok, err = j.Resolver.Resolve(ctx, call)
		return a, err
	}, nil)
	// Both at once: too late is too late. The context's own timer may not have run yet.
	if !time.Now().Before(late) && (err == nil || errors.Is(err, context.DeadlineExceeded)) {
		return annotation.Annotations{}, false, fmt.Errorf("no answer within %v", j.Timeout)
	}
	return a.answer, a.ok, err
}

// An InvalidArgumentsError reports that the tool's server called the arguments invalid. The call was not sent.
type InvalidArgumentsError struct {
	Tool *middleware.Tool
	Err  error
}

func (e *InvalidArgumentsError) Error() string {
	return fmt.Sprintf("preflight: %s was not called, since its server says that the arguments are invalid; correct them and call again: %s", e.Tool, trim.Bytes(e.Err.Error(), maxMessage))
}

// NotSent reports that the call was not sent.
func (*InvalidArgumentsError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (*InvalidArgumentsError) Permanent() bool { return true }

// ForModel leaves out the server's own words, which may reveal internals.
func (e *InvalidArgumentsError) ForModel() string {
	return e.Tool.ModelName() + " was not called: its server says that the arguments are invalid. Compare them with what the tool takes, and call it again with others."
}

func (e *InvalidArgumentsError) Unwrap() error { return e.Err }

func invalid(err error) bool {
	var e interface{ InvalidArguments() bool }
	return errors.As(err, &e) && e.InvalidArguments()
}

// deciding are the fields that arguments decide. The others are the tool's.
var deciding = []annotation.Field{
	annotation.ReadOnlyHint, annotation.DestructiveHint, annotation.IdempotentHint, annotation.RequiresConfirmation,
}

// over lays a verdict of the host's over what is known of the tool. A field that it leaves open is unknown.
func (v Verdict) over() callstate.Over {
	layer := hints(v.Annotations)
	if layer.Safety() == annotation.Unknown {
		layer.RequiresConfirmation = annotation.Yes // so that the reason is shown
	}
	layer = layer.Attribute(annotation.Rule, "")
	for i := range layer.Evidence {
		layer.Evidence[i].Word, layer.Evidence[i].Place = trim.Bytes(v.Why, maxReason), "among the arguments"
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

// layer completes a server's answer by MCP's strict defaults. Worse are the hints that the tool declares less strict.
func layer(tool *middleware.Tool, answer annotation.Annotations) (complete annotation.Annotations, worse []annotation.Field) {
	a := hints(answer)
	if a.RequiresConfirmation == annotation.No { // it is not a hint of MCP, and can only be added
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

// believing merges a trusted server's answer, which does not lower what the host set of the tool.
func believing(layer annotation.Annotations) callstate.Over {
	return func(a annotation.Annotations) annotation.Annotations {
		return annotation.Raise(annotation.Merge(a, layer), hosts(a))
	}
}

func hosts(a annotation.Annotations) annotation.Annotations {
	var others []annotation.Field
	for _, f := range append(slices.Clone(deciding), annotation.OpenWorldHint) {
		switch a.SourceOf(f) {
		case annotation.Host, annotation.Rule, annotation.Reviewed:
		default:
			others = append(others, f)
		}
	}
	word := hints(a)
	word.Evidence = a.Evidence
	return word.Without(others...)
}

// unanswered is for a server that failed to answer: the static class counts if stated; else a person is asked.
func unanswered(tool *middleware.Tool, said string) callstate.Over {
	declared, _ := annotation.FromTool(tool.Definition)
	if stated(declared) || stated(hosts(tool.Annotations)) {
		return nil
	}
	ask := annotation.Annotations{RequiresConfirmation: annotation.Yes}.Attribute(annotation.Resolved, tool.Server)
	ask.Evidence[0].Word, ask.Evidence[0].Place = said, "came instead of an answer"
	return raising(ask)
}

func stated(a annotation.Annotations) bool {
	return a.ReadOnly != annotation.Unset || a.Destructive != annotation.Unset || a.RequiresConfirmation != annotation.Unset
}

// How long a text of another may be: among the reasons, and in an error for the model.
const (
	maxReason  = 200
	maxMessage = 2000
)
