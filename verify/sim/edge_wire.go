package sim

// Bytes on their way, and four ways of reading them: of repeated members the first or the last counts, and names are
// compared with or without their case.

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// A wire is a stream between code that reads and writes bytes, and a scenario of lines.
type wire struct {
	take  func(line []byte) // gets each line that was written
	lines chan []byte       // to be read
	ctx   context.Context   // ends with it
	stop  context.CancelFunc
	came  []byte // the beginning of a line that was written
	rest  []byte // the end of a line that was read
}

func newWire(take func([]byte)) *wire {
	w := &wire{take: take, lines: make(chan []byte, 1024)}
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

func (w *wire) Write(p []byte) (int, error) {
	if w.ended() {
		return 0, io.ErrClosedPipe
	}
	w.came = append(w.came, p...)
	for {
		line, rest, found := bytes.Cut(w.came, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.take(bytes.Clone(line))
		w.came = rest
	}
}

func (w *wire) Read(p []byte) (int, error) {
	if len(w.rest) == 0 {
		select {
		case w.rest = <-w.lines:
		default:
			select {
			case w.rest = <-w.lines:
			case <-w.ctx.Done():
				return 0, io.EOF
			}
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// give lets the other side read a text, unless the wire has ended.
func (w *wire) give(text []byte) {
	select {
	case w.lines <- text:
	case <-w.ctx.Done():
	}
}

func (w *wire) Close() error {
	w.stop()
	return nil
}

func (w *wire) ended() bool { return w.ctx.Err() != nil }

// A reader is how a program finds a member of an object.
type reader struct {
	name  string
	first bool // of several, the first
	same  func(written, wanted string) bool
}

// readers are the ways of reading in use. If two of them read a call differently, not every server
// executes what the person was shown.
var readers = []reader{
	{"exact names, the last", false, func(a, b string) bool { return a == b }},
	{"exact names, the first", true, func(a, b string) bool { return a == b }},
	{"names in any case, as Go folds them, the last", false, strings.EqualFold},
	{"names in any case of ASCII, the first", true, func(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }},
}

type member struct {
	name  string
	value json.RawMessage
}

func members(object []byte) (all []member) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return nil
		}
		all = append(all, member{name, value})
	}
	return all
}

// find returns the value that the reader takes for a member, nil if the object lacks it.
func (r reader) find(all []member, name string) (found json.RawMessage) {
	for _, m := range all {
		if r.same(m.name, name) {
			if found = m.value; r.first {
				return found
			}
		}
	}
	return found
}

// member returns the member of an object, nil if it has none.
func (r reader) member(object []byte, name string) json.RawMessage {
	return r.find(members(object), name)
}

// A reading is a message as a server reads it.
type reading struct{ method, id, tool, arguments string }

func (r reader) read(message []byte) reading {
	all := members(message)
	params := members(r.find(all, "params"))
	id := compact(r.find(all, "id"))
	if id == "null" {
		id = ""
	}
	return reading{text(r.find(all, "method")), id, text(r.find(params, "name")), compact(r.find(params, "arguments"))}
}

// repeated returns the name of a member that occurs twice in an object, at any depth and in any
// case, "" for none.
func repeated(value json.RawMessage) string {
	var list []json.RawMessage
	_ = json.Unmarshal(value, &list) // it is empty unless the value is a list
	all := members(value)
	for i, m := range all {
		if slices.ContainsFunc(all[:i], func(before member) bool { return strings.EqualFold(before.name, m.name) }) {
			return m.name
		}
		list = append(list, m.value)
	}
	for _, value := range list {
		if name := repeated(value); name != "" {
			return name
		}
	}
	return ""
}

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // s stays empty for any other value
	return s
}

// compact returns JSON without the spaces that mean nothing.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
