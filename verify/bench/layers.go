package main

import (
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/timeout"
)

// layerRows say where the time of a call goes: each adds one middleware to the chain of the
// row before it, and its ratio is how much of the whole the chain takes so far.
func layerRows() []benchmark {
	all := standard(cache.Options{})
	all.Timeout = timeout.New(timeout.Options{Default: time.Minute})
	var c chain.Standard
	steps := []struct {
		name string
		add  func()
	}{
		{"recover and guard", func() {}},
		{"budget", func() { c.Budget = all.Budget }},
		{"confirm", func() { c.Confirm = all.Confirm }},
		{"cache", func() { c.Cache = all.Cache }},
		{"retry", func() { c.Retry = all.Retry }},
		{"ratelimit", func() { c.RateLimit = all.RateLimit }},
		{"timeout", func() { c.Timeout = all.Timeout }},
	}
	whole := calling(func(s *server) middleware.ToolCaller { return all.Then(guarded(s, writes)) }, middleware.Call{Tool: writes})
	rows := make([]benchmark, 0, len(steps))
	for i, step := range steps {
		step.add()
		upTo := c
		rows = append(rows, of(fmt.Sprintf("layer/%d/+%s", i, step.name), func() contest {
			return contest{
				ours:   calling(func(s *server) middleware.ToolCaller { return upTo.Then(guarded(s, writes)) }, middleware.Call{Tool: writes}),
				peers:  []subject{{"whole", whole}},
				allocs: 4,
			}
		}))
	}
	return rows
}
