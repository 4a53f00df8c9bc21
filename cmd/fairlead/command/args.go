package command

import (
	"fmt"

	"github.com/spf13/cobra"
)

// needs is for a command whose first word has to be there; alone, nothing may follow.
func needs(what string, alone bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s is missing: %s", what, cmd.UseLine())
		case alone && len(args) > 1:
			return fmt.Errorf("%q is one word too many: %s", args[1], cmd.UseLine())
		}
		return nil
	}
}
