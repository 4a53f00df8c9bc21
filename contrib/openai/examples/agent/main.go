// Command agent is a host with a model: openai-go asks for calls of an MCP server's
// tools, and every call goes through a chain. It takes a goal and the command line of
// the server, and asks in the terminal before a dangerous call:
//
//	export OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_MODEL=qwen3
//	go -C contrib/openai run ./examples/agent "Which files are here?" npx -y @modelcontextprotocol/server-filesystem .
//
// Without OPENAI_MODEL the first model that the service lists is taken.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/chain/batch"
	fairlead "github.com/fairlead-go/fairlead/contrib/openai"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/prompt"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openai/openai-go/v3"
)

const maxTurns = 40

const identity = "You work with the tools of one server on behalf of the user. Look before you change anything, and say at the end what you did."

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: agent GOAL COMMAND [ARGUMENT ...]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	server := exec.Command(os.Args[2], os.Args[3:]...) //nolint:gosec // the user names the server
	server.Stderr = os.Stderr
	err := run(ctx, openai.NewClient(), os.Args[1], &mcp.CommandTransport{Command: server}, terminal.New(os.Stdin, os.Stderr), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

// run connects to a server and lets the model call its tools until it asks for no more calls.
func run(ctx context.Context, client openai.Client, goal string, server mcp.Transport, confirm hitl.Confirmer, out io.Writer) error {
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

	params := openai.ChatCompletionNewParams{Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system), openai.UserMessage(goal)}}
	if params.Tools, err = fairlead.Tools(host.Tools()); err != nil {
		return err
	}
	if params.Model, err = model(ctx, client); err != nil {
		return err
	}
	for range maxTurns {
		reply, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return fmt.Errorf("the model does not answer: %w; check OPENAI_BASE_URL and OPENAI_API_KEY", err)
		}
		if len(reply.Choices) == 0 {
			return fmt.Errorf("the model %s answered without a choice", params.Model)
		}
		message := reply.Choices[0].Message
		if message.Content != "" {
			fmt.Fprintln(out, safetext.Text(message.Content))
		}
		if len(message.ToolCalls) == 0 {
			return nil
		}
		params.Messages = append(append(params.Messages, message.ToParam()), fairlead.Answer(ctx, host, message.ToolCalls)...)
	}
	return fmt.Errorf("the model did not finish in %d turns; give it a smaller goal", maxTurns)
}

func model(ctx context.Context, client openai.Client) (string, error) {
	if name := os.Getenv("OPENAI_MODEL"); name != "" {
		return name, nil
	}
	page, err := client.Models.List(ctx)
	if err == nil && len(page.Data) == 0 {
		err = errors.New("the list is empty")
	}
	if err != nil {
		return "", fmt.Errorf("the models cannot be listed: %w; check OPENAI_BASE_URL and OPENAI_API_KEY, or set OPENAI_MODEL", err)
	}
	return page.Data[0].ID, nil
}
