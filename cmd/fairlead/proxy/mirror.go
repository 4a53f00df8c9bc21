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
	header.Set("Mcp-Method", m.Method)
	params := members(m.Params)
	member := map[string]string{methodCallTool: "name", "prompts/get": "name", "resources/read": "uri"}[m.Method]
	if strings.HasPrefix(m.Method, "tasks/") {
		member = "taskId"
	}
	var name string
	if member != "" && json.Unmarshal(params[member], &name) == nil {
		header.Set("Mcp-Name", name)
	}
	if m.schema != nil {
		mirrorArguments(header, m.schema, members(params["arguments"]))
	}
	return version
}

// mirrorArguments sets a header for each argument that the schema wants to have one.
func mirrorArguments(header http.Header, schema json.RawMessage, arguments map[string]json.RawMessage) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return
	}
	for name, property := range s.Properties {
		argument, there := arguments[name]
		if !there || string(argument) == "null" {
			continue
		}
		if wanted := textOf(property, "x-mcp-header"); wanted != "" {
			if value, ok := headerValue(argument); ok {
				header.Set("Mcp-Param-"+wanted, value)
			}
			continue
		}
		mirrorArguments(header, property, members(argument))
	}
}

// headerValue returns an argument as it is in a header: a boolean, a whole number, or a string. A string that is not
// plain ASCII, or that would read as something else, is in base64. It reports false if the argument is nothing of these.
func headerValue(raw json.RawMessage) (string, bool) {
	var v any
	if decode(raw, &v) != nil {
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
