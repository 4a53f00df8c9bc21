// Command fairlead shows what the tools of MCP servers can do, and why it thinks
// so.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/fairlead-go/fairlead/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // whoever interrupts a second time wants no orderly end
	code := command.Run(ctx, nil, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
