package proxy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Most messages are scanned once instead of being decoded. A scan that fails decides nothing:
// the text is then decoded by package json and the SDK, which report what is wrong with it.

// maxScanned is how deep the values of a text may be nested that is scanned.
const maxScanned = 500

// A scan reads a JSON text from its beginning. After a failure its at is negative.
type scan struct {
	text  []byte
	at    int
	depth int
}

// next returns the first byte that is not white space, without taking it; 0 at the end.
func (s *scan) next() byte {
	for s.at >= 0 && s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// take takes one byte and reports whether it is c. It fails if it is not.
func (s *scan) take(c byte) bool {
	if s.next() != c {
		s.at = -1
		return false
	}
	s.at++
	return true
}

// list calls one for each element between two brackets, until one fails.
func (s *scan) list(from, to byte, one func()) {
	if s.depth++; s.depth > maxScanned {
		s.at = -1
	}
	if !s.take(from) {
		return
	}
	for empty := true; !empty || s.next() != to; empty = false {
		if one(); s.next() != ',' {
			break
		}
		s.at++
	}
	s.take(to)
	s.depth--
}

// object calls one for each member of an object, with its name; one takes the value. An
// object fails that has a name with an escape, or one that is not in ASCII.
func (s *scan) object(one func(name string)) {
	s.list('{', '}', func() {
		if name, plain := s.string(); s.take(':') && plain {
			one(string(name))
			return
		}
		s.at = -1
	})
}

// value takes a value and returns its text, nil after a failure.
func (s *scan) value() json.RawMessage {
	c, from := s.next(), s.at
	switch c {
	case '{':
		s.list('{', '}', func() {
			s.string()
			s.take(':')
			s.value()
		})
	case '[':
		s.list('[', ']', func() { s.value() })
	case '"':
		s.string()
	default:
		for s.at >= 0 && s.at < len(s.text) && strings.IndexByte("+-.0123456789Eaeflnrstu", s.text[s.at]) >= 0 {
			s.at++
		}
		if s.at < 0 || !json.Valid(s.text[from:s.at]) {
			s.at = -1
		}
	}
	if s.at < 0 {
		return nil
	}
	return s.text[from:s.at:s.at]
}

// string takes a string and returns what is between its quotes. It is plain if that is ASCII without escapes.
func (s *scan) string() (inside []byte, plain bool) {
	if !s.take('"') {
		return nil, false
	}
	from, plain := s.at, true
	for i := skipPlain(s.text, from); i < len(s.text); i = skipPlain(s.text, i+1) {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			return s.text[from:i], plain
		case c == '\\' && i+1 < len(s.text) && (unescaped[s.text[i+1]] != 0 || isHex(s.text[i+1:])):
			i++
		case c < utf8.RuneSelf:
			s.at = -1
			return nil, false
		}
		plain = false
	}
	s.at = -1
	return nil, false
}

// skipPlain returns the index of the first byte from i that is not in plain, or the length of the text.
func skipPlain(text []byte, i int) int {
	const ones = 0x0101010101010101
	for ; i+8 <= len(text); i += 8 { // the lowest bit of others is of the first byte that is a control, a quote, a backslash or not ASCII
		c := binary.LittleEndian.Uint64(text[i:])
		quote, backslash := c^ones*'"', c^ones*'\\'
		others := (c | (c-ones*' ')&^c | (quote-ones)&^quote | (backslash-ones)&^backslash) & (ones * utf8.RuneSelf)
		if others != 0 {
			return i + bits.TrailingZeros64(others)/8
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\' && text[i] < utf8.RuneSelf {
		i++
	}
	return min(i, len(text))
}

// str takes a string and returns what it stands for.
func (s *scan) str() (text string) {
	inside, plain := s.string()
	switch {
	case s.at < 0:
		return ""
	case plain:
		return string(inside)
	case bytes.Contains(inside, []byte(`\u`)) || !utf8.Valid(inside):
		if json.Unmarshal(s.text[s.at-len(inside)-2:s.at], &text) != nil {
			s.at = -1
		}
		return text
	}
	var out strings.Builder
	out.Grow(len(inside))
	from := 0
	for i := 0; i < len(inside); i++ {
		if inside[i] == '\\' {
			out.Write(inside[from:i])
			out.WriteByte(unescaped[inside[i+1]])
			i++
			from = i + 1
		}
	}
	out.Write(inside[from:])
	return out.String()
}

// isHex reports whether the text begins with an escape such as u00e9.
func isHex(text []byte) bool {
	const hex = "0123456789abcdefABCDEF"
	return len(text) > 4 && text[0] == 'u' && len(bytes.Trim(text[1:5], hex)) == 0
}

// unescaped are what escapes of one byte stand for.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// scanMessage is decodeMessage for the messages that a scan can read.
func scanMessage(text []byte) (m *message, ok bool) {
	s := &scan{text: text}
	m = new(message)
	s.object(func(name string) {
		var to *json.RawMessage
		switch name {
		case "method":
			if m.Method != "" {
				s.at = -1
			}
			m.Method = s.str()
			return
		case "id":
			to = &m.ID
		case "params":
			to = &m.Params
		case "result":
			if to = &m.Result; m.Result == nil && s.next() == '{' {
				from := *s
				if m.read = s.result(); m.read != nil {
					m.Result = s.text[from.at:s.at:s.at]
					return
				}
				*s = from
			}
		case "error":
			to = &m.Error
		case "jsonrpc":
			to = new(json.RawMessage)
		}
		if to == nil || *to != nil { // another one, one in another case, or a second one
			s.at = -1
			return
		}
		*to = s.value()
	})
	return m, s.next() == 0 && s.at == len(text)
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

// result takes a result of texts and of structured content. At any other, such as one with
// images or of another type, which has to be decoded, it returns nil.
func (s *scan) result() *written {
	var seen [5]bool
	content, meta, structured, kind := []mcp.Content{}, mcp.Meta(nil), any(nil), ""
	isError, from := false, s.at
	s.object(func(name string) {
		i := slices.Index([]string{"content", "isError", "resultType", "structuredContent", "_meta"}, name)
		if i < 0 || seen[i] { // another one, one in another case, or a second one
			s.at = -1
			return
		}
		seen[i] = true
		fine := true
		switch value := s.next(); name {
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
	s.object(func(name string) {
		switch {
		case name == "type" && !typed && s.str() == "text":
			typed = true
		case name == "text" && text == nil:
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
