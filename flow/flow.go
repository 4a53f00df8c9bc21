// Package flow traces where the arguments of a call came from: the user's own words, the host, an earlier result,
// or nowhere known. A call that takes a consequential argument from an untrusted result needs an approval,
// whatever its class, and the person sees the source of each argument.
//
// Most callers put New into the Flow slot of chain.Standard and pass each message of the user to [Tracker.User]:
//
//	tracker := flow.NewTracker(flow.Limits{})
//	std.Flow = flow.New(flow.Options{Tracker: tracker})
//	tracker.User(scope, message)
//
// The middleware only raises: no rule lowers a class. It compares texts, and reads values that a text spells out in words
// or that can be computed from it. It does not see other paraphrases, nor what an image shows.
package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Rule names a reason to ask.
type Rule string

// The rules apply to calls that change something; the first two also to reads that send a value out, as in a URL.
const (
	// UntrustedValue: a consequential argument came from an untrusted result and not from the user. A reference
	// to what the same server has, such as an id that is a field of its result, counts only if the tool spends or
	// binds.
	UntrustedValue Rule = "untrusted-value"
	// UnknownAddress: an address, an account, a credential or a package to install came from nowhere known.
	UnknownAddress Rule = "unknown-address"
	// SensitiveOut: a value that is marked or recognized as sensitive goes to a tool that reaches the open world.
	SensitiveOut Rule = "sensitive-out"
	// Instructed: an untrusted result names the action of the tool, and the user did not.
	Instructed Rule = "instructed"
)

// Options configures [New].
type Options struct {
	// Tracker holds the texts of each session; nil means a new one, without the user's words.
	Tracker *Tracker
	// Session names the session of a call; nil means its scope.
	Session func(ctx context.Context, call middleware.Call) string
	// Trusted reports whether results of a tool count like the user's words; nil means none.
	Trusted func(tool *middleware.Tool) bool
	// Label writes to each result a label with what is known of its integrity and confidentiality, see the function Label;
	// false leaves the labels as the server stated them.
	Label bool
	// Off turns rules off; nil means that all are on.
	Off []Rule
	// Endorse records what a person endorsed where approvals are listed and taken back, and Endorsed returns the IDs
	// of those that are there in a scope. An error means that the value is asked about. Nil keeps them in the tracker
	// alone, see Tracker.Endorsements.
	Endorse  func(ctx context.Context, e Endorsement) error
	Endorsed func(ctx context.Context, scope string) (ids []string, err error)
}

// New returns the middleware for the Flow slot of a chain. Without Tracker.User for a session, UntrustedValue
// asks only about addresses, accounts and credentials, and the rules that compare with the user's words do not
// apply.
func New(o Options) middleware.Middleware {
	t := &tracer{Options: o}
	if t.Tracker == nil {
		t.Tracker = NewTracker(Limits{})
	}
	if t.Session == nil {
		t.Session = func(_ context.Context, call middleware.Call) string { return call.Scope }
	}
	if t.Trusted == nil {
		t.Trusted = func(*middleware.Tool) bool { return false }
	}
	t.tools, _ = lru.New[*mcp.Tool, *profile](maxTools) // its one error is a size of 0 or less
	return func(next middleware.ToolCaller) middleware.ToolCaller { return &caller{t, next} }
}

type caller struct {
	*tracer

	next middleware.ToolCaller
}

func (c *caller) Describe() middleware.Description {
	return middleware.Description{Kind: "flow", Next: c.next}
}

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool == nil || call.Tool.Definition == nil {
		return c.next.CallTool(ctx, call)
	}
	name := c.Session(ctx, call)
	s := c.Tracker.session(name)
	state := callstate.Of(ctx)
	form, err := callstate.Form(state, &call)
	if err != nil {
		return nil, err
	}
	trusted := c.Trusted(call.Tool)
	c.Tracker.input(name, &call, trusted)
	c.renew(ctx, s, call.Scope)
	sources, passes, asked := c.trace(s, &call, form)
	inner, its := ctx, call
	var given json.RawMessage // for a person to edit
	if sources != nil {
		given = bytes.Clone(call.Arguments)
		inner, state = callstate.Ensure(ctx)
		state.Write(func(r *callstate.Record) { r.Sources = sources })
	}
	if i := slices.IndexFunc(sources, func(s middleware.Source) bool { return s.Rule != "" }); i >= 0 {
		if call.Tool.Safety() != annotation.Unknown { // which is as strict
			claim := raise(sources[i])
			inner = callstate.Answer(inner, &its, func(a annotation.Annotations) annotation.Annotations { return annotation.Raise(a, claim) })
		}
		state.Decide("flow", sources[i].Rule, sources[i].Argument)
	}
	res, err := c.next.CallTool(inner, its)
	call.Arguments = form // the others may have been written over meanwhile
	if sources != nil {
		c.endorse(ctx, state, name, s, &call, given, asked)
	}
	c.Tracker.passed(call, passes, res, err)
	trusted, sensitive := c.Tracker.take(name, s, call, res, err, trusted)
	if c.Label && res != nil {
		res = labeled(res, trusted, sensitive)
	}
	return res, err
}

func raise(s middleware.Source) annotation.Annotations {
	s.Around = ""
	return annotation.Annotations{RequiresConfirmation: annotation.Yes, Evidence: []annotation.Evidence{{
		Field: annotation.RequiresConfirmation, Value: annotation.Yes.String(), Source: annotation.Resolved, Strength: annotation.Strong,
		Rule: s.Rule, By: "flow", Place: s.String(),
	}}}
}
