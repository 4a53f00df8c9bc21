package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/fairlead-go/fairlead/internal/stores"
)

// Main is the program as a process, which it ends. Open is that of [Run].
func Main(open stores.Opener) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // whoever interrupts a second time wants no orderly end
	code := Run(ctx, open, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
