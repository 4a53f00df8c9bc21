package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// A choice is a flag with one of a few values, in any case, which the shell completes.
type choice struct {
	of    []string
	value string
}

func (c *choice) register(cmd *cobra.Command, name, usage string) {
	cmd.Flags().Var(c, name, usage+": "+strings.Join(c.of, ", "))
	must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.of, cobra.ShellCompDirectiveNoFileComp)))
}

func (c *choice) String() string { return c.value }

func (*choice) Type() string { return "word" }

func (c *choice) Set(value string) error {
	value = strings.ToLower(value)
	if !slices.Contains(c.of, value) {
		return fmt.Errorf("it is none of %s", strings.Join(c.of, ", "))
	}
	c.value = value
	return nil
}

// until is a reader that ends with a context. A read of a terminal that is under way then stays
// behind until the process ends.
func until(ctx context.Context, in io.Reader) io.Reader { return &interruptible{ctx, in} }

type interruptible struct {
	ctx context.Context
	in  io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	type read struct {
		n   int
		err error
	}
	own := make([]byte, min(len(p), 64<<10)) // p is the caller's again before a late read ends
	done := make(chan read, 1)
	go func() {
		n, err := r.in.Read(own)
		done <- read{n, err}
	}()
	select {
	case got := <-done:
		return copy(p, own[:got.n]), got.err
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	}
}
