package command

import (
	"io"

	"github.com/fairlead-go/fairlead/fairleadtest/replaytest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

func replayCommand() *cobra.Command {
	var rules replaytest.Rules
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Serve MCP from a recorded session, without its server",
		Long: `Serves MCP on standard input and output from a file of fairlead record. A read is
answered by its arguments; other calls must come in the recorded order of their tool. A
call that was not recorded is an error that names the nearest one that was. There are
no resources and prompts.`,
		Example: `  fairlead replay session.json`,
		Args:    needs("FILE", true),
		RunE: func(cmd *cobra.Command, args []string) error {
			recorded, err := replaytest.Load(args[0])
			if err != nil {
				return err
			}
			return recorded.Server(rules).Run(cmd.Context(), &mcp.IOTransport{Reader: io.NopCloser(until(cmd.Context(), cmd.InOrStdin())), Writer: unclosed{cmd.OutOrStdout()}})
		},
	}
	cmd.Flags().BoolVar(&rules.SimulateWrites, "simulate-writes", false, "answer a write that was not recorded with the last recorded result of its tool")
	cmd.Flags().BoolVar(&rules.Trust, "trust", false, "trust the annotations that servers declare, also where they lower a class")
	return cmd
}

// unclosed is standard output, which the end of a session does not close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
