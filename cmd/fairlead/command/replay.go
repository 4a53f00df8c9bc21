package command

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/fairleadtest/replaytest"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
			return recorded.Server(rules).Run(cmd.Context(), answering{&mcp.IOTransport{Reader: io.NopCloser(until(cmd.Context(), cmd.InOrStdin())), Writer: unclosed{cmd.OutOrStdout()}}})
		},
	}
	cmd.Flags().BoolVar(&rules.SimulateWrites, "simulate-writes", false, "answer a write that was not recorded with the last recorded result of its tool")
	cmd.Flags().BoolVar(&rules.Trust, "trust", false, "trust the annotations that servers declare, also where they lower a class")
	return cmd
}

// unclosed is standard output, which the end of a session does not close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// answering is a transport whose input ends when each request that came by it is answered. The SDK's server drops what
// it works on at the end of its input.
type answering struct{ mcp.Transport }

func (t answering) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answeringConnection{Connection: c, open: make(map[jsonrpc.ID]bool), answered: make(chan struct{}, 1)}, nil
}

type answeringConnection struct {
	mcp.Connection

	mu       sync.Mutex
	open     map[jsonrpc.ID]bool
	answered chan struct{} // gets one after an answer
}

func (c *answeringConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		c.open[r.ID] = true
		c.mu.Unlock()
	}
	for end := time.After(drainTime); err != nil && c.waiting(); {
		select {
		case <-c.answered:
		case <-end:
			return m, err
		case <-ctx.Done():
			return m, err
		}
	}
	return m, err
}

func (c *answeringConnection) waiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > 0
}

func (c *answeringConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, r.ID)
		c.mu.Unlock()
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}
