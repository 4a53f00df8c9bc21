package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// verbs are the first words of the tools' names.
var verbs = map[world.Kind]string{world.Read: "get", world.Add: "create", world.Delete: "delete"}

// A store is the server. It keeps no ledger, since it works for a long time.
type store struct {
	calls        atomic.Int64
	things       world.Server
	acknowledged [things][ids]atomic.Int64 // to somebody who wrote
	wrote        [maxAgents]atomic.Int64   // the last call of each agent that wrote
	broken       *world.Breaches
}

// maxAgents is how many may call.
const maxAgents = 256

// A target is what a call is about.
type target struct {
	Kind      world.Kind
	Thing, ID int
}

func (t target) String() string { return fmt.Sprint(t.Thing, "/", t.ID) }

// An answer repeats what was asked.
type answer struct {
	target

	Version int64
}

// asked reads a call.
func asked(tool *middleware.Tool, arguments []byte) (t target, err error) {
	for kind, verb := range verbs {
		if n, _ := fmt.Sscanf(tool.Name(), verb+"_thing_%d", &t.Thing); n == 1 {
			var of struct{ ID int }
			err = json.Unmarshal(arguments, &of)
			t.Kind, t.ID = kind, of.ID%ids
			return t, err
		}
	}
	return t, errors.New("soak: no such tool")
}

// CallTool fails now and then: before it has done anything, or after.
func (s *store) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	n := s.calls.Add(1)
	t, err := asked(call.Tool, call.Arguments)
	if err != nil {
		return nil, err
	}
	switch {
	case n%97 == 0:
		return nil, &world.Fault{Status: 429}
	case n%1009 == 0: // a slow one
		if err := world.Wait(ctx, 5*time.Millisecond); err != nil {
			return nil, err
		}
	}
	if t.Kind != world.Read {
		s.writes(&call)
	}
	if t.Kind == world.Delete && t.ID%2 != 0 {
		s.broken.Addf("%s %s without a yes", call.Tool, call.Arguments)
	}
	version := s.things.Execute(call.ID, t.Kind, nil, t.String())
	if n%193 == 0 {
		return nil, &world.Fault{}
	}
	text, err := json.Marshal(answer{t, version})
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil
}

// writes notes that an agent's call changes something, which happens once.
func (s *store) writes(call *middleware.Call) {
	var agent int
	var n int64
	if _, err := fmt.Sscanf(call.ID, "%d/%d", &agent, &n); err != nil || s.wrote[agent].Swap(n) == n {
		s.broken.Addf("%s %s happened twice (%v)", call.Tool, call.Arguments, err)
	}
}
