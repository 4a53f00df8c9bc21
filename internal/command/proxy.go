package command

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/fairlead-go/fairlead/internal/dial"
	"github.com/fairlead-go/fairlead/internal/proxy"
	"github.com/spf13/cobra"
)

func proxyCommand() *cobra.Command {
	var trust, readOnly bool
	cmd := &cobra.Command{
		Use:   "proxy (URL | -- COMMAND [ARG...])",
		Short: "Serve MCP with the chain in front of a server's tools",
		Example: `  fairlead proxy -- npx -y @modelcontextprotocol/server-filesystem .
  fairlead proxy --approve web --audit calls.jsonl -- npx -y @modelcontextprotocol/server-memory`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			target := dial.Target(args)
			p, err := proxy.New(proxy.Options{
				Servers: []proxy.Server{{Name: "server", Command: target}},
				Trust:   trust, ReadOnly: readOnly, Stderr: cmd.ErrOrStderr(),
				Logger: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})),
			})
			if err != nil {
				return err
			}
			err = p.ServeLines(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
			if unreachable, ok := errors.AsType[*proxy.UnreachableError](err); ok {
				return &exitError{exitUnreachable, unreachable}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&trust, "trust", false, "believe what the server declares")
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "show and call only what reads")
	return cmd
}

var _ = fmt.Sprint
var _ = os.Args
