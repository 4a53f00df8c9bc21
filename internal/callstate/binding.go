package callstate

import (
	"bytes"
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

// Observe is called with "form", "binding" or "lookup" each time that the canonical arguments or the binding of
// a call are computed or a catalog is consulted. It is for tests, which set it before the first call.
var Observe = func(string) {}

// A Binding is what an answer about a call covers: server, tool, definition, scope and the exact bytes of the
// arguments. An approval covers more; see [BindCall]. Names have their length before them and digests have one
// length, so that no two lists of parts give the same text.
type Binding [sha256.Size]byte

// facts are what was computed from the arguments that the call had last.
type facts struct {
	text []byte // a private copy, so that a change of the bytes is noticed; nil before the first

	form   []byte
	err    error
	formed bool
	given  bool // formRoom has been handed out

	binding             Binding
	bound               bool
	server, name, scope string
	digest              middleware.Digest

	textRoom, formRoom [maxInline]byte
}

// maxInline is how long arguments may be that need no allocation of their own.
const maxInline = 256

// of returns the facts of these arguments. The lock is held.
func (c *shared) of(arguments []byte) *facts {
	if c.facts == nil {
		c.facts = new(facts)
	}
	f := c.facts
	if f.text == nil || !bytes.Equal(f.text, arguments) {
		f.text = append(f.textRoom[:0], arguments...)
		f.formed, f.bound = false, false
	}
	return f
}

// Bind returns the binding of a call. If the record of the call is read, the binding is computed once, and again
// only after a change of the call.
func Bind(s *State, call *middleware.Call) Binding {
	if !s.HasRecord() {
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

// Form returns the canonical form of the call's arguments, or an [*ArgumentsError] if they are not one
// unambiguous JSON object. The form is read-only. If the record of the call is read, it is computed once.
func Form(s *State, call *middleware.Call) ([]byte, error) {
	if !s.HasRecord() {
		return AppendForm(nil, s, call)
	}
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	f := s.call.of(call.Arguments)
	if !f.formed {
		Observe("form")
		into := f.formRoom[:0]
		if f.given {
			into = nil
		}
		f.form, f.err = canonical.AppendObject(into, call.Arguments)
		f.formed, f.given = true, true
	}
	if f.err != nil {
		return nil, &ArgumentsError{call.Tool, f.err}
	}
	return f.form, nil
}

// AppendForm appends the form to dst, as [Form] returns it.
func AppendForm(dst []byte, s *State, call *middleware.Call) ([]byte, error) {
	if s.HasRecord() {
		form, err := Form(s, call)
		return append(dst, form...), err
	}
	Observe("form")
	out, err := canonical.AppendObject(dst, call.Arguments)
	if err != nil {
		return dst, &ArgumentsError{call.Tool, err}
	}
	return out, nil
}

// An ArgumentsError reports arguments that the model wrote and can correct. Err reports that the call was not sent.
type ArgumentsError struct {
	Tool *middleware.Tool
	Err  error
}

func (e *ArgumentsError) Error() string {
	return fmt.Sprintf("the arguments of %s are refused: %v; send one JSON object, each member once", e.Tool, e.Err)
}

func (e *ArgumentsError) Unwrap() error { return e.Err }

func (e *ArgumentsError) ForModel() string {
	return fmt.Sprintf("The arguments for %s are refused: %v. Send one JSON object, each member once.", e.Tool.ModelName(), e.Err)
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

// HasMeta reports whether there are members of _meta that are not the transport's.
func HasMeta(meta mcp.Meta) bool {
	for name := range meta {
		if !transport(name) {
			return true
		}
	}
	return false
}

// Extra returns what the call sends beside its arguments as one JSON object in canonical
// form, with the members _meta, inputResponses and requestState: nil for nothing. Members
// of _meta that are the transport's are left out.
func Extra(call *middleware.Call) (json.RawMessage, error) {
	var extra struct {
		Meta      map[string]any       `json:"_meta,omitempty"`
		Responses mcp.InputResponseMap `json:"inputResponses,omitempty"`
		State     string               `json:"requestState,omitempty"`
	}
	if HasMeta(call.Meta) {
		extra.Meta = maps.Clone(call.Meta)
		maps.DeleteFunc(extra.Meta, func(name string, _ any) bool { return transport(name) })
	}
	if call.Input != nil {
		extra.Responses, extra.State = call.Input.Responses, call.Input.State
	}
	if extra.Meta == nil && len(extra.Responses) == 0 && extra.State == "" {
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

type extraError struct{ err error }

func (e *extraError) Error() string {
	return fmt.Sprintf("the call's _meta or input cannot be sent as JSON: %v", e.err)
}
func (e *extraError) Unwrap() error   { return e.err }
func (e *extraError) NotSent() bool   { return true }
func (e *extraError) Permanent() bool { return true }
