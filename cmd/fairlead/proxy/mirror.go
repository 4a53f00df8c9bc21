package proxy

// Since revision 2026-07-28 a request repeats parts of its body in headers, so that what is on the way can route it
// without reading it: its revision, its method, what it names, and the arguments for which the tool's schema has
// x-mcp-header. They are made of the body as it is sent, so that the two cannot differ.

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// revision returns the protocol's revision of a request: the one that it names itself, or the agreed one.
func revision(params json.RawMessage, agreed string) string {
	if said := metaOf(params)[mcp.MetaKeyProtocolVersion]; said != nil {
		_ = json.Unmarshal(said, &agreed) // one that is not a string is the server's to refuse
	}
	return agreed
}

// mirror sets the headers that repeat the body of a request, and returns its revision.
func mirror(header http.Header, m *message, agreed string) string {
	version := revision(m.Params, agreed)
	if version < modern || m.Method == "" {
		return version
	}
	header.Set(headerMethod, m.Method)
	params := members(m.Params)
	member := namedBy[m.Method]
	if strings.HasPrefix(m.Method, "tasks/") {
		member = "taskId"
	}
	var name string
	if member != "" && json.Unmarshal(params[member], &name) == nil {
		header.Set(headerName, name)
	}
	if m.schema != nil {
		eachMirrored(m.schema, members(params["arguments"]), func(name string, argument json.RawMessage) {
			if value, ok := headerValue(argument); ok {
				header.Set(headerParam+name, value)
			}
		})
	}
	return version
}

// eachMirrored calls do for each argument that the schema wants to have a header, with the header's name without its
// prefix. The argument is nil if it is absent or null.
func eachMirrored(schema json.RawMessage, arguments map[string]json.RawMessage, do func(name string, argument json.RawMessage)) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return
	}
	for name, property := range s.Properties {
		argument := arguments[name]
		if string(argument) == "null" {
			argument = nil
		}
		if wanted := textOf(property, "x-mcp-header"); wanted != "" {
			do(wanted, argument)
		} else {
			eachMirrored(property, members(argument), do)
		}
	}
}

// headerValue returns an argument as it is in a header: a boolean, a whole number, or a string. A string that is not
// plain ASCII, or that would read as something else, is in base64. It reports false if the argument is nothing of these.
func headerValue(raw json.RawMessage) (string, bool) {
	var v any
	if raw == nil || decode(raw, &v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			return v.String(), true
		}
		f, err := v.Float64()
		return strconv.FormatInt(int64(f), 10), err == nil && f == float64(int64(f))
	case string:
		plain := v == strings.TrimSpace(v) && !strings.HasPrefix(v, "=?base64?")
		for _, c := range v {
			plain = plain && ' ' <= c && c <= '~'
		}
		if plain {
			return v, true
		}
		return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(v)) + "?=", true
	}
	return "", false
}
