// Command agent is a host, whole: an agent whose every tool call goes through a
// chain of Fairlead. It tidies a small messy folder that comes with it:
//
//	go run github.com/fairlead-go/fairlead/examples/agent
//
// Its parts are in internal/agent: chain.go puts the chain together, loop.go
// drives a planner, watch.go is a middleware that watches.
package main

import (
	"os"

	"github.com/fairlead-go/fairlead/internal/agent"
)

func main() { os.Exit(agent.Main(nil)) }
