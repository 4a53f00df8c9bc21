package proxy_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A lookup is how a server finds the member of an object that it calls want.
type lookup func(o object, want string) (value any, found bool)

// lookups are how servers read JSON.
var lookups = map[string]lookup{
	"the first of its exact name": func(o object, want string) (any, bool) {
		return pick(o, func(name string) bool { return name == want })
	},
	"the last of its exact name": func(o object, want string) (any, bool) {
		return pick(backward(o), func(name string) bool { return name == want })
	},
	"the first in any case": func(o object, want string) (any, bool) {
		return pick(o, func(name string) bool { return lower(name) == lower(want) })
	},
	"the last that folds to it": func(o object, want string) (any, bool) {
		return pick(backward(o), func(name string) bool { return strings.EqualFold(name, want) })
	},
}

func pick(o object, is func(string) bool) (any, bool) {
	i := slices.IndexFunc(o, func(m member) bool { return is(m.name) })
	if i < 0 {
		return nil, false
	}
	return o[i].value, true
}

func backward(o object) object {
	o = slices.Clone(o)
	slices.Reverse(o)
	return o
}

// lower changes ASCII letters alone.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, s)
}

// An object has all of its members, in the order of the file.
type object []member

type member struct {
	name  string
	value any
}

// tree reads a JSON text without losing a member or a digit.
func tree(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return branch(d)
}

func branch(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := branch(d)
			if err != nil {
				return nil, err
			}
			o = append(o, member{name.(string), value})
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := branch(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

// plainly returns a value as a server reads it, which looks for each name that is there.
func (l lookup) plainly(v any) any {
	switch v := v.(type) {
	case object:
		all := make(map[string]any)
		for _, m := range v {
			value, _ := l(v, m.name)
			all[m.name] = l.plainly(value)
		}
		return all
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = l.plainly(v[i])
		}
		return list
	}
	return v
}

// An execution is what a server makes of a call.
type execution struct {
	name      string
	arguments string
	extra     string // what it gets besides, without what is the transport's
}

// execute reads the params of a call.
func (l lookup) execute(params any) (e execution, ok bool) {
	o, ok := params.(object)
	if !ok {
		return e, false
	}
	name, _ := l(o, "name")
	if e.name, ok = name.(string); !ok {
		return e, false
	}
	arguments, _ := l(o, "arguments")
	if arguments == nil {
		arguments = object{}
	}
	e.arguments = written(l.plainly(arguments))
	extra, _ := l.plainly(o).(map[string]any)
	delete(extra, "name")
	delete(extra, "arguments")
	if meta, ok := extra["_meta"].(map[string]any); ok {
		maps.DeleteFunc(meta, func(name string, _ any) bool { return slices.Contains(ofTransport, name) })
	}
	for _, known := range []string{"_meta", "inputResponses", "requestState"} {
		if empty := written(extra[known]); empty == "null" || empty == "{}" || empty == `""` {
			delete(extra, known)
		}
	}
	e.extra = written(extra)
	return e, true
}

// ofTransport are the members of _meta that no approval covers.
var ofTransport = []string{
	"progressToken", "traceparent", "tracestate", "baggage", "io.modelcontextprotocol/logLevel",
	mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities,
}

func written(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// agreed returns what all servers make of the params of a call, or false if they differ,
// or if none of them executes anything.
func agreed(params any) (agreed execution, ok bool) {
	first := true
	for _, l := range lookups {
		e, executes := l.execute(params)
		if !executes || !first && e != agreed {
			return e, false
		}
		agreed, first = e, false
	}
	return agreed, true
}
