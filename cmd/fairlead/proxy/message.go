package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A message is one of JSON-RPC: a request, a notification, or a response. Its contents are kept as they were written,
// and it is encoded around them, so that the other side reads the same ID, params and result to the byte. They may be
// slices of the text that was read, and are not written to. [message.with] returns a changed copy.
type message struct {
	ID     json.RawMessage `json:"id"` // nil in a notification
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`

	key  string                     // the ID as it was read, see id
	meta map[string]json.RawMessage // of the params
	read *written                   // the result, where it was read with the message
	odd  error                      // why it can be read in two ways; nil if it cannot

	schema json.RawMessage // of the tool that a call of ours names, over HTTP; nil otherwise
	header http.Header     // that a client's message came with, over HTTP; nil otherwise
	held   *held           // the room of a server's message; nil for none
}

func (m *message) isRequest() bool { return m.Method != "" && m.ID != nil }

// stray reports why a client's message is neither a request, a notification nor a response, "" if it
// is. A server may execute a call without an id, or one with its method in another case.
func (m *message) stray() string {
	switch {
	case m.odd != nil:
		return m.odd.Error()
	case m.Method == "":
		return ""
	case m.ID == nil && !strings.HasPrefix(m.Method, "notifications/"):
		return "a request needs an id"
	case len(m.ID) > 0 && !strings.ContainsAny(string(m.ID[:1]), `"-0123456789`):
		return "the id of a request is a text or a number"
	}
	if ours := m.chained(); ours != m.Method && ours != "" {
		return "its method can be taken for " + ours
	}
	return ""
}

// chained returns the chain's method for which a server may take the message's, "" for none.
func (m *message) chained() string {
	for _, ours := range []string{methodCallTool, methodListTools, methodUpdateTask} {
		if strings.EqualFold(strings.TrimSpace(m.Method), ours) {
			return ours
		}
	}
	return ""
}

// id is the message's ID as a key: 1 and "1" are two.
func (m *message) id() string {
	if m.key == string(m.ID) {
		return m.key
	}
	return string(m.ID)
}

var errNoMessage = errors.New("want a message of JSON-RPC")

// parse reads a message, or a batch of them, and hands over each. After an error it has handed over none.
func parse(text []byte, take func(*message)) error {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '[' {
		m, err := parseOne(text)
		if err == nil {
			take(m)
		}
		return err
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(text, &batch); err != nil || len(batch) == 0 {
		return errNoMessage
	}
	all := make([]*message, len(batch))
	for i, one := range batch {
		var err error
		if all[i], err = parseOne(one); err != nil {
			return err
		}
	}
	for _, m := range all {
		take(m)
	}
	return nil
}

// parseAll is parse with the messages in a list.
func parseAll(text []byte) (all []*message, err error) {
	err = parse(text, func(m *message) { all = append(all, m) })
	return all, err
}

// parseOne reads a message. An ID that is null or missing makes it a notification; an ID that is an object or a list is
// an error, as is a message that is neither a request nor a response.
func parseOne(text []byte) (*message, error) {
	if len(text) == 0 || text[0] != '{' {
		return nil, errNoMessage
	}
	m, scanned := scanMessage(text)
	if !scanned {
		m = new(message)
		if err := json.Unmarshal(text, m); err != nil {
			if text = mount.LimitDepth(text); json.Unmarshal(text, m) != nil {
				return nil, fmt.Errorf("%w: %w", errNoMessage, err)
			}
		}
		if err := mount.TopReading(text, "jsonrpc", "id", "method", "params", "result", "error"); err != nil {
			m.odd = fmt.Errorf("the message can be read in two ways: %w", err)
		}
	}
	m.ID = bytes.TrimSpace(m.ID)
	if m.Result != nil && string(m.Error) == "null" { // as some write that there is none
		m.Error = nil
	}
	if m.Method == "" && m.Result == nil && string(m.Error) == "null" { // its request is not to wait
		m.Result, m.Error, m.odd = m.Error, nil, errors.New("the response has neither a result nor an error")
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
	m.key, m.meta = string(m.ID), metaOf(m.Params)
	return m, nil
}

// odds returns an error for a message of a server's that a client could read in another way than it is read here. The
// method is that of the request that it answers, "" for a message that answers none.
func (m *message) odds(method string) error {
	if m.odd != nil {
		return m.odd
	}
	for _, part := range [...]struct {
		text  json.RawMessage
		known []string
	}{{m.Params, knownParams}, {m.Result, knownResults[method]}, {m.Error, knownErrors}} {
		if err := mount.OneReading(part.text, part.known...); err != nil {
			return fmt.Errorf("the message can be read in two ways: %w", err)
		}
	}
	return nil
}

// The names in messages of servers that the protocol has. A list of tools and the result of a call are read elsewhere.
var (
	knownErrors  = []string{"code", "message", "data"}
	knownParams  = []string{"_meta", "progressToken", "progress", "requestId", "taskId", "status", "uri", "level", "data", "message", "requestedSchema"}
	knownResults = map[string][]string{
		"initialize":               {"protocolVersion", "capabilities", "serverInfo", "instructions", "_meta"},
		methodDiscover:             {"supportedVersions", "capabilities", "serverInfo", "instructions", "resultType", "_meta"},
		"prompts/list":             {"prompts", "nextCursor", "_meta"},
		"prompts/get":              {"messages", "description", "_meta"},
		"resources/list":           {"resources", "nextCursor", "_meta"},
		"resources/templates/list": {"resourceTemplates", "nextCursor", "_meta"},
		"resources/read":           {"contents", "_meta"},
		"tasks/get":                {"taskId", "status", "statusMessage", "result", "error", "resultType", "_meta"},
	}
)

// An ambiguousError is about an answer that can be read in two ways. It is not passed on.
type ambiguousError struct {
	error

	raw json.RawMessage // for information flow
}

func (e *ambiguousError) Unwrap() error { return e.error }

// scanMessage reads a message in one pass, with its result if it has one. It reports false for a message that has to be
// decoded; m is then of no use.
func scanMessage(text []byte) (m *message, ok bool) {
	s := &scan{text: text}
	m = new(message)
	s.object(func(name []byte) {
		var to *json.RawMessage
		switch string(name) {
		case "method":
			if m.Method != "" {
				s.at = -1
			}
			m.Method = s.method()
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

// method takes the name of a method. That of a call needs no string of its own.
func (s *scan) method() string {
	if s.next() == '"' && bytes.HasPrefix(s.text[s.at:], []byte(`"`+methodCallTool+`"`)) {
		s.at += len(methodCallTool) + 2
		return methodCallTool
	}
	return s.str()
}

// encode writes the message on one line, without its end.
func (m *message) encode() []byte { return m.append(nil) }

// writeTo writes what encode returns, a large result without a copy of it.
func (m *message) writeTo(w io.Writer) error {
	if len(m.Result) <= smallBody || m.Error != nil || m.Method != "" || !oneLine(m.Result) {
		_, err := w.Write(m.encode())
		return err
	}
	const inPlace = "null"
	begin := (&message{ID: m.ID, Result: json.RawMessage(inPlace)}).encode()
	for _, part := range [][]byte{begin[:len(begin)-len(inPlace+"}")], m.Result, []byte("}")} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// oneLine reports whether a value can be written as it is.
func oneLine(value json.RawMessage) bool {
	return utf8.Valid(value) && bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0
}

func (m *message) append(b []byte) []byte {
	b = slices.Grow(b, 64+len(m.ID)+len(m.Method)+len(m.Params)+len(m.Result)+len(m.Error))
	b = append(b, `{"jsonrpc":"2.0"`...)
	if m.ID != nil {
		b = appendMember(b, "id", m.ID)
	}
	switch {
	case m.Method != "":
		b = appendQuoted(append(b, `,"method":`...), m.Method)
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

// appendMember appends a member, with its value in UTF-8 and on one line: over stdio a line break ends the message.
func appendMember(b []byte, name string, value json.RawMessage) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	if oneLine(value) {
		return append(b, value...)
	}
	if !utf8.Valid(value) {
		value = asRead(value)
	}
	line := new(bytes.Buffer)
	if json.Compact(line, value) != nil {
		return append(b, "null"...) // it was parsed, so that this does not happen
	}
	return append(b, line.Bytes()...)
}

// asRead returns a text with U+FFFD for each byte that is not part of a character in UTF-8, as package json reads it. Other
// readers put another number of them in its place, or refuse the message.
func asRead(text []byte) []byte {
	valid := make([]byte, 0, len(text)+2*utf8.UTFMax)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		valid = utf8.AppendRune(valid, r)
		text = text[n:]
	}
	return valid
}

// with returns the message with a member of its params set.
func (m *message) with(name string, value any) *message {
	changed := *m
	changed.Params = withMember(m.Params, name, value)
	return &changed
}

// replyTo returns the response to a request.
func (m *message) replyTo(result json.RawMessage) *message {
	return &message{ID: m.ID, Result: result}
}

// failTo returns the response to a request that failed.
func (m *message) failTo(err *jsonrpc.Error) *message {
	text, jsonErr := json.Marshal(err)
	if jsonErr != nil {
		text = fmt.Appendf(nil, `{"code":%d,"message":%s}`, err.Code, quoted(err.Message)) // its data were at fault
	}
	return &message{ID: m.ID, Error: text}
}

// err returns the error of a response, nil if it has a result.
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

// quoted returns a string as JSON.
func quoted(s string) json.RawMessage { return appendQuoted(nil, s) }

func appendQuoted(b []byte, s string) []byte {
	const escaped = `"\\<>&` // by package json
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= utf8.RuneSelf || strings.IndexByte(escaped, s[i]) >= 0 {
			text, _ := json.Marshal(s) //nolint:errchkjson // a string always can be
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// textOf returns a member of an object that is a string, "" if there is none.
func textOf(object json.RawMessage, name string) (text string) {
	_ = json.Unmarshal(member(object, name), &text) // anything else counts as absent
	return text
}

// A shared value is read and replaced by several goroutines. At first it is the zero value.
type shared[T any] struct{ atomic.Value }

func (s *shared[T]) value() T {
	v, _ := s.Load().(T)
	return v
}

// methodCancelled is the method by which either side cancels a request of its own.
const methodCancelled = "notifications/cancelled"

// cancellation returns the notification that a request is not waited for any more.
func cancellation(id json.RawMessage, reason string) *message {
	return &message{Method: methodCancelled, Params: fmt.Appendf(nil, `{"reason":%s,"requestId":%s}`, quoted(reason), id)}
}

// member returns a member of an object, the last of that name. It returns nil if there is none, or if the text is not
// an object.
func member(object json.RawMessage, name string) (value json.RawMessage) {
	if len(object) == 0 {
		return nil
	}
	s := scan{text: object}
	s.object(func(one []byte) {
		if v := s.value(); string(one) == name {
			value = v
		}
	})
	if s.next() == 0 && s.at == len(object) {
		return value
	}
	return members(object)[name]
}

// members returns the members of an object, the last of each name. It returns nil if the text is not an object.
func members(object json.RawMessage) map[string]json.RawMessage {
	if len(object) == 0 {
		return nil
	}
	s, all := scan{text: object}, make(map[string]json.RawMessage)
	if s.object(func(name []byte) { all[string(name)] = s.value() }); s.next() == 0 && s.at == len(object) {
		return all
	}
	all = nil
	if json.Unmarshal(object, &all) != nil {
		return nil
	}
	return all
}
