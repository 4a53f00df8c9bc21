package command

import (
	"fmt"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/prompt"
	"github.com/spf13/cobra"
)

func promptCommand() *cobra.Command {
	var servers serverFlags
	var identity string
	cmd := &cobra.Command{
		Use:   "prompt " + serverArgs,
		Short: "Print the system prompt for the tools of servers, as the chain enforces it",
		Long: `Print a system prompt: the tools by class, and the rules for each class. What it says of
the chain is true for calls through 'fairlead proxy'. With several servers, tools have the
names that the proxy gives them, SERVER__NAME.

` + naming,
		Example: `  fairlead prompt https://example.com/mcp
  fairlead prompt --config ~/.cursor/mcp.json --identity "You help at the front desk." > prompt.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := servers.reachAll(cmd, args, nil)
			if err != nil {
				return err
			}
			defer all.close()
			if err := all.unreached(); err != nil { // a prompt that lacks tools would be used all the same
				return err
			}
			o := prompt.Options{Identity: identity, Enforced: standard(nobody).Describe()}
			if len(all.asked) == 1 { // whose tools keep their names behind the proxy
				o.Name = (*middleware.Tool).Name
			}
			text := prompt.New(o).For(all.tools.List())
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return written("prompt", err)
		},
	}
	servers.register(cmd)
	cmd.Flags().StringVar(&identity, "identity", "", "the first paragraph: who the model is, and whom it works for")
	return cmd
}
