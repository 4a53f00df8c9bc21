// Command agent is a whole host, whose calls of tools go through a chain. It tidies a small folder:
//
//	go run github.com/fairlead-go/fairlead/examples/agent
//
// Read host.go first, which connects to a server and assembles the chain, then turn.go, which makes
// the calls of one turn. The other files are this host's own: tidy.go plans by rules, plan.go by a
// script or by hand, folder.go is the MCP server, options.go reads the flags, screen.go prints. Hosts with a model are
// contrib/openai/examples/agent and contrib/anthropic/examples/agent.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const exitDone, exitError, exitUsage, exitDenied = 0, 1, 2, 3 // exitDenied: done, but something was denied

// inbox is the folder that is copied and tidied unless --dir names another.
//
//go:embed all:inbox
var inbox embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	o := options{in: in, out: out, errs: errs}
	if err := o.parse(args); errors.Is(err, flag.ErrHelp) {
		return exitDone
	} else if err != nil {
		fmt.Fprintf(errs, "agent: %v\n", err)
		return exitUsage
	}
	h, err := newHost(ctx, o)
	if err == nil && o.prompt {
		fmt.Fprintln(out, h.systemPrompt())
	} else if err == nil {
		err = h.work(ctx)
	}
	if err = errors.Join(err, h.close()); err != nil {
		fmt.Fprintf(errs, "agent: %v\n", err)
		return exitError
	}
	if h.counts.Denied > 0 {
		fmt.Fprintf(errs, "agent: done, and %s denied; exit code %d means just that", count(h.counts.Denied, "call"), exitDenied)
		if o.yes == "none" {
			fmt.Fprint(errs, ". Nobody could be asked: run it in a terminal, or with --yes safe or --yes all")
		}
		fmt.Fprintln(errs)
		return exitDenied
	}
	return exitDone
}
