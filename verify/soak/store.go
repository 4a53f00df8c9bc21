package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	read = iota
	add
	wipe
)

var verbs = [...]string{"get", "create", "delete"}

// A store is the server: each thing has a version, which every write raises.
type store struct {
	calls        atomic.Int64
	version      [things][ids]atomic.Int64
	acknowledged [things][ids]atomic.Int64 // to somebody who wrote
	wrote        [maxAgents]atomic.Int64   // the last call of each agent that wrote
	law          *law
}

// maxAgents is how many may call.
const maxAgents = 256

type answer struct {
	Verb    int   `json:"verb"`
	Thing   int   `json:"thing"`
	ID      int   `json:"id"`
	Version int64 `json:"version"`
}

var errBusy = &busyError{}

// A busyError is a refusal before execution.
type busyError struct{}

func (*busyError) Error() string { return "soak: the server is busy" }
func (*busyError) Refused() bool { return true }

var errLost = errors.New("soak: the answer was lost")

// asked reads a call.
func asked(tool *middleware.Tool, arguments []byte) (thing, id int, err error) {
	for _, verb := range verbs {
		if n, _ := fmt.Sscanf(tool.Name(), verb+"_thing_%d", &thing); n == 1 {
			var of struct {
				ID int `json:"id"`
			}
			err = json.Unmarshal(arguments, &of)
			return thing, of.ID % ids, err
		}
	}
	return 0, 0, errors.New("soak: no such tool")
}

// CallTool fails now and then: before it has done anything, or after.
func (s *store) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	n := s.calls.Add(1)
	thing, id, err := asked(call.Tool, call.Arguments)
	if err != nil {
		return nil, err
	}
	switch {
	case n%97 == 0:
		return nil, errBusy
	case n%1009 == 0: // a slow one
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	a := answer{Verb: read, Thing: thing, ID: id}
	switch call.Tool.Name()[0] {
	case 'g':
		a.Version = s.version[thing][id].Load()
	case 'c':
		a.Verb, a.Version = add, s.write(&call, thing, id)
	default:
		a.Verb, a.Version = wipe, s.write(&call, thing, id)
		if id%2 != 0 {
			s.law.brokef("%s %s without a yes", call.Tool, call.Arguments)
		}
	}
	if n%193 == 0 {
		return nil, errLost
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil
}

// write changes a thing, once for each call that an agent makes.
func (s *store) write(call *middleware.Call, thing, id int) int64 {
	var agent int
	var n int64
	if _, err := fmt.Sscanf(call.ID, "%d/%d", &agent, &n); err != nil || s.wrote[agent].Swap(n) == n {
		s.law.brokef("%s %s happened twice (%v)", call.Tool, call.Arguments, err)
	}
	return s.version[thing][id].Add(1)
}
