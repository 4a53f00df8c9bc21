package proxy

// The params of tools/call are read and written here by exact names. JSON leaves open what a second member of one name
// means, and some readers ignore the case of names: one server takes the first "arguments", another the last, a third
// "Arguments". The call that is judged, shown and approved has to be the one that each of them executes, so params
// that can be read in two ways are refused, and what is forwarded is written anew from what was read.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/fairlead-go/fairlead/mount"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// known are the members of the params of tools/call that the SDK has fields for.
var known = []string{"name", "arguments", "_meta", "inputResponses", "requestState"}

// paramsKey is the member of a call's _meta with the unknown members of its params, such as task, so
// that the question, the approval and the cache cover them. [encodeCall] puts them back.
const paramsKey = "io.github.fairlead-go/params"

// unambiguous returns the members of params, and an error if two readers could take them for different calls.
func unambiguous(params json.RawMessage) (map[string]json.RawMessage, error) {
	if err := mount.Unambiguous(params); err != nil {
		return nil, err
	}
	all := members(params)
	for name := range all {
		for _, exact := range known {
			if name != exact && strings.EqualFold(name, exact) {
				return nil, fmt.Errorf("the member %q can be taken for %q; write it so", name, exact)
			}
		}
	}
	return all, nil
}

// readCall reads the params of tools/call. Each member is taken by its exact name. Unknown members are kept in _meta
// under [paramsKey].
func readCall(raw json.RawMessage) (*mcp.CallToolParamsRaw, error) {
	more, err := unambiguous(raw)
	if err != nil {
		return nil, err
	}
	p := &mcp.CallToolParamsRaw{Arguments: more["arguments"]}
	responses := members(more["inputResponses"])
	for i, to := range []any{&p.Name, nil, &p.Meta, &p.InputResponses, &p.RequestState} {
		read := json.Unmarshal // which costs less than a decoder
		if known[i] == "_meta" || known[i] == "inputResponses" {
			read = decode
		}
		if value := more[known[i]]; value != nil && to != nil {
			if err := read(value, to); err != nil {
				return nil, fmt.Errorf("the member %q: %w", known[i], err)
			}
		}
		delete(more, known[i])
	}
	switch {
	case p.Name == "":
		return nil, errors.New("they need a name")
	case p.Meta[paramsKey] != nil:
		return nil, fmt.Errorf("the member %q of _meta is reserved", paramsKey)
	case p.Meta == nil:
		p.Meta = make(mcp.Meta)
	}
	if len(more) > 0 {
		p.Meta[paramsKey] = more
	}
	for id, response := range responses {
		p.InputResponses[id] = verbatim{p.InputResponses[id], response}
	}
	return p, nil
}

// A verbatim is a response that is written as the client wrote it.
type verbatim struct {
	mcp.InputResponse

	raw json.RawMessage
}

func (v verbatim) MarshalJSON() ([]byte, error) { return v.raw, nil }

// encodeCall writes the params of tools/call, with the arguments in their own bytes.
func encodeCall(p *mcp.CallToolParams) (json.RawMessage, error) {
	more, _ := p.Meta[paramsKey].(map[string]json.RawMessage)
	delete(p.Meta, paramsKey)
	text := append([]byte(`{"name":`), quoted(p.Name)...)
	for _, member := range []struct {
		name  string
		given bool
		value any
	}{
		{"arguments", p.Arguments != nil, p.Arguments},
		{"_meta", len(p.Meta) > 0, p.Meta},
		{"inputResponses", len(p.InputResponses) > 0, p.InputResponses},
		{"requestState", p.RequestState != "", p.RequestState},
	} {
		if !member.given {
			continue
		}
		raw, written := member.value.(json.RawMessage)
		if !written {
			var err error
			if raw, err = encode(member.value); err != nil {
				return nil, err
			}
		}
		text = appendMember(text, member.name, raw)
	}
	if text = append(text, '}'); more == nil {
		return text, nil
	}
	all := members(text)
	maps.Copy(all, more)
	return encode(all)
}

// decode reads JSON and keeps the digits of its numbers.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// encode writes JSON on one line, without the escapes for HTML.
func encode(v any) (json.RawMessage, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(text.Bytes()), err
}

// encoded is encode for what can always be written: hints, and what was JSON.
func encoded(v any) json.RawMessage {
	text, _ := encode(v)
	return text
}

// withMember returns an object with a member set. What is no object counts as an empty one.
func withMember(object json.RawMessage, name string, value any) json.RawMessage {
	all := members(object)
	if all == nil {
		all = make(map[string]json.RawMessage)
	}
	all[name] = encoded(value)
	return encoded(all)
}
