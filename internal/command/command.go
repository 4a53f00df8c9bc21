// Package command is the body of the fairlead command, whichever main it runs
// under: what its servers can do, and the chain in front of them.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK          = 0
	exitFindings    = 1 // something in the input was at fault
	exitUsage       = 2
	exitUnreachable = 3
)

// An exitError ends the program with a code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// Run is the program without its process; it returns the exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:           "fairlead",
		Short:         "See what the tools of MCP servers can do to you, and why",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(inferCommand(), inspectCommand(), proxyCommand(), policyCommand())
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "fairlead:", err)
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	fmt.Fprintln(stderr, "Run 'fairlead help' for what it can do.")
	return exitUsage
}
