package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
)

// A planner makes the calls of one turn, reads what became of them, and goes on until all is done.
type planner func(ctx context.Context, h *host) error

// planner returns the planner that the flags choose, with its name.
func (h *host) planner() (string, planner, error) {
	switch {
	case h.repl:
		return "you, one call at a time: TOOL {JSON}, :why TOOL, :quit", repl, nil
	case h.script != "":
		plan, err := readScript(h.script)
		return "script " + h.script, plan, err
	case h.folder == nil:
		return "explore: what is safe and needs no arguments", explore, nil
	}
	return "rules, no model", tidy, nil
}

// readScript returns a planner that makes the calls of a file, one after the other, whatever fails.
func readScript(name string) (planner, error) {
	data, err := os.ReadFile(name) //nolint:gosec // the user names it
	if err != nil {
		return nil, fmt.Errorf("--script: %w; it takes a JSON file", err)
	}
	var calls []call
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
				c.why = "the script " + name + " has it"
				h.do(ctx, &c)
			}
		}
		return nil
	}, nil
}

func explore(ctx context.Context, h *host) error {
	var calls []*call
	tools := h.tools.List()
	for _, tool := range tools {
		var schema struct {
			Required []string `json:"required"`
		}
		raw, err := json.Marshal(tool.Definition.InputSchema)
		if err == nil && json.Unmarshal(raw, &schema) == nil && len(schema.Required) == 0 && tool.Safety() == annotation.Safe {
			calls = append(calls, &call{Tool: tool.Name(), why: "it is safe and needs no arguments"})
		}
	}
	h.sayf("%s to call. The other %d are not safe or need arguments: --repl and --script call them.", count(len(calls), "tool"), len(tools)-len(calls))
	h.do(ctx, calls...)
	return nil
}

func repl(ctx context.Context, h *host) error {
	lines := bufio.NewScanner(h.in)
	for ctx.Err() == nil && lines.Scan() {
		word, rest, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		switch word {
		case "":
		case ":quit":
			return nil
		case ":why":
			if tool, err := h.tools.Find(strings.TrimSpace(rest)); err != nil {
				h.problem(err.Error())
			} else {
				h.sayf("%s", h.chain.Explain(tool))
			}
		default:
			c := call{Tool: word, Arguments: json.RawMessage(cmp.Or(strings.TrimSpace(rest), "{}")), why: "you typed it"}
			if h.do(ctx, &c); c.outcome() == "ok" {
				h.sayf("%s", c.text())
			}
		}
	}
	return lines.Err()
}
