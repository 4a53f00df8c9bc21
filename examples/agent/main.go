// Command agent is a host, whole: an agent whose every tool call goes through a
// chain of Fairlead. It tidies a small messy folder that comes with it:
//
//	go run github.com/fairlead-go/fairlead/examples/agent
//
// Its parts are in internal/agent: chain.go puts the chain together, loop.go
// drives a planner, watch.go is a middleware that watches.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/fairlead-go/fairlead/internal/agent"
	"github.com/fairlead-go/fairlead/internal/agent/messy"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := &agent.Program{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Inbox: messy.Folder(),
	}
	return p.Run(ctx)
}
