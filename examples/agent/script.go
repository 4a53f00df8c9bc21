package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// A planner makes the calls of one turn, reads their results, and goes on until all is done.
type planner func(ctx context.Context, h *host) error

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
