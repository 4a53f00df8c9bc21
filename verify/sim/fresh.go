package sim

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The maximum ages of the results of a changing server's tools, which their names give.
var mayBe = map[string]time.Duration{
	"get_status": 0, "get_secret": 0, "get_ticket": 30 * time.Second, "get_schema": 5 * time.Minute, "add_ticket": 0,
}

const (
	freshAgents = 8
	freshCalls  = 20
	outsiders   = 40
	longest     = 800 * time.Millisecond // of an execution: the time of a result runs from its end
)

// A changing is one scenario over a server that others write to past the chain: each write raises
// its version, and each result has the version of its time.
type changing struct {
	journal // its mutex guards what follows while calls run

	versions   []time.Time // when each version began
	ended      int         // the last version that a write through the chain has made
	executions int
	made       int
}

// RunFresh plays the scenario of a seed: agents call through one chain, outsiders write past it.
func RunFresh(t *testing.T, seed uint64) Outcome {
	c := &changing{journal: journal{seed: seed}}
	c.journal.play(t, c.play)
	return Outcome{c.made, c.executions, c.violations, func() string { return c.print("fresh") }}
}

func (c *changing) play(t *testing.T) {
	c.versions = []time.Time{time.Now()}
	caller := chain.Standard{Infer: infer.New(infer.Options{}), Cache: cache.New(cache.Options{})}.Then(middleware.ToolCallerFunc(c.execute))
	tools := make(map[string]*middleware.Tool)
	for name := range mayBe {
		tools[name] = &middleware.Tool{Server: "crm", Definition: &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}}
	}
	var all sync.WaitGroup
	all.Go(func() {
		dice := c.dice(1, 0, 0)
		for range outsiders {
			time.Sleep(time.Duration(dice.IntN(3000)) * time.Millisecond)
			c.version(true)
		}
	})
	names := []string{"get_status", "get_status", "get_secret", "get_ticket", "get_ticket", "get_ticket", "get_schema", "get_schema", "add_ticket"}
	if c.seed%2 == 0 { // only the lifetime invalidates cached results
		names = names[:len(names)-1]
	}
	for agent := range freshAgents {
		dice, scope := c.dice(2, uint64(agent), 0), "tenant "+strconv.Itoa(agent%2)
		all.Go(func() {
			for range freshCalls {
				time.Sleep(time.Duration(dice.IntN(4000)) * time.Millisecond)
				c.call(t.Context(), caller, tools[names[dice.IntN(len(names))]], scope)
			}
		})
	}
	all.Wait()
}

// version returns the present version, after a write or without one.
func (c *changing) version(write bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if write {
		c.versions = append(c.versions, time.Now())
	}
	return len(c.versions) - 1
}

// execute takes a while; its result is of some time meanwhile.
func (c *changing) execute(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	c.mu.Lock()
	c.executions++
	half := time.Duration(c.dice(3, uint64(c.executions), 0).IntN(400)) * time.Millisecond
	c.mu.Unlock()
	time.Sleep(half)
	version := c.version(strings.HasPrefix(call.Tool.Name(), "add"))
	time.Sleep(half)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: call.Scope + ", " + strconv.Itoa(version)}}}, nil
}

func (c *changing) call(ctx context.Context, caller middleware.ToolCaller, tool *middleware.Tool, scope string) {
	c.mu.Lock()
	c.made++
	who, own := fmt.Sprint(c.made, " ", tool.Name(), " of ", scope), c.ended
	c.say(who, "begins", "")
	c.mu.Unlock()
	began := time.Now()
	res, err := caller.CallTool(ctx, middleware.Call{Tool: tool, Scope: scope})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.badf("I19", who, "failed: %v", err)
		return
	}
	text := res.Content[0].(*mcp.TextContent).Text
	of, number, _ := strings.Cut(text, ", ")
	version, err := strconv.Atoi(number)
	if err != nil || of != scope {
		c.badf("I3", who, "got %q", text)
		return
	}
	c.say(who, "got", text)
	if version+1 < len(c.versions) {
		least := began
		if lasts := mayBe[tool.Name()]; lasts > 0 {
			least = began.Add(-lasts - longest)
		}
		if over := c.versions[version+1]; over.Before(least) {
			c.badf("I28", who, "got version %d, which was over %v before it began", version, began.Sub(over))
		}
	}
	if strings.HasPrefix(tool.Name(), "add") {
		c.ended = max(c.ended, version)
	} else if version < own {
		c.badf("I4", who, "got version %d, after a write through the chain had made version %d", version, own)
	}
}
