// Command fairlead shows what the tools of MCP servers can do and why, and is a proxy with a chain.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/fairlead-go/fairlead/cmd/fairlead/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	code := command.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
