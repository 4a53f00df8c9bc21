package proxy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/mount"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A message is one of JSON-RPC, its contents as they were written. It is encoded around these, so
// that the other side reads the same method and ID.
type message struct {
	ID     json.RawMessage `json:"id"` // nil in a notification
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`

	meta map[string]json.RawMessage // of the params
	read *written                   // the result, where it was read with the message
}

func (m *message) isRequest() bool { return m.Method != "" && m.ID != nil }

// stray reports why a client's message is neither a request, a notification nor a response, "" if it
// is. A server may execute a call without an id, or one with its method in another case.
func (m *message) stray() string {
	switch {
	case m.Method == "":
		return ""
	case m.ID == nil && !strings.HasPrefix(m.Method, "notifications/"):
		return "a request needs an id"
	}
	if ours := m.chained(); ours != m.Method && ours != "" {
		return "its method can be taken for " + ours
	}
	return ""
}

// chained returns the chain's method for which a server may take the message's, "" for none.
func (m *message) chained() string {
	for _, ours := range []string{methodCallTool, methodListTools} {
		if strings.EqualFold(strings.TrimSpace(m.Method), ours) {
			return ours
		}
	}
	return ""
}

// id is the message's ID as a key: 1 and "1" are two.
func (m *message) id() string { return string(m.ID) }

var errNoMessage = errors.New("it is no message of JSON-RPC")

// parse reads a message, or a batch of them.
func parse(text []byte) ([]*message, error) {
	text = bytes.TrimSpace(text)
	batch := []json.RawMessage{text}
	if len(text) > 0 && text[0] == '[' {
		batch = nil // decoding into it would write over the text
		if err := json.Unmarshal(text, &batch); err != nil || len(batch) == 0 {
			return nil, errNoMessage
		}
	}
	all := make([]*message, len(batch))
	for i, one := range batch {
		var err error
		if all[i], err = parseOne(one); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func parseOne(text []byte) (*message, error) {
	if len(text) == 0 || text[0] != '{' {
		return nil, errNoMessage
	}
	m, scanned := scanMessage(text)
	if !scanned {
		m = new(message)
		if err := json.Unmarshal(text, m); err != nil && json.Unmarshal(mount.Shallow(text), m) != nil {
			return nil, fmt.Errorf("%w: %w", errNoMessage, err)
		}
	}
	m.ID = bytes.TrimSpace(m.ID)
	if m.Result != nil && string(m.Error) == "null" { // as some write that there is none
		m.Error = nil
	}
	switch {
	case m.Method != "" && (len(m.ID) == 0 || string(m.ID) == "null"):
		m.ID = nil
	case len(m.ID) == 0, m.Method == "" && m.Result == nil && m.Error == nil:
		return nil, errNoMessage
	}
	if len(m.ID) > 0 && (m.ID[0] == '{' || m.ID[0] == '[') {
		return nil, errNoMessage
	}
	m.meta = metaOf(m.Params)
	return m, nil
}

// encode writes the message on one line, without its end.
func (m *message) encode() []byte { return m.append(nil) }

func (m *message) append(b []byte) []byte {
	b = slices.Grow(b, 64+len(m.ID)+len(m.Method)+len(m.Params)+len(m.Result)+len(m.Error))
	b = append(b, `{"jsonrpc":"2.0"`...)
	if m.ID != nil {
		b = appendMember(b, "id", m.ID)
	}
	switch {
	case m.Method != "":
		b = appendMember(b, "method", quoted(m.Method))
		if m.Params != nil {
			b = appendMember(b, "params", m.Params)
		}
	case m.Error != nil:
		b = appendMember(b, "error", m.Error)
	default:
		b = appendMember(b, "result", m.Result)
	}
	return append(b, '}')
}

func appendMember(b []byte, name string, value json.RawMessage) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return append(b, value...)
	}
	line := new(bytes.Buffer)
	if json.Compact(line, value) != nil {
		return append(b, "null"...) // it was parsed, so that this does not happen
	}
	return append(b, line.Bytes()...)
}

// with returns the message with a member of its params set.
func (m *message) with(name string, value any) *message {
	changed := *m
	changed.Params = withMember(m.Params, name, value)
	return &changed
}

func (m *message) replyTo(result json.RawMessage) *message {
	return &message{ID: m.ID, Result: result}
}

func (m *message) failTo(err *jsonrpc.Error) *message {
	text, jsonErr := json.Marshal(err)
	if jsonErr != nil {
		text = fmt.Appendf(nil, `{"code":%d,"message":%s}`, err.Code, quoted(err.Message)) // its data were at fault
	}
	return &message{ID: m.ID, Error: text}
}

// err is the error that an answer holds, nil where it holds a result.
func (m *message) err() error {
	if m.Error == nil || string(m.Error) == "null" {
		return nil
	}
	e := new(jsonrpc.Error)
	if err := json.Unmarshal(m.Error, e); err != nil {
		return fmt.Errorf("the server answered with an error that cannot be read: %.200s", m.Error)
	}
	return e
}

func quoted(s string) json.RawMessage {
	text, _ := json.Marshal(s) //nolint:errchkjson // a string always can be
	return text
}

// textOf is the member of an object that is a text; "" if there is none.
func textOf(object json.RawMessage, member string) (text string) {
	_ = json.Unmarshal(members(object)[member], &text) // anything else counts as absent
	return text
}

// A shared value is read and replaced by several goroutines. At first it is the zero value.
type shared[T any] struct{ atomic.Value }

func (s *shared[T]) value() T {
	v, _ := s.Load().(T)
	return v
}

const methodCancelled = "notifications/cancelled"

func cancellation(id json.RawMessage, reason string) *message {
	return &message{Method: methodCancelled, Params: fmt.Appendf(nil, `{"reason":%s,"requestId":%s}`, quoted(reason), id)}
}

// members are the members of an object, nil where it is none.
func members(object json.RawMessage) map[string]json.RawMessage {
	if len(object) == 0 {
		return nil
	}
	s, all := scan{text: object}, make(map[string]json.RawMessage)
	if s.object(func(name string) { all[name] = s.value() }); s.next() == 0 && s.at == len(object) {
		return all
	}
	all = nil
	if json.Unmarshal(object, &all) != nil {
		return nil
	}
	return all
}

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

// Some servers take the first of two members of one name, some the last, and some ignore the case.
// A forwarded message must read the same for all.

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

// readCall takes each member from the params by its exact name; no other reader can find another.
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
