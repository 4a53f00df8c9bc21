package proxy

// A result of a tool is read once, with its message if possible, and kept beside the bytes that the server wrote. If
// nothing in the chain replaces it, those bytes are what the client gets, see [session.callTool].

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// written is an answer as a server wrote it.
type written struct {
	res  *mcp.CallToolResult
	raw  json.RawMessage
	kind string
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
			fine = json.Unmarshal(s.value(), &structured) == nil
		case "_meta":
			fine = value == '{' && json.Unmarshal(s.value(), &meta) == nil
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
	return &written{&res, s.text[from:s.at:s.at], kind}
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

// readResult reads a result, and its type as the server names it.
func readResult(raw json.RawMessage) (*written, error) {
	if w := scanResult(raw); w != nil {
		return w, nil
	}
	w := &written{new(mcp.CallToolResult), raw, ""}
	var typed struct {
		ResultType string `json:"resultType"`
	}
	err := json.Unmarshal(raw, &typed)
	if err == nil {
		err = json.Unmarshal(raw, w.res)
	}
	w.kind = typed.ResultType
	return w, err
}

// An unreadableError is an answer of a server's that only its client may know how to
// read. It is handed on as it is, and nothing is made of it.
type unreadableError struct {
	error

	raw json.RawMessage
}

func (e *unreadableError) Unwrap() error { return e.error }

// Permanent reports that the same call would only be answered like that again.
func (e *unreadableError) Permanent() bool { return true }
