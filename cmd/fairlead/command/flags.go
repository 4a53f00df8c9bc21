package command

import (
	"fmt"
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
		return fmt.Errorf("want one of %s", strings.Join(c.of, ", "))
	}
	c.value = value
	return nil
}
