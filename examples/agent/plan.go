package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"mvdan.cc/sh/v3/shell"
)

// A planner decides which calls are made: it has the host make those of one turn,
// reads what became of them, and goes on until nothing is left to do.
type planner func(ctx context.Context, h *host) error

// planner returns the planner that the flags choose, with its name.
func (h *host) planner() (string, planner, error) {
	switch {
	case h.repl:
		return "you, one call at a time: TOOL name=value, TOOL {JSON}, :why TOOL, :quit", repl, nil
	case h.script != "":
		plan, err := readScript(h.script)
		return "script " + h.script, plan, err
	case h.folder == nil:
		return "explore: what is safe and needs no arguments", explore, nil
	}
	return "rules, no model", tidy, nil
}

// readScript returns a planner that makes the calls of a file, one after the other.
// A call that fails does not end it.
func readScript(name string) (planner, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--script: %w; it takes a JSON file", err)
	}
	var calls []struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err = d.Decode(&calls)
	if err == nil && d.More() {
		err = errors.New("it goes on after its list")
	}
	if err != nil {
		return nil, fmt.Errorf(`the script %s is not a list of calls: %w; write [{"tool": "read_file", "arguments": {"path": "a.txt"}}]`, name, err)
	}
	return func(ctx context.Context, h *host) error {
		for _, c := range calls {
			if ctx.Err() == nil {
				h.do(ctx, &call{tool: c.Tool, arguments: c.Arguments, why: "the script " + name + " has it"})
			}
		}
		return nil
	}, nil
}

// explore calls the tools of an unfamiliar server that are safe and need no
// arguments.
func explore(ctx context.Context, h *host) error {
	var calls []*call
	tools := h.tools.List()
	for _, tool := range tools {
		var schema struct{ Required []string }
		raw, err := json.Marshal(tool.Definition.InputSchema)
		if err == nil && json.Unmarshal(raw, &schema) == nil && len(schema.Required) == 0 && tool.Safety() == annotation.Safe {
			calls = append(calls, &call{tool: tool.Name(), why: "it is safe and needs no arguments"})
		}
	}
	h.say("%s to call. The other %d are not safe or need arguments: --repl and --script call them.", count(len(calls), "tool"), len(tools)-len(calls))
	h.do(ctx, calls...)
	return nil
}

// repl makes the calls that a person types.
func repl(ctx context.Context, h *host) error {
	lines := bufio.NewScanner(h.in)
	for h.ask(); ctx.Err() == nil && lines.Scan(); h.ask() {
		word, rest, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		var err error
		switch word {
		case "":
		case ":quit":
			return nil
		case ":why":
			var tool *middleware.Tool
			if tool, err = h.tools.Find(strings.TrimSpace(rest)); err == nil {
				h.say("%s", h.chain.Explain(tool))
			}
		default:
			c := call{tool: word, why: "you typed it"}
			if c.arguments, err = readArguments(rest); err != nil {
				break
			}
			if h.do(ctx, &c); c.done() {
				h.say("%s", c.text())
			}
		}
		if err != nil {
			h.problem(err.Error())
		}
	}
	return lines.Err()
}

// ask prints the prompt if somebody sees it.
func (o options) ask() {
	if isTerminal(o.in) {
		fmt.Fprint(o.out, "\n> ")
	}
}

// readArguments reads a JSON object, or words of the form name=value. A value that
// is not JSON is a string.
func readArguments(text string) (json.RawMessage, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return json.RawMessage(text), nil // the chain refuses what is not valid
	}
	words, err := shell.Fields(text, nil)
	if err != nil {
		return nil, err
	}
	arguments := map[string]any{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("%q has no =; write name=value, or a JSON object", word)
		}
		arguments[name] = value
		if json.Valid([]byte(value)) {
			arguments[name] = json.RawMessage(value)
		}
	}
	return json.Marshal(arguments)
}
