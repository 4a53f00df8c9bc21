package callstate

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Binding is what an answer about a call covers: server, tool, definition, scope and the exact bytes of the
// arguments. An approval covers more; see [BindCall]. Names have their length before them and digests have one
// length, so that no two lists of parts give the same text.
type Binding [sha256.Size]byte

// Bind returns the binding of a call. It is computed once, and again only after a change of the call; without a state,
// each time.
func Bind(s *State, call *middleware.Call) Binding {
	if !s.live() {
		return bind(call)
	}
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	f, tool := s.call.of(call.Arguments), call.Tool
	if !f.bound || f.server != tool.Server || f.name != tool.Name() || f.scope != call.Scope || f.digest != tool.Digest {
		f.server, f.name, f.scope, f.digest = tool.Server, tool.Name(), call.Scope, tool.Digest
		f.binding, f.bound = bind(call), true
	}
	return f.binding
}

func bind(call *middleware.Call) Binding {
	Observe("binding")
	var array [1024]byte
	text := append(array[:0], call.Tool.Digest[:]...)
	for _, name := range [...]string{call.Tool.Server, call.Tool.Name(), call.Scope} {
		text = binary.LittleEndian.AppendUint64(text, uint64(len(name)))
		text = append(text, name...)
	}
	text = append(text, call.Arguments...) // last, so that its length is known
	return sha256.Sum256(text)
}

// BindCall returns what an approval of the call is bound to: its binding and what it sends
// beside the arguments. A call for which that cannot be computed has a zero binding.
func BindCall(ctx context.Context, call *middleware.Call) Binding {
	b := Bind(Of(ctx), call)
	extra, err := Extra(call)
	switch {
	case err != nil:
		return Binding{}
	case extra == nil:
		return b
	}
	return sha256.Sum256(append(b[:], extra...))
}

// Extra returns what the call sends beside its arguments as one JSON object in canonical
// form, with the members _meta, inputResponses, requestState, and params for [middleware.Call.Params]: nil for nothing.
// Members of _meta that are the transport's, or identify the call to its client, are left out.
func Extra(call *middleware.Call) (json.RawMessage, error) {
	var extra struct {
		Meta      map[string]any             `json:"_meta,omitempty"`
		Responses mcp.InputResponseMap       `json:"inputResponses,omitempty"`
		State     string                     `json:"requestState,omitempty"`
		Params    map[string]json.RawMessage `json:"params,omitempty"`
	}
	extra.Params = call.Params
	if HasMeta(call.Meta) {
		extra.Meta = maps.Clone(call.Meta)
		maps.DeleteFunc(extra.Meta, func(name string, value any) bool { return notOfTheCall(call.Meta, name, value) })
	}
	if call.Input != nil {
		extra.Responses, extra.State = call.Input.Responses, call.Input.State
	}
	if extra.Meta == nil && len(extra.Responses) == 0 && extra.State == "" && len(extra.Params) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(extra)
	if err == nil {
		raw, err = canonical.Append(nil, raw)
	}
	if err != nil {
		return nil, &extraError{err}
	}
	return raw, nil
}

// transport reports whether a member of _meta is about one request's transport, which no approval covers.
func transport(name string) bool {
	switch name {
	case "progressToken", "traceparent", "tracestate", "baggage",
		mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities, "io.modelcontextprotocol/logLevel":
		return true
	}
	return false
}

// notOfTheCall reports whether a member of _meta is not a part of what is called: the transport's, or an identifier of
// the client's.
func notOfTheCall(meta map[string]any, name string, value any) bool {
	return transport(name) || clientID(meta, name, value)
}

// HasMeta reports whether there are members of _meta that a server may act on: neither the transport's nor identifiers
// of the client's.
func HasMeta(meta mcp.Meta) bool {
	for name, value := range meta {
		if !notOfTheCall(meta, name, value) {
			return true
		}
	}
	return false
}

type extraError struct{ err error }

func (e *extraError) Error() string {
	return fmt.Sprintf("the call's _meta, input or params cannot be sent as JSON: %v", e.err)
}

func (e *extraError) Unwrap() error { return e.err }

func (e *extraError) NotSent() bool { return true }

func (e *extraError) Permanent() bool { return true }

// WithMark returns a context that carries audit's mark: exactly this call is recorded, before it is made.
func WithMark(ctx context.Context, call *middleware.Call) context.Context {
	p, mark := derive(ctx), Bind(Of(ctx), call)
	p.holds.mark = &mark
	return &p.State
}

// Marked reports whether exactly this call is recorded.
func Marked(ctx context.Context, call *middleware.Call) bool {
	mark := nearest(ctx).within().mark
	return mark != nil && *mark == Bind(Of(ctx), call)
}
