package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// A toolPage is what one JSON value holds: the tools of a list, or a single one.
type toolPage struct {
	line   int               // where the value begins
	server string            // who lists the tools, "" for a tool that is not in a list
	tools  []json.RawMessage // each any JSON value
}

// A pageReader reads tools as programs write them: one object a line, objects over several lines, arrays, answers of
// tools/list with or without the frame of JSON-RPC, and events of a stream. Several of them may follow each other. The
// pages of one list belong together: one with a cursor is followed by the next.
type pageReader struct {
	in     *bufio.Reader
	number int      // of the line that was read last
	rest   []byte   // of the line that was read last, behind a value
	held   [][]byte // lines to read again, in their order
	failed int      // values that did not end
	lists  int      // that have begun
	more   bool     // the last page has a cursor
}

func newPageReader(in io.Reader) *pageReader { return &pageReader{in: bufio.NewReaderSize(in, 1<<20)} }

// maxFailed is how many values may be looked for to the end of the input; after those each line is a value.
const maxFailed = 20

// next returns the next page. A *pageError is about one value, and the next call goes on behind it. The end is io.EOF.
func (r *pageReader) next() (toolPage, error) {
	for {
		line, err := r.line()
		if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			return toolPage{}, err
		}
		if line = payload(line); len(line) == 0 {
			continue
		}
		at := r.number
		text, ok := r.value(line)
		if !ok {
			return toolPage{}, &pageError{at, errNoTool}
		}
		p, err := r.parse(text)
		if p.line = at; err != nil {
			return p, &pageError{at, err}
		}
		return p, nil
	}
}

// A pageError is about the value that begins on a line.
type pageError struct {
	line int
	err  error
}

func (e *pageError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *pageError) Unwrap() error { return e.err }

var errNoTool = errors.New(`not a JSON object; write one tool a line, such as {"name":"read_file"}, or the answer of tools/list`)

// line returns the next line with its end.
func (r *pageReader) line() ([]byte, error) {
	if line := r.rest; line != nil {
		r.rest = nil
		return line, nil
	}
	if len(r.held) > 0 {
		line := r.held[0]
		r.held = r.held[1:]
		r.number++
		return line, nil
	}
	line, err := r.in.ReadBytes('\n')
	if len(line) > 0 {
		r.number++
	}
	return line, err
}

// payload returns what of a line is JSON: without the byte order mark of an editor and the fields of a stream of events.
func payload(line []byte) []byte {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
	for _, field := range []string{"event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(line, []byte(field)) {
			return nil
		}
	}
	return bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data:")))
}

// value returns the value that begins with a line. The rest of its last line is read again. It reports false for
// one that does not end, of which only the first line is consumed.
func (r *pageReader) value(first []byte) ([]byte, bool) {
	if first[0] != '{' && first[0] != '[' {
		return first, true
	}
	var s span
	text, part := bytes.Clone(first), first
	var more [][]byte
	for {
		if end := s.end(part); end >= 0 {
			if rest := bytes.TrimSpace(part[end:]); len(rest) > 0 {
				r.rest = bytes.Clone(rest)
			}
			return text[:len(text)-len(part)+end], true
		}
		if s.text || r.failed == maxFailed || len(text) > maxBatch { // no text goes on over the end of a line
			break
		}
		if part, _ = r.line(); len(part) == 0 { // the next call has the error
			break
		}
		more = append(more, bytes.Clone(part))
		text = append(text, part...)
	}
	if len(more) > 0 { // no copy of what is held for each of many lines
		r.held = append(more, r.held...)
		r.number -= len(more)
	}
	r.failed = min(r.failed+1, maxFailed)
	return nil, false
}

// A span follows the brackets of a JSON value over several parts.
type span struct {
	depth         int
	text, escaped bool // within a string, and behind a backslash
}

// end returns the place behind the last bracket, -1 if it is not in the part.
func (s *span) end(part []byte) int {
	for i, c := range part {
		switch {
		case s.escaped:
			s.escaped = false
		case s.text:
			s.escaped, s.text = c == '\\', c != '"'
		case c == '"':
			s.text = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			if s.depth--; s.depth <= 0 {
				return i + 1
			}
		}
	}
	return -1
}

// parse returns what is in a value.
func (r *pageReader) parse(text []byte) (toolPage, error) {
	if !json.Valid(text) {
		return toolPage{}, errNoTool
	}
	if text[0] == '[' {
		var all []json.RawMessage
		if err := json.Unmarshal(text, &all); err != nil {
			return toolPage{}, errNoTool
		}
		return toolPage{server: r.list("", false), tools: all}, nil
	}
	var frame struct {
		Name   any             `json:"name"`
		Tools  json.RawMessage `json:"tools"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Message string `json:"message"`
		} `json:"error"`
		ServerInfo struct {
			Name string `json:"name"`
		} `json:"serverInfo"`
		NextCursor string `json:"nextCursor"`
	}
	if json.Unmarshal(text, &frame) != nil { // a tool may have such members of other types
		return toolPage{tools: []json.RawMessage{text}}, nil
	}
	switch {
	case frame.Name != nil:
	case frame.Error != nil:
		return toolPage{}, fmt.Errorf("want a list of tools, got the error of a server: %s", safetext.Line(frame.Error.Message))
	case frame.Result != nil:
		inner, err := r.parse(frame.Result)
		if err != nil || inner.server == "" {
			return toolPage{}, errors.New(`it is an answer without "tools"; give that of tools/list`)
		}
		return inner, nil
	case frame.Tools != nil:
		var all []json.RawMessage
		if json.Unmarshal(frame.Tools, &all) != nil || all == nil {
			return toolPage{}, errors.New(`its "tools" is not a list`)
		}
		return toolPage{server: r.list(frame.ServerInfo.Name, frame.NextCursor != ""), tools: all}, nil
	}
	return toolPage{tools: []json.RawMessage{text}}, nil
}

// list returns the name of the list to which a page belongs. No server of a line has it.
func (r *pageReader) list(server string, more bool) string {
	if !r.more {
		r.lists++
	}
	r.more = more
	return strings.TrimSpace(fmt.Sprintf("list %d %s", r.lists, server))
}
