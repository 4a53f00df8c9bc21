// Package command is the command line of the program fairlead.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/fairlead-go/fairlead/cmd/fairlead/errtext"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK          = 0
	exitFindings    = 1 // something in the input was at fault
	exitUsage       = 2
	exitUnreachable = 3
)

// An exitError ends the program with an exit code other than that of a mistake in the command line.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// atFault ends the program with the code for what was looked at; nil stays nil.
func atFault(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitFindings, err}
}

// written is atFault for an error of writing what a command prints.
func written(what string, err error) error {
	if err == nil {
		return nil
	}
	return atFault(fmt.Errorf("writing the %s: %w", what, err))
}

// group returns a command that has only others under it.
func group(c *cobra.Command, under ...*cobra.Command) *cobra.Command {
	c.Args = noSuchCommand // another word is a mistake, and not a question for help
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	c.AddCommand(under...)
	return c
}

// Run runs the program with its arguments and returns the exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	program := root()
	program.SetArgs(args)
	program.SetIn(stdin)
	program.SetOut(stdout)
	program.SetErr(stderr)
	ran, err := program.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "fairlead:", harmless(errtext.Of(err)))
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	fmt.Fprintf(stderr, "Run '%s --help' for what it takes.\n", ran.CommandPath())
	return exitUsage
}

// harmless makes text for a terminal safe, since it may hold what a server wrote.
func harmless(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && safetext.Invisible(r) }) {
		return safetext.Text(text)
	}
	return text
}

// version returns the version of the module and of Go, "(unknown)" if the build does not have it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version + " " + info.GoVersion
	}
	return "(unknown)"
}

func root() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:           "fairlead",
		Short:         "See what the tools of MCP servers can do to you, and why",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return noneEmpty(cmd.Flags())
		},
	},
		approvalsCommand(),
		approveCommand(),
		auditCommand(),
		callCommand(),
		undoCommand(),
		connectCommand(),
		credentialsCommand(),
		hookCommand(),
		inferCommand(),
		inspectCommand(),
		lockCommand(),
		policyCommand(),
		promptCommand(),
		proxyCommand(),
		recordCommand(),
		replayCommand(),
		reviewCommand(),
	)
	cmd.SetFlagErrorFunc(flagMistake)
	return cmd
}
