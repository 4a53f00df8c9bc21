package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

func policyCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "policy",
		Short: "Check, explain, learn and test a policy file for the proxy",
		Example: `  fairlead policy check policy.json
  fairlead policy explain policy.json --tool files/delete_file`,
	}, policyCheckCommand(), policyExplainCommand(), policyLearnCommand(), policySchemaCommand(), policyTestCommand())
}

func policyCheckCommand() *cobra.Command {
	var against []string
	cmd := &cobra.Command{
		Use:   "check FILE [--against RECORD]",
		Short: "Report mistakes in a policy file, with line and key",
		Long: `Report mistakes in a policy file, with line and key. With --against, warn of names of servers and
tools that no recorded call has; the proxy does so when the servers have listed their tools.`,
		Example: `  fairlead policy check policy.json
  fairlead policy check policy.json --against calls.jsonl`,
		Args: needs("FILE", true),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := policy.Load(args[0])
			if err != nil {
				return atFault(err)
			}
			for _, w := range p.Warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
			}
			if len(against) > 0 {
				record, err := records(cmd, against)
				if err != nil {
					return err
				}
				for _, w := range p.Unused(record.There()) {
					fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
				}
			}
			if _, err := offline(p); err != nil { // what only a middleware knows
				return atFault(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is in order: %d rules, %d words on tools\n", args[0], len(p.Rules), len(p.Tools))
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&against, "against", nil, "a `RECORD`: an audit file or a folder of them (may be given again)")
	return cmd
}

// offline is a proxy that is only looked at.
func offline(p *policy.Policy) (*proxy.Proxy, error) {
	somebody := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, nil })
	return proxy.New(proxy.Options{Servers: []proxy.Server{{Name: "server"}}, Policy: func() *policy.Policy { return p }, Confirm: somebody})
}

func policyExplainCommand() *cobra.Command {
	var tool, description, arguments string
	cmd := &cobra.Command{
		Use:   "explain FILE --tool SERVER/TOOL [URL | -- COMMAND [ARG...]]",
		Short: "Show which rule decides about a tool, and what the chain does with its calls",
		Long: `Show which rule decides about a tool, and what the chain does with its calls. Without a
server, the tool has only its name and --description; with one, what the server lists.
With --arguments, show it for one call, and which part of the arguments decided.`,
		Example: `  fairlead policy explain policy.json --tool files/delete_file
  fairlead policy explain policy.json --tool server/delete_file -- npx -y @modelcontextprotocol/server-filesystem .`,
		Args: needs("FILE", false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if tool == "" {
				return errors.New("--tool is missing; name one as SERVER/TOOL")
			}
			p, err := policy.Load(args[0])
			if err != nil {
				return atFault(err)
			}
			known, err := policy.ParsePattern(tool)
			if err != nil || !known.Exact() {
				return fmt.Errorf("--tool %q is not SERVER/TOOL", tool)
			}
			add := func(c *catalog.Catalog) error {
				nothing := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
					return nil, errors.New("it is not called")
				})
				return c.AddTools(known.Server, nothing, &mcp.Tool{Name: known.Tool, Description: description, InputSchema: map[string]any{"type": "object"}})
			}
			if len(args) > 1 {
				one := serverFlags{serverNames: serverNames{name: known.Server}, wait: listPatience}
				targets, err := one.targets(args[1:], cmd.ArgsLenAtDash()-1)
				if err != nil {
					return err
				}
				all, err := one.connect(cmd.Context(), targets, nil)
				if err != nil {
					return err
				}
				defer all.close()
				add = func(c *catalog.Catalog) error {
					return c.Add(cmd.Context(), known.Server, all.asked[0].server.Session)
				}
			}
			looked, err := offline(p)
			if err != nil {
				return atFault(err)
			}
			text, err := looked.Explain(add, tool, json.RawMessage(arguments))
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return written("answer", err)
		},
	}
	cmd.Flags().StringVar(&tool, "tool", "", "the tool, as `SERVER/TOOL`")
	cmd.Flags().StringVar(&arguments, "arguments", "", "the arguments of a call, a JSON `OBJECT`")
	cmd.Flags().StringVar(&description, "description", "", "the tool's description, if no server is given")
	return cmd
}

func policySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON schema of a policy file, for editors",
		Example: "  fairlead policy schema > policy.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(policy.Schema)
			return written("schema", err)
		},
	}
}
