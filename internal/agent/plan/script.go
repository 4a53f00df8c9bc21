package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Script plays a list of calls.
type Script struct {
	name  string
	calls []scripted
}

type scripted struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// ReadScript reads a JSON list of calls, [{"tool": …, "arguments": {…}}, …]. The
// name is what errors call it. Arguments are kept byte for byte.
func ReadScript(name string, data []byte) (*Script, error) {
	s := &Script{name: name}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s.calls); err != nil {
		return nil, fmt.Errorf(`the script %s is no list of calls: %w; write [{"tool": "read_file", "arguments": {"path": "a.txt"}}]`, name, located(data, err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the script %s goes on after its list; keep one JSON list in it", name)
	}
	for i, c := range s.calls {
		if c.Tool == "" {
			return nil, fmt.Errorf(`the script %s: call %d names no tool; give it a "tool"`, name, i+1)
		}
	}
	return s, nil
}

// located adds the line to an error of the JSON decoder.
func located(data []byte, err error) error {
	offset := int64(-1)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends in the middle")
	}
	if offset < 0 || offset > int64(len(data)) {
		return err
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:offset], []byte("\n")), err)
}

// Name implements [Planner].
func (s *Script) Name() string { return "script " + s.name }

// Next implements [Planner]. A call that fails does not end the script.
func (s *Script) Next(context.Context, Turn) (Step, error) {
	if len(s.calls) == 0 {
		return Step{Done: true}, nil
	}
	c := s.calls[0]
	s.calls = s.calls[1:]
	return Step{Calls: []Request{{Tool: c.Tool, Arguments: c.Arguments, Why: "the script " + s.name + " says so"}}}, nil
}
