package callstate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// transport reports whether a member of _meta is about the transport of a request, so that
// no approval covers it: each hop, and each attempt, may have another one.
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

// An extraError is about a _meta or an input that cannot be sent as JSON.
type extraError struct{ err error }

func (e *extraError) Error() string {
	return fmt.Sprintf("the call's _meta or input cannot be sent as JSON: %v", e.err)
}
func (e *extraError) Unwrap() error   { return e.err }
func (e *extraError) NotSent() bool   { return true }
func (e *extraError) Permanent() bool { return true }
