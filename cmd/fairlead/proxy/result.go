package proxy

// A result of a tool is read once, with its message if possible, and kept beside the bytes that the server wrote. If the
// chain returns what was read from them, those bytes are what the client gets, see [session.callTool].

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// written is an answer as a server wrote it.
type written struct {
	res  *mcp.CallToolResult
	was  mcp.CallToolResult // res as it was read
	raw  json.RawMessage
	kind string
	more bool // it may have more than res

	arguments json.RawMessage // of the call that it answers, as they were sent; nil if they are not known
}

// gives reports whether a result is what was read, in the parts that it has, so that the bytes tell all of it.
func (w *written) gives(res *mcp.CallToolResult) bool {
	return w != nil && res != nil && reflect.DeepEqual(*res, w.was) //nolint:govet // the SDK keeps an error in it that is nil in what was read
}

// goesOn reports whether the server answered with a task, or with something else that only
// the client may know how to read.
func (w *written) goesOn() bool {
	return w != nil && w.kind != "" && w.kind != "complete" && w.kind != "input_required"
}

// resultTo answers a request with a result of ours.
func (m *message) resultTo(result any) *message {
	raw, err := json.Marshal(result)
	if err != nil {
		return m.failTo(&jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "proxy: the result cannot be written: " + err.Error()})
	}
	return m.replyTo(raw)
}

// resultOf answers a call. A client that names its revision in each request refuses a result without its type: one of ours
// has none, and neither has one of a server of an earlier revision that another client or server shares.
func (m *message) resultOf(res *mcp.CallToolResult) *message {
	reply := m.resultTo(res)
	if reply.Result != nil && m.namesRevision() && textOf(reply.Result, "resultType") == "" {
		reply.Result = withMember(reply.Result, "resultType", "complete")
	}
	return reply
}

// namesRevision reports whether a request is of a revision without sessions.
func (m *message) namesRevision() bool { return m.meta[mcp.MetaKeyProtocolVersion] != nil }

// complete are results of the SDK's type whose resultType is as given.
var complete = func() map[string]mcp.CallToolResult {
	var res mcp.CallToolResult
	if err := json.Unmarshal([]byte(`{"content":[],"resultType":"complete"}`), &res); err != nil {
		panic(err) // it is the SDK's own form
	}
	return map[string]mcp.CallToolResult{"": {}, "complete": res}
}()

// scanResult reads a result that is a whole text.
func scanResult(raw json.RawMessage) *written {
	s := &scan{text: raw}
	if w := s.result(); w != nil && s.next() == 0 && s.at == len(raw) {
		return w
	}
	return nil
}

// result takes a result of texts and of structured content. It returns nil at any other, such as one with images or of
// another type, which has to be decoded.
func (s *scan) result() *written {
	var seen [5]bool
	content, meta, structured, kind := []mcp.Content{}, mcp.Meta(nil), any(nil), ""
	isError, from := false, s.at
	s.object(func(name []byte) {
		i := slices.Index([]string{"content", "isError", "resultType", "structuredContent", "_meta"}, string(name))
		if i < 0 || seen[i] { // another one, one in another case, or a second one
			s.at = -1
			return
		}
		seen[i] = true
		fine := true
		switch value := s.next(); string(name) {
		case "content":
			s.list('[', ']', func() { content = append(content, s.content()) })
		case "isError":
			isError, fine = value == 't', value == 't' || value == 'f'
			s.value()
		case "resultType":
			kind = s.str()
		case "structuredContent":
			fine = decode(s.value(), &structured) == nil && inRange(structured)
		case "_meta":
			fine = value == '{' && decode(s.value(), &meta) == nil && inRange(map[string]any(meta))
		}
		if !fine {
			s.at = -1
		}
	})
	res, known := complete[kind]
	if s.at < 0 || !known {
		return nil
	}
	res.Content, res.Meta, res.StructuredContent, res.IsError = content, meta, structured, isError
	return &written{res: &res, was: res, raw: s.text[from:s.at:s.at], kind: kind}
}

// inRange reports whether a float64 can hold every number in v, as the SDK wants it.
func inRange(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !inRange(e) })
	case map[string]any:
		for _, e := range v {
			if !inRange(e) {
				return false
			}
		}
	case json.Number:
		_, err := v.Float64()
		return err == nil
	}
	return true
}

// content takes a content of type text, and fails at any other.
func (s *scan) content() *mcp.TextContent {
	var text *mcp.TextContent
	typed := false
	s.object(func(name []byte) {
		switch {
		case string(name) == "type" && !typed:
			if kind, _ := s.string(); string(kind) != "text" {
				s.at = -1
			}
			typed = true
		case string(name) == "text" && text == nil:
			text = &mcp.TextContent{Text: s.str()}
		default:
			s.at = -1
		}
	})
	if text == nil || !typed {
		s.at = -1
	}
	return text
}

// readResult reads a result, and its type as the server names it. Numbers keep their digits.
func readResult(raw json.RawMessage) (*written, error) {
	if w := scanResult(raw); w != nil {
		return w, nil
	}
	w := &written{res: new(mcp.CallToolResult), raw: raw, more: true}
	var digits struct {
		ResultType string   `json:"resultType"`
		Structured any      `json:"structuredContent"`
		Meta       mcp.Meta `json:"_meta"`
	}
	err := decode(raw, &digits)
	if err == nil {
		err = json.Unmarshal(raw, w.res)
	}
	w.res.StructuredContent, w.res.Meta = digits.Structured, digits.Meta
	w.kind, w.was = digits.ResultType, *w.res
	return w, err
}

// unread is an answer of a server's that was not understood. Only its client may know how to read it: it is handed on as
// it is, if it can be read in one way only, and nothing is made of it.
type unread interface {
	error
	Unread() []byte
}
