// Command agent is the example agent with Redis in it: --store shares memory, pace
// and approvals with other agents on the same folder or server.
//
//	go run ./examples/agent --store redis://localhost:6379/0 --dir ~/shared
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/fairlead-go/fairlead/contrib/redis/internal/opener"
	"github.com/fairlead-go/fairlead/internal/agent"
	"github.com/fairlead-go/fairlead/internal/agent/inbox"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := &agent.Program{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Inbox: inbox.FS(), Stores: opener.Open,
	}
	return p.Run(ctx)
}
