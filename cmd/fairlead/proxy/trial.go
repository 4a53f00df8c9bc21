package proxy

// A recorded call is tried in the chain of a policy as it would run, with a confirmer and an executor that only note
// that they were reached. The tools of the record are not at hand: a tool is made for each class that its calls had, declared
// so that it gets that class, and what a call had beyond its class (an argument from an untrusted source, a doubt) is
// taken from its record, see [Trial.held].

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Disposition is what is done with a call.
type Disposition int

// The dispositions, in the order of strictness.
const (
	Allowed Disposition = iota // it is made without a question
	Asked                      // a person is asked first
	Refused                    // it is neither made nor asked about
)

// A Trial runs recorded calls through the chain of a policy. Nothing is sent, and no person is asked. Anything that
// depends on other calls is left out: limits, budget, cache, retries and remembered approvals of a store. It is not safe
// for concurrent use.
type Trial struct {
	policy      *policy.Policy
	sets        map[annotation.Safety]*set // a tool can have calls of several classes
	disposition Disposition                // of the call under way
}

// NewTrial returns a trial of a policy with the tools of the calls, which are tools of their classes, unless the
// policy itself classifies them.
func NewTrial(p *policy.Policy, calls []audit.Record) (*Trial, error) {
	still := *p
	still.Limits, still.Budget, still.Cache = ratelimit.Options{}, nil, nil
	t := &Trial{policy: p, sets: make(map[annotation.Safety]*set)}
	tools := make(map[annotation.Safety]map[string][]*mcp.Tool)
	var servers []Server
	for _, c := range calls {
		class := t.class(c)
		if tools[class] == nil {
			tools[class] = make(map[string][]*mcp.Tool)
		}
		if !slices.ContainsFunc(servers, func(s Server) bool { return s.Name == c.Server }) {
			servers = append(servers, Server{Name: c.Server})
		}
		if of := tools[class][c.Server]; !slices.ContainsFunc(of, func(tool *mcp.Tool) bool { return tool.Name == c.Tool }) {
			tools[class][c.Server] = append(of, recorded(c.Tool, class))
		}
	}
	if len(servers) == 0 {
		return nil, errors.New("the record has no calls")
	}
	proxy, err := New(Options{
		Servers: servers, Policy: func() *policy.Policy { return &still }, Trust: true,
		Audit: audit.SinkFunc(func(context.Context, audit.Record) error { return nil }),
		Confirm: hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			t.disposition = Asked
			return hitl.Decision{}, errors.New("proxy: the call was only tried")
		}),
	})
	if err != nil {
		return nil, err
	}
	made := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		t.disposition = Allowed
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	for class, of := range tools {
		if t.sets[class], err = proxy.plan().newSet(access.Caller{}); err != nil {
			return nil, err
		}
		for server, all := range of {
			if err := t.sets[class].catalog.AddTools(server, made, all...); err != nil {
				return nil, fmt.Errorf("the recorded calls of server %q: %w", server, err)
			}
		}
	}
	return t, nil
}

// class returns the recorded class of a call. It is Unknown if it followed from a rule over arguments, unless the policy
// has one too, and the arguments to apply it to are not recorded.
func (t *Trial) class(r audit.Record) (class annotation.Safety) {
	ruled := slices.ContainsFunc(r.Decisions, func(d audit.Decision) bool { return d.Stage == "preflight" && d.What == "rule" })
	if ruled && (Arguments(r) != nil || t.policy.Arguments[r.Server+"/"+r.Tool] == nil) || class.UnmarshalText([]byte(r.Class)) != nil {
		return annotation.Unknown
	}
	return class
}

// recorded returns a tool that declares a class. That of an Unknown one may follow from its name instead, see Try.
func recorded(name string, class annotation.Safety) *mcp.Tool {
	tool := &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}
	a, known := map[annotation.Safety]annotation.Annotations{
		annotation.Safe:      annotation.ReadOnly(),
		annotation.Moderate:  {ReadOnly: annotation.No, Destructive: annotation.No, RequiresConfirmation: annotation.No},
		annotation.Dangerous: annotation.Destructive(),
	}[class]
	if !known {
		return tool
	}
	return annotation.Declare(tool, a)
}

// Try returns what is done with one of the calls, which has no arguments if they were not recorded.
func (t *Trial) Try(ctx context.Context, r audit.Record) (Disposition, error) {
	class := t.class(r)
	tool, err := t.sets[class].catalog.Find(r.Server + "/" + r.Tool)
	if err != nil {
		return 0, fmt.Errorf("%s/%s: %w", r.Server, r.Tool, err)
	}
	inferred := tool.Annotations.SourceOf(annotation.ReadOnlyHint) == annotation.Inferred
	if class == annotation.Unknown && inferred && !tool.Safety().MustConfirm() { // the description, which is not recorded, said otherwise
		raised := *tool
		raised.Annotations = annotation.Raise(tool.Annotations, annotation.Annotations{RequiresConfirmation: annotation.Yes}.Attribute(annotation.Resolved, "the record"))
		tool = &raised
	}
	t.disposition = Refused
	_, _ = t.sets[class].caller.CallTool(ctx, middleware.Call{Tool: tool, Arguments: Arguments(r)}) // it is in t.disposition
	if t.disposition == Allowed && t.held(r) {
		return Asked, nil // which no rule answers, see policy.Confirmer
	}
	return t.disposition, nil
}

// Arguments returns the arguments of a recorded call, nil if they were not recorded.
func Arguments(r audit.Record) json.RawMessage {
	if !strings.HasPrefix(string(r.Arguments), "{") {
		return nil
	}
	return r.Arguments
}

// Repeated reports whether a decision is that a person is asked about a call since it may have happened before.
func Repeated(d audit.Decision) bool { return d.Stage == "doubt" && d.What == "repeated" }

// held reports whether a call is asked about whatever a rule allows: it was in doubt, or an argument had an
// untrusted source that the policy does not trust either.
func (t *Trial) held(r audit.Record) bool {
	return slices.ContainsFunc(r.Decisions, Repeated) ||
		slices.ContainsFunc(r.Sources, func(s audit.Source) bool {
			server, tool, _ := strings.Cut(s.Tool, "/")
			return s.Rule != "" && !slices.Contains(t.policy.FlowOff, flow.Rule(s.Rule)) &&
				!slices.ContainsFunc(t.policy.Trusted, func(p policy.Pattern) bool { return p.Matches(server, tool) })
		})
}
