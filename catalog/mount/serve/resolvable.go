package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Resolvable is a tool of the host's own server whose effect depends on its arguments.
type Resolvable struct {
	// Tool is the definition that the server lists. Its hints must be the worst of all answers.
	Tool *mcp.Tool
	// Answers are all that can be answered, by names of the author's choice. Only the four hints of MCP count.
	Answers map[string]annotation.Annotations
	// Choose names the answer for arguments that keep the tool's input schema; any other name stands for the
	// tool's own hints. It gets a copy and must have no effect, since it runs before any approval.
	Choose func(arguments json.RawMessage) (answer string)
}

// Resolve makes a server answer what a call of the tools would do with exactly its arguments: by the extension
// io.modelcontextprotocol/tool-resolution and by tools/annotations. Call it once, after other middleware of the
// server's, and add the tools to the server as always. Arguments that do not keep the input schema are answered
// as invalid. After an error, such as an answer that is worse than the definition declares, nothing has changed.
func Resolve(server *mcp.Server, tools ...Resolvable) error {
	if server == nil {
		panic("serve: Resolve was given a nil server")
	}
	s := make(resolvables, len(tools))
	var faults []error
	for _, t := range tools {
		r, err := prepare(t)
		switch {
		case err != nil:
			faults = append(faults, err)
		case s[t.Tool.Name] != nil:
			faults = append(faults, fmt.Errorf("serve: %q is to be resolved twice", t.Tool.Name))
		default:
			s[t.Tool.Name] = r
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	if err := errors.Join(
		mcp.AddReceivingCustomMethod(server, resolution.MethodAnnotations, s.replier(false)),
		mcp.AddReceivingCustomMethod(server, resolution.MethodResolve, s.replier(true)),
	); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	server.AddReceivingMiddleware(resolution.Announce(s.bound))
	return nil
}

// resolvables are the tools of one server by name.
type resolvables map[string]*resolvable

type resolvable struct {
	schema  *jsonschema.Resolved
	worst   annotation.Annotations
	answers map[string]annotation.Annotations
	choose  func(json.RawMessage) string
}

func prepare(t Resolvable) (*resolvable, error) {
	if t.Tool == nil || t.Tool.Name == "" {
		return nil, errors.New("serve: a Resolvable needs a Tool with a name")
	}
	fault := func(format string, args ...any) (*resolvable, error) {
		return nil, fmt.Errorf("serve: the Resolvable %q %w", t.Tool.Name, fmt.Errorf(format, args...))
	}
	if len(t.Answers) == 0 || t.Choose == nil {
		return fault("needs Answers and a func to Choose one")
	}
	var schema *jsonschema.Schema
	var resolved *jsonschema.Resolved
	raw, err := json.Marshal(t.Tool.InputSchema)
	if err == nil {
		err = json.Unmarshal(raw, &schema)
	}
	switch {
	case err != nil:
	case schema == nil:
		err = errors.New("it is missing")
	default:
		resolved, err = schema.Resolve(nil)
	}
	if err != nil {
		return fault("has no InputSchema that can be read: %w", err)
	}
	declared, err := annotation.FromTool(t.Tool)
	if err != nil {
		return fault("has annotations that cannot be read: %w", err)
	}
	answers := make(map[string]annotation.Annotations, len(t.Answers))
	for name, answer := range t.Answers {
		if err := answer.Validate(); err != nil {
			return fault("has the answer %q: %w", name, err)
		}
		if rest := answer.Without(annotation.ReadOnlyHint, annotation.DestructiveHint, annotation.IdempotentHint, annotation.OpenWorldHint); rest.Summary() != (annotation.Annotations{}).Summary() {
			return fault("has the answer %q with more than the four hints of MCP: %s", name, rest.Summary())
		}
		answer = complete(answer, declared)
		answers[name] = answer
		if worse := resolution.Exceeds(declared, answer); len(worse) > 0 {
			return fault("has the answer %q, which is worse than its definition says of all calls (%v); declare the worst", name, worse)
		}
	}
	return &resolvable{schema: resolved, worst: complete(declared, declared), answers: answers, choose: t.Choose}, nil
}

// complete returns all four hints as they are sent: those missing follow from a read, or else from the tool.
func complete(a, tool annotation.Annotations) annotation.Annotations {
	if a.ReadOnly == annotation.Yes {
		a.Destructive, a.Idempotent = a.Destructive.Or(annotation.No), a.Idempotent.Or(annotation.Yes)
	}
	d := tool.Defaults()
	return annotation.Annotations{
		ReadOnly: a.ReadOnly.Or(d.ReadOnly), Destructive: a.Destructive.Or(d.Destructive),
		Idempotent: a.Idempotent.Or(d.Idempotent), OpenWorld: a.OpenWorld.Or(d.OpenWorld),
	}
}

// answer returns what is said of a call, or the protocol's error.
func (s resolvables) answer(p *resolution.Params) (hints annotation.Annotations, err error) {
	invalid := func(format string, args ...any) (annotation.Annotations, error) {
		return hints, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
	}
	if p == nil {
		return invalid("there are no params")
	}
	r := s[p.Name]
	if r == nil {
		return hints, unresolvable(p)
	}
	if len(bytes.TrimSpace(p.Arguments)) == 0 {
		return invalid("arguments is missing; {} means none")
	}
	var arguments map[string]any
	form, err := canonical.AppendObject(nil, p.Arguments)
	if err == nil {
		err = json.Unmarshal(form, &arguments)
	}
	if err == nil {
		err = r.schema.Validate(arguments)
	}
	if err != nil {
		return invalid("the arguments of %s: %v", p.Name, err)
	}
	defer func() {
		if recover() != nil {
			err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "what the call would do could not be worked out"}
		}
	}()
	hints, ok := r.answers[r.choose(bytes.Clone(p.Arguments))]
	if !ok {
		hints = r.worst
	}
	return hints, nil
}

// unresolvable is the answer about a tool that is not there, and about one that the request may not use.
func unresolvable(p *resolution.Params) error {
	name := cmp.Or(p, new(resolution.Params)).Name
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("there is no tool %.80q that can be resolved", name)}
}

// bound reports whether a tool can be resolved by the definition that is listed: no answer is stricter.
func (s resolvables) bound(listed *mcp.Tool) bool {
	r := s[listed.Name]
	if r == nil {
		return false
	}
	declared, err := annotation.FromTool(listed)
	return err == nil && !slices.ContainsFunc(append(slices.Collect(maps.Values(r.answers)), r.worst), func(a annotation.Annotations) bool {
		return len(resolution.Exceeds(declared, a)) > 0
	})
}

// replier returns the handler of a method, whose reply may have to name the tool.
func (s resolvables) replier(named bool) func(context.Context, *mcp.ServerSession, *resolution.Params) (*resolution.Reply, error) {
	return func(_ context.Context, _ *mcp.ServerSession, p *resolution.Params) (*resolution.Reply, error) {
		hints, err := s.answer(p)
		if err != nil {
			return nil, err
		}
		reply := &resolution.Reply{ResultType: "complete", Annotations: hints}
		if named {
			reply.Name = p.Name
		}
		return reply, nil
	}
}
