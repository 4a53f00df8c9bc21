package agent

import (
	"context"
	"os"
	"os/signal"

	"github.com/fairlead-go/fairlead/internal/agent/inbox"
	"github.com/fairlead-go/fairlead/internal/agent/plan"
)

// Main runs the program of a process and returns its exit code. A model plans where
// one is given, else who the environment and the flags name.
func Main(model plan.API) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := &Program{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Inbox: inbox.FS(), Model: model,
	}
	return p.Run(ctx)
}
