// Package conditions gives a call the class that the conditions of its tool give to its arguments.
package conditions

import (
	"bytes"
	"context"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/languages"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Has reports whether the class of a tool's calls depends on their arguments.
func Has(tool *middleware.Tool) bool { return tool != nil && len(tool.Annotations.Conditions) > 0 }

// Apply returns what the conditions of the call's tool make of exactly its arguments, and why, for people. The
// arguments must be one unambiguous object. A judge reads their texts; it is called again at the executor, where over
// is applied to the accepted tool, whose own conditions count.
func Apply(call *middleware.Call, judge annotation.Judge) (over callstate.Over, why string) {
	arguments := bytes.Clone(call.Arguments) // whatever the caller does to its bytes
	over = func(a annotation.Annotations) annotation.Annotations {
		a, _ = a.For(arguments, showable(judge))
		return a
	}
	return over, call.Tool.Annotations.Decide(arguments, showable(judge)).Why
}

// HasRaising reports whether an argument can make a call of a tool stricter than the tool.
func HasRaising(tool *middleware.Tool) bool {
	return tool != nil && slices.ContainsFunc(tool.Annotations.Conditions, func(c annotation.Condition) bool { return c.OnlyRaises() })
}

// Raise is [Apply] for a host that counts the worst case of each tool: nothing lowers a class, and the conditions that can
// only raise still do. Over is nil if they leave the call as it is.
func Raise(call *middleware.Call, judge annotation.Judge) (over callstate.Over, why string) {
	arguments := bytes.Clone(call.Arguments)
	raise := func(a annotation.Annotations) (annotation.Annotations, string) {
		only := a
		only.Conditions = slices.DeleteFunc(slices.Clone(a.Conditions), func(c annotation.Condition) bool { return !c.OnlyRaises() })
		if raised, d := only.For(arguments, showable(judge)); d.Class < a.Safety() {
			return raised, d.Why
		}
		return a, ""
	}
	if _, why = raise(call.Tool.Annotations); why == "" {
		return nil, ""
	}
	return func(a annotation.Annotations) annotation.Annotations { a, _ = raise(a); return a }, why
}

// showable returns the judge with reasons that may be shown: they may be a part of the text.
func showable(judge annotation.Judge) annotation.Judge {
	return func(language, text string) (annotation.Safety, string) {
		class, why := judge(language, text)
		return class, trim.Bytes(new(redact.Redactor).Text(why), maxReason)
	}
}

// maxReason is how long the reason of a probe may be.
const maxReason = 200

// Mildest returns the class of the least strict call of a tool with these annotations. Reads reports whether there are
// texts of a language that only read.
func Mildest(a annotation.Annotations, reads func(language string) bool) annotation.Safety {
	class, worst, mildest := a.Safety(), annotation.Safe, annotation.Safe
	for i := range a.Conditions {
		c := &a.Conditions[i]
		best := max(c.Absent, c.Other)
		for _, o := range c.Values {
			best = max(best, o.Class)
		}
		if c.Language != "" && !c.OnlyRaises() && len(c.Values) == 0 && reads(c.Language) {
			best = annotation.Safe
		}
		worst, mildest = min(worst, c.Worst()), min(mildest, best)
	}
	if len(a.Conditions) == 0 || worst > class { // the conditions do not account for the class
		return class
	}
	return max(class, mildest)
}

// New is the middleware of a chain that has no other one for the class of a call.
func New(next middleware.ToolCaller) middleware.ToolCaller { return &caller{next} }

type caller struct{ next middleware.ToolCaller }

func (c *caller) Describe() middleware.Description {
	return middleware.Description{Kind: "preflight", Next: c.next, Plan: Will}
}

// Will is what is done with the calls of a tool, "" for nothing.
func Will(tool *middleware.Tool) string {
	if Has(tool) {
		return "judge the arguments"
	}
	return ""
}

// edits judges the arguments that a person edits.
var edits = callstate.JudgeBy(New)

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if !Has(call.Tool) || call.Tool.Definition == nil {
		return c.next.CallTool(ctx, call)
	}
	if callstate.JudgeOf(ctx) == nil {
		ctx = callstate.WithJudge(ctx, edits)
	}
	if _, err := callstate.Form(callstate.Of(ctx), &call); err != nil {
		callstate.Of(ctx).Decide("preflight", "refused", "")
		return nil, err
	}
	over, why := Apply(&call, languages.Judge)
	callstate.Of(ctx).Decide("preflight", "condition", why)
	return c.next.CallTool(callstate.Answer(ctx, &call, over), call)
}
