package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/report"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tty"
	"github.com/spf13/cobra"
)

// inspectOptions are the flags of fairlead inspect.
type inspectOptions struct {
	serverFlags

	format   choice
	failOn   choice
	asJSON   bool
	baseline string
	lock     string
	tools    []string
}

var formats = []string{"table", "json", "md", "sarif", "html"}

func inspectCommand() *cobra.Command {
	o := inspectOptions{format: choice{formats, "table"}, failOn: choice{report.Levels(), report.Error.String()}}
	cmd := &cobra.Command{
		Use:   "inspect " + serverArgs,
		Short: "List the tools of servers, with their class, what the chain does with their calls, and findings",
		Long: `List the tools of servers: what each declares, what was inferred from its words, its
class with the reason, what the chain does with its calls, and findings. A finding has a
level (error, warning, note) and a rule, whose id does not change between versions.

` + naming + `

With --tools, take the tools from a file with the answer of tools/list, as fairlead infer
does, and reach no server.

The exit code is 1 if there are findings at the level of --fail-on or above, 2 after a
mistake in the command line, and 3 if a server did not answer. Findings in the --baseline,
an earlier output of inspect --json, are not counted.`,
		Example: `  fairlead inspect -- npx -y @modelcontextprotocol/server-filesystem .
  fairlead inspect https://example.com/mcp --fail-on warning
  fairlead inspect --config .vscode/mcp.json --format sarif > fairlead.sarif
  fairlead inspect --config ~/.cursor/mcp.json --json > baseline.json
  fairlead inspect --config ~/.cursor/mcp.json --baseline baseline.json
  fairlead inspect --lock fairlead.lock --format html https://example.com/mcp > tools.html
  fairlead inspect --tools playwright.json --tools github.json`,
		RunE: o.run,
	}
	o.register(cmd)
	o.format.register(cmd, "format", "`FORMAT` of the output")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "the same as --format json")
	cmd.MarkFlagsMutuallyExclusive("format", "json")
	o.failOn.register(cmd, "fail-on", "the lowest `LEVEL` of findings that make the exit code 1")
	cmd.Flags().StringVar(&o.baseline, "baseline", "", "`FILE` with known findings, an earlier output of inspect --json")
	cmd.Flags().StringVar(&o.lock, "lock", "", "`FILE` of accepted definitions; what differs is a finding (see fairlead lock)")
	cmd.Flags().StringArrayVar(&o.tools, "tools", nil, "a `FILE` with the answer of tools/list, in place of a server (repeatable)")
	must(cmd.MarkFlagFilename("tools", "json", "jsonl"))
	must(cmd.MarkFlagFilename("baseline", "json"))
	must(cmd.MarkFlagFilename("lock"))
	return cmd
}

func (o *inspectOptions) run(cmd *cobra.Command, args []string) error {
	lock, err := loadLock(o.lock)
	if err != nil {
		return err
	}
	var all *fleet
	if len(o.tools) > 0 {
		all, err = o.lists(cmd, o.tools, args, lock)
	} else {
		all, err = o.reachAll(cmd, args, lock)
	}
	if err != nil {
		return err
	}
	defer all.close()
	r, err := reportOf(all)
	if err != nil {
		return err
	}
	if o.baseline != "" {
		if err := r.Baseline(o.baseline); err != nil {
			return fmt.Errorf("--baseline: %w", err)
		}
	}
	if err := cmp.Or(written("report", o.write(r, cmd.OutOrStdout())), all.unreached()); err != nil {
		return err
	}
	var least report.Level
	must(least.UnmarshalText([]byte(o.failOn.value)))
	if n := r.Count(least); n > 0 && least != report.None {
		return atFault(fmt.Errorf("findings at level %s or worse: %d", least, n))
	}
	return nil
}

func (o *inspectOptions) write(r *report.Report, out io.Writer) error {
	if o.asJSON {
		o.format.value = "json"
	}
	switch o.format.value {
	case "json":
		return r.JSON(out)
	case "md":
		return r.Markdown(out)
	case "sarif":
		return r.SARIF(out, o.baseline != "")
	case "html":
		return r.HTML(out, time.Now())
	}
	return r.Table(out, tty.Of(out, os.Getenv))
}

// reportOf returns a report of everything that the servers listed, whether it was accepted or not.
func reportOf(all *fleet) (*report.Report, error) {
	changes := all.lock.Changes(all.tools)
	if err := all.lock.Accept(all.tools, changes...); err != nil {
		return nil, atFault(err)
	}
	r := new(report.Report)
	r.Add(all.tools, changes, standard(nobody).Describe().Plan)
	for _, a := range all.asked {
		s := report.Server{ID: a.ID, Target: a.String(), File: a.File, Line: a.Line}
		if a.err != nil {
			s.Error = a.err.Error()
			r.Fail(a.ID, s.Error)
		}
		r.Servers = append(r.Servers, s)
	}
	return r, nil
}
