package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// A Repl asks a person for each call.
type Repl struct {
	Lines Lines
	Out   io.Writer
	// Prompt is the system prompt, for :prompt.
	Prompt func() string
	// Explain says what will be done with a tool's calls, for :why.
	Explain func(*middleware.Tool) string
}

// Lines gives what a person types, one line at a time, io.EOF at the end. The
// tools are for completion.
type Lines interface {
	ReadLine(prompt string, tools []*middleware.Tool) (string, error)
}

const replHelp = `a call:  delete_file path="old notes.txt"     or     delete_file {"path": "old notes.txt"}
:tools         the tools and what they take
:why TOOL      the class of a tool, its reasons, and what will be done
:prompt        the system prompt that a model would get
:quit          the end (so is Ctrl-D); Tab completes tools and arguments
`

// Name implements [Planner].
func (*Repl) Name() string { return "you, one call at a time (:help)" }

// Next implements [Planner].
func (r *Repl) Next(ctx context.Context, turn Turn) (Step, error) {
	for _, o := range turn.Last {
		fmt.Fprintln(r.Out, safetext.Text(clip(o.Text())))
	}
	for {
		if ctx.Err() != nil {
			return Step{}, context.Cause(ctx)
		}
		line, err := r.Lines.ReadLine("> ", turn.Tools)
		switch {
		case errors.Is(err, io.EOF) && strings.TrimSpace(line) == "":
			return Step{Done: true}, nil
		case err != nil && !errors.Is(err, io.EOF):
			return Step{}, fmt.Errorf("nothing can be read any more: %w", err)
		}
		step, err := r.obey(strings.TrimSpace(line), turn.Tools)
		if err != nil {
			fmt.Fprintln(r.Out, err)
			continue
		}
		if step.Done || len(step.Calls) > 0 {
			return step, nil
		}
	}
}

// obey turns a line into a step, or does what it says by itself.
func (r *Repl) obey(line string, tools []*middleware.Tool) (Step, error) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "":
	case ":quit", ":q", ":exit":
		return Step{Done: true}, nil
	case ":help", "help", "?":
		fmt.Fprint(r.Out, replHelp)
	case ":tools":
		for _, tool := range tools {
			fmt.Fprintln(r.Out, safetext.Line(usage(tool)))
		}
	case ":prompt":
		fmt.Fprintln(r.Out, r.Prompt())
	case ":why":
		tool, err := find(strings.TrimSpace(rest), tools)
		if err != nil {
			return Step{}, err
		}
		fmt.Fprint(r.Out, safetext.Text(r.Explain(tool)))
	default:
		tool, err := find(word, tools)
		if err != nil {
			return Step{}, err
		}
		arguments, err := parseArguments(rest, Schema(tool))
		if err != nil {
			return Step{}, fmt.Errorf("%s: %w", safetext.Line(usage(tool)), err)
		}
		return Step{Calls: []Request{{Tool: word, Arguments: arguments, Why: "you typed it"}}}, nil
	}
	return Step{}, nil
}

func find(name string, tools []*middleware.Tool) (*middleware.Tool, error) {
	for _, tool := range tools {
		if tool.Name() == name || tool.String() == name {
			return tool, nil
		}
	}
	return nil, fmt.Errorf("there is no tool %q; :tools lists them, :help says more", name)
}

// usage shows what a tool takes; what may be left out stands in brackets.
func usage(tool *middleware.Tool) string {
	return strings.Join(append([]string{tool.Name()}, argumentNames(Schema(tool))...), " ")
}

func argumentNames(f Form) []string {
	var names []string
	for name := range f.Properties {
		if slices.Contains(f.Required, name) {
			names = append(names, name+"=")
		} else {
			names = append(names, "["+name+"=]")
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(strings.Replace(a, "[", "~", 1), strings.Replace(b, "[", "~", 1))
	})
	return names
}

// parseArguments reads a JSON object or words of the form name=value.
func parseArguments(text string, f Form) (json.RawMessage, error) {
	if text = strings.TrimSpace(text); strings.HasPrefix(text, "{") {
		return json.RawMessage(text), nil // whether it is sound the chain says
	}
	words, err := SplitWords(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("%q has no =; write name=value, or a JSON object", word)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		raw, err := parseValue(name, value, f)
		if err != nil {
			return nil, err
		}
		key, _ := json.Marshal(name) // a string always can
		fmt.Fprintf(&b, "%s:%s", key, raw)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// parseValue takes a value as its schema wants it: as text where that may be a
// string, else as JSON.
func parseValue(name, value string, f Form) ([]byte, error) {
	p, known := f.Properties[name]
	kinds, _ := json.Marshal(p.Type)
	if known && strings.Contains(string(kinds), `"string"`) || !known && !json.Valid([]byte(value)) {
		return json.Marshal(value)
	}
	if !json.Valid([]byte(value)) {
		return nil, fmt.Errorf("%s wants %s, and %q is none; quote JSON as in %s='[\"a\"]'", name, kinds, value, name)
	}
	return []byte(value), nil
}
