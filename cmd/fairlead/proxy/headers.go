package proxy

// A request of revision 2026-07-28 repeats parts of its body in headers (see mirror.go), and what is on the way may
// route, limit or refuse it by them. A request whose headers name something else than its body would be let through as the one and
// executed as the other, so it is refused. Headers are compared in any revision if they are there; the newer revisions
// require them.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"
	headerParam  = "Mcp-Param-"
)

// namedBy is the member of the params that the header Mcp-Name repeats, by the method.
var namedBy = map[string]string{methodCallTool: "name", "prompts/get": "name", "resources/read": "uri"}

// mismatch returns the error of a request whose headers contradict its body, nil if they do not. The headers of arguments
// are compared where the tool is known, see [session.mismatchedArguments].
func mismatch(h http.Header, m *message) *jsonrpc.Error {
	var version string
	said := m.meta[mcp.MetaKeyProtocolVersion]
	if said != nil && json.Unmarshal(said, &version) != nil {
		return nil // the server refuses what is not a string
	}
	isModern := h.Get(headerVersion) >= modern
	for _, name := range []string{headerVersion, headerMethod, headerName} {
		if len(h.Values(name)) > 1 {
			return contradiction("the header %s is given %d times", name, len(h.Values(name)))
		}
	}
	switch {
	case m.Method == "":
		return nil
	case isModern && m.isRequest() && said == nil:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("proxy: the request has no %q in its _meta", mcp.MetaKeyProtocolVersion)}
	case said != nil && h.Get(headerVersion) != version:
		return contradiction("the header %s is %q, and the body has the revision %q", headerVersion, h.Get(headerVersion), version)
	case (isModern || len(h.Values(headerMethod)) > 0) && h.Get(headerMethod) != m.Method:
		return contradiction("the header %s is %q, and the method of the body %q", headerMethod, h.Get(headerMethod), m.Method)
	}
	member, there := namedBy[m.Method], len(h.Values(headerName)) > 0
	if strings.HasPrefix(m.Method, "tasks/") && there {
		member = "taskId"
	}
	if member == "" || !there && !isModern {
		return nil
	}
	name := textOf(m.Params, member)
	if value, ok := headerText(h.Get(headerName)); !there || h.Get(headerName) != name && (!ok || value != name) {
		return contradiction("the header %s is %q, and the body has the %s %q", headerName, h.Get(headerName), member, name)
	}
	return nil
}

func contradiction(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "proxy: " + fmt.Sprintf(format, args...) + "; the request was not sent on"}
}

// headerText returns the text that a header stands for, which may be in base64. It reports false if it cannot be read.
func headerText(value string) (string, bool) {
	const before, behind = "=?base64?", "?="
	encoded, begins := strings.CutPrefix(value, before)
	encoded, ends := strings.CutSuffix(encoded, behind)
	if !begins || !ends {
		return value, true
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	return string(text), err == nil
}

// mismatchedArguments returns the error of a call whose headers contradict the arguments that they repeat by the schema of
// the tool, nil if they do not.
func (s *session) mismatchedArguments(m *message, tool *middleware.Tool, arguments json.RawMessage) (err *jsonrpc.Error) {
	if m.header == nil {
		return nil
	}
	var schema json.RawMessage
	for _, one := range s.servers {
		if one.Name == tool.Server {
			schema = member(one.tools.text(tool.Digest), "inputSchema")
		}
	}
	if schema == nil {
		schema = encoded(tool.Definition.InputSchema)
	}
	isModern := m.header.Get(headerVersion) >= modern
	eachMirrored(schema, members(arguments), func(name string, argument json.RawMessage) {
		values := m.header.Values(headerParam + name)
		switch {
		case err != nil:
		case argument == nil && len(values) > 0:
			err = contradiction("there is a header %s%s without its argument", headerParam, name)
		case argument == nil, len(values) == 0 && !isModern:
		case len(values) != 1:
			err = contradiction("the header %s%s is given %d times, want once", headerParam, name, len(values))
		case !repeats(values[0], argument):
			err = contradiction("the header %s%s is not its argument", headerParam, name)
		}
	})
	return err
}

// repeats reports whether a header stands for an argument.
func repeats(header string, argument json.RawMessage) bool {
	value, ok := headerText(header)
	var v any
	if !ok || decode(argument, &v) != nil {
		return false
	}
	switch v := v.(type) {
	case string:
		return value == v
	case bool:
		return value == strconv.FormatBool(v)
	case json.Number: // a whole number, which each side may write in its own way
		const most = 1<<53 - 1
		a, errA := strconv.ParseFloat(value, 64)
		b, errB := v.Float64()
		return value == v.String() && !strings.ContainsAny(value, ".eE") ||
			errA == nil && errB == nil && a == b && a == float64(int64(a)) && -most <= a && a <= most
	}
	return false
}
