// Command fairlead is the command as a program of this module, where its servers'
// chains can have Redis behind them.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/fairlead-go/fairlead/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := command.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
