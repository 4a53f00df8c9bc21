package proxy

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mirror puts into a request's headers what its revision wants to see there of the
// body, and returns the revision.
func mirror(header http.Header, ctx context.Context, m *message, agreed string) string {
	version := agreed
	if said := metaOf(m.Params)[mcp.MetaKeyProtocolVersion]; said != nil {
		_ = json.Unmarshal(said, &version) // one that is no text is the server's to refuse
	}
	if version < modern || m.Method == "" {
		return version
	}
	header.Set("Mcp-Method", m.Method)
	params := members(m.Params)
	member := map[string]string{methodCallTool: "name", "prompts/get": "name", "resources/read": "uri"}[m.Method]
	var name string
	if member != "" && json.Unmarshal(params[member], &name) == nil {
		header.Set("Mcp-Name", name)
	}
	if schema, ok := ctx.Value(schemaKey{}).(json.RawMessage); ok && m.Method == methodCallTool {
		mirrorArguments(header, schema, members(params["arguments"]))
	}
	return version
}

// schemaKey is under what the context of a call keeps the tool's input schema.
type schemaKey struct{}

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
		var wanted string
		if json.Unmarshal(members(property)["x-mcp-header"], &wanted) == nil && wanted != "" {
			if value, ok := headerValue(argument); ok {
				header.Set("Mcp-Param-"+wanted, value)
			}
			continue
		}
		mirrorArguments(header, property, members(argument))
	}
}

// headerValue writes a text, a bool or an integer as a header.
func headerValue(raw json.RawMessage) (string, bool) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		if v != float64(int64(v)) {
			return "", false
		}
		return strconv.FormatInt(int64(v), 10), true
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
