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
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/signal"

	"github.com/fairlead-go/fairlead/internal/agent"
)

//go:embed all:testdata/inbox
var files embed.FS

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	inbox, err := fs.Sub(files, "testdata/inbox")
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	p := &agent.Program{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Inbox: inbox,
	}
	return p.Run(ctx)
}
