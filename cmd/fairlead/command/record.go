package command

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/replaytest"
	"github.com/spf13/cobra"
)

func recordCommand() *cobra.Command {
	var names proxyFlags
	var out string
	cmd := &cobra.Command{
		Use:   "record " + serverArgs,
		Short: "Serve MCP as one server does, and record the session in a file",
		Long: `Serves MCP on standard input and output, passes everything on to one server, and writes
its tools, the calls and their answers to a file that can be reviewed and replayed.
Secrets are replaced by placeholders such as {secret 1}; what looks like another secret
is reported on standard error. Nothing is asked about or refused.

` + naming,
		Example: `  fairlead record --out session.json -- npx -y @modelcontextprotocol/server-memory
  fairlead record --config .mcp.json --server files`,
		RunE: func(cmd *cobra.Command, args []string) error {
			servers, err := names.targets(args, cmd.ArgsLenAtDash())
			if err != nil {
				return err
			}
			if len(servers) > 1 {
				return errors.New("a recording has one server; take it out of the file by --server NAME")
			}
			if out == "" {
				out = servers[0].Name + time.Now().Format("-20060102-150405.json")
			}
			return recordTo(cmd, servers[0], out)
		},
	}
	names.serverNames.register(cmd)
	cmd.Flags().StringVar(&out, "out", "", "the `FILE`, which is replaced (default a new one with the server's name and the time)")
	must(cmd.MarkFlagFilename("out", "json"))
	return cmd
}

// drainTime is how long answers are waited for at the end.
const drainTime = 10 * time.Second

func recordTo(cmd *cobra.Command, server proxy.Server, path string) error {
	errs := cmd.ErrOrStderr()
	warn := func(text string) { fmt.Fprintln(errs, "fairlead: record:", harmless(text)) }
	r := replaytest.NewRecorder(path, warn)
	if err := r.Close(); err != nil { // rather now than after the session
		return err
	}
	err := proxy.Relay(cmd.Context(), server, cmd.InOrStdin(), cmd.OutOrStdout(), errs, slog.New(slog.NewTextHandler(errs, nil)), drainTime, r.Sent, r.Received)
	if err := errors.Join(r.Close(), err); err != nil {
		return &exitError{exitUnreachable, err}
	}
	warn("the session is in " + path)
	return nil
}
