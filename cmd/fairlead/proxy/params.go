package proxy

// The params of tools/call are read and written here by exact names. JSON leaves open what a second member of one name
// means, and some readers ignore the case of names: one server takes the first "arguments", another the last, a third
// "Arguments". The call that is judged, shown and approved has to be the one that each of them executes, so params
// that can be read in two ways are refused, and what is forwarded is written anew from what was read.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// known are the members of the params of tools/call that the SDK has fields for.
var known = []string{"name", "arguments", "_meta", "inputResponses", "requestState"}

// given are the members of the params of tools/call, by their exact names.
type given struct {
	name, arguments, meta, responses, state json.RawMessage

	more map[string]json.RawMessage // the others, nil for none
}

// unambiguous returns the members of params, and an error if two readers could take them for different calls.
func unambiguous(params json.RawMessage) (g given, err error) {
	if err := mount.Unambiguous(params); err != nil {
		return g, err
	}
	s := scan{text: params}
	s.object(func(name []byte) { err = cmp.Or(err, g.set(name, s.value())) })
	if s.next() == 0 && s.at == len(params) {
		return g, err
	}
	g, err = given{}, nil // they have to be decoded
	for name, value := range members(params) {
		err = cmp.Or(err, g.set([]byte(name), value))
	}
	return g, err
}

// set sets a member. It returns an error for a name that can be taken for that of another.
func (g *given) set(name []byte, value json.RawMessage) error {
	switch string(name) {
	case "name":
		g.name = value
	case "arguments":
		g.arguments = value
	case "_meta":
		g.meta = value
	case "inputResponses":
		g.responses = value
	case "requestState":
		g.state = value
	default:
		for _, exact := range known {
			if bytes.EqualFold(name, []byte(exact)) {
				return fmt.Errorf("the member %q can be taken for %q; write it so", name, exact)
			}
		}
		if g.more == nil {
			g.more = make(map[string]json.RawMessage)
		}
		g.more[string(name)] = value
	}
	return nil
}

// readCall reads the params of tools/call. Each member is taken by its exact name. It also returns the members that the
// SDK has no field for, such as task, nil for none.
func readCall(raw json.RawMessage) (*mcp.CallToolParamsRaw, map[string]json.RawMessage, error) {
	given, err := unambiguous(raw)
	if err != nil {
		return nil, nil, err
	}
	p := &mcp.CallToolParamsRaw{Arguments: given.arguments}
	if string(bytes.TrimSpace(given.arguments)) == "null" { // as some clients write that there are none; MCP allows an object alone
		p.Arguments = nil
	}
	for _, member := range [...]struct {
		name  string
		value json.RawMessage
		to    any
		read  func(text []byte, v any) error
	}{
		{"name", given.name, &p.Name, unquote},
		{"_meta", given.meta, &p.Meta, decode},
		{"inputResponses", given.responses, &p.InputResponses, decode},
		{"requestState", given.state, &p.RequestState, json.Unmarshal},
	} {
		if member.value == nil {
			continue
		}
		if err := member.read(member.value, member.to); err != nil {
			return nil, nil, fmt.Errorf("the member %q: %w", member.name, err)
		}
	}
	if p.Name == "" {
		return nil, nil, errors.New("they need a name")
	}
	keepResponses(p, given.responses)
	return p, given.more, nil
}

// readUpdate reads the params of tasks/update as strictly as those of a call. A member that it does not have is an error,
// since its meaning cannot be judged.
func readUpdate(raw json.RawMessage) (*mcp.CallToolParamsRaw, error) {
	its, err := unambiguous(raw)
	if err != nil {
		return nil, err
	}
	for _, unknown := range slices.Sorted(maps.Keys(its.more)) {
		if unknown != "taskId" {
			return nil, fmt.Errorf("the member %q is not known", unknown)
		}
	}
	p := new(mcp.CallToolParamsRaw)
	switch {
	case its.name != nil || its.arguments != nil || its.state != nil:
		return nil, errors.New("they have a member of tools/call")
	case its.responses == nil:
		return nil, errors.New("they need inputResponses")
	case its.meta != nil:
		err = decode(its.meta, &p.Meta)
	}
	if err = cmp.Or(err, decode(its.responses, &p.InputResponses)); err != nil {
		return nil, err
	}
	keepResponses(p, its.responses)
	return p, nil
}

// keepResponses has the responses of a call written as the client wrote them.
func keepResponses(p *mcp.CallToolParamsRaw, written json.RawMessage) {
	for id, response := range members(written) {
		p.InputResponses[id] = verbatim{p.InputResponses[id], response}
	}
}

// unquote is json.Unmarshal into a string, which takes less time where the text has no escapes.
func unquote(text []byte, v any) error {
	s := scan{text: text}
	if inside, plain := s.string(); plain && s.at == len(text) {
		*v.(*string) = string(inside)
		return nil
	}
	return json.Unmarshal(text, v)
}

// A verbatim is a response that is written as the client wrote it.
type verbatim struct {
	mcp.InputResponse

	raw json.RawMessage
}

func (v verbatim) MarshalJSON() ([]byte, error) { return v.raw, nil }

// encodeCall writes the params of a call, with the arguments in their own bytes.
func encodeCall(call middleware.Call) (text json.RawMessage, err error) {
	name, arguments := call.Tool.Name(), call.Arguments
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	text = make(json.RawMessage, 0, 64+len(name)+len(arguments))
	text = appendQuoted(append(text, `{"name":`...), name)
	text = appendMember(text, "arguments", arguments)
	add := func(name string, value any) {
		raw, encodeErr := encode(value)
		err = cmp.Or(err, encodeErr)
		text = appendMember(text, name, raw)
	}
	if len(call.Meta) > 0 {
		add("_meta", call.Meta)
	}
	if in := call.Input; in != nil && len(in.Responses) > 0 {
		add("inputResponses", in.Responses)
	}
	if in := call.Input; in != nil && in.State != "" {
		add("requestState", in.State)
	}
	if text = append(text, '}'); call.Params == nil || err != nil {
		return text, err
	}
	all := members(text)
	maps.Copy(all, call.Params)
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

// withMember returns an object with a member set. Anything but an object counts as an empty one.
func withMember(object json.RawMessage, name string, value any) json.RawMessage {
	all := members(object)
	if all == nil {
		all = make(map[string]json.RawMessage)
	}
	all[name] = encoded(value)
	return encoded(all)
}
