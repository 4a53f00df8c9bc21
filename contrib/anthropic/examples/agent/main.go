// Command agent is a host with a model: the tool runner of anthropic-sdk-go calls an
// MCP server's tools, and every call goes through a chain. It takes a goal and the
// command line of the server, and asks in the terminal before a dangerous call:
//
//	export ANTHROPIC_API_KEY=…
//	go -C contrib/anthropic run ./examples/agent "Which files are here?" npx -y @modelcontextprotocol/server-filesystem .
//
// ANTHROPIC_MODEL names another model than Claude Sonnet 4.6.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/chain/batch"
	fairlead "github.com/fairlead-go/fairlead/contrib/anthropic"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/prompt"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of a conversation: its turns, and the tokens of one reply.
const (
	maxTurns  = 40
	maxTokens = 8192
)

const identity = "You work with the tools of one server on behalf of the user. Look before you change anything, and say at the end what you did."

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: agent GOAL COMMAND [ARGUMENT ...]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	server := exec.Command(os.Args[2], os.Args[3:]...) //nolint:gosec // the user names the server
	server.Stderr = os.Stderr
	err := run(ctx, anthropic.NewClient(), os.Args[1], &mcp.CommandTransport{Command: server}, terminal.New(os.Stdin, os.Stderr), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

// run connects to a server and lets the model call its tools until it asks for no more calls.
func run(ctx context.Context, client anthropic.Client, goal string, server mcp.Transport, confirm hitl.Confirmer, out io.Writer) error {
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	session, err := mount.Connect(ctx, tools, "server", &mcp.Implementation{Name: "fairlead-agent", Version: "1"}, server)
	if err != nil {
		return err
	}
	defer session.Close()
	std := chain.Standard{
		Output:    output.New(output.Options{}),
		Budget:    budget.New(budget.Options{}),
		Confirm:   hitl.New(confirm, hitl.Options{Timeout: 10 * time.Minute}),
		Cache:     cache.New(cache.Options{}),
		Retry:     retry.New(retry.Options{}),
		RateLimit: ratelimit.New(ratelimit.Options{}),
		Timeout:   timeout.New(timeout.Options{}),
	}
	host := batch.NewHost(tools, std.Then(tools), batch.HostOptions{})
	system := prompt.New(prompt.Options{Identity: identity, Enforced: std.Describe()}).For(tools.List()).String()

	runner, err := fairlead.NewRunner(client, host, anthropic.BetaToolRunnerParams{
		MaxIterations: maxTurns,
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: cmp.Or(os.Getenv("ANTHROPIC_MODEL"), anthropic.ModelClaudeSonnet4_6), MaxTokens: maxTokens,
			System:   []anthropic.BetaTextBlockParam{{Text: system}},
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(goal))},
		},
	})
	if err != nil {
		return err
	}
	for message, err := range runner.All(ctx) {
		if err != nil {
			return fmt.Errorf("the model does not answer: %w; check ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL", err)
		}
		for _, block := range message.Content {
			if block.Type == "text" {
				fmt.Fprintln(out, safetext.Text(block.Text))
			}
		}
	}
	if last := runner.LastMessage(); last.StopReason != anthropic.BetaStopReasonEndTurn {
		return fmt.Errorf("the model did not finish (%s) in %d turns of %d tokens; give it a smaller goal", last.StopReason, maxTurns, maxTokens)
	}
	return nil
}
