package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	about "github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tty"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// patience is how long the person at the terminal has for an approval.
const patience = 10 * time.Minute

// maxArguments is the most bytes of the arguments.
const maxArguments = 16 << 20

type callOptions struct {
	serverFlags

	arguments string
	lock      string
	audit     string
	asJSON    bool
}

func callCommand() *cobra.Command {
	var o callOptions
	cmd := &cobra.Command{
		Use:   "call TOOL " + serverArgs,
		Short: "Call one tool through the chain",
		Long: `Call a tool and print its result: text as text, and only the type of other content.
A call that is dangerous, or whose class is unknown, needs your approval at the terminal
first; without an answer it is denied. TOOL is the name of the tool, or SERVER/NAME if
several servers have a tool of that name.

` + naming + `

The exit code is 1 if the call was not made, if it failed, or if the tool returned an
error; the message says which, and whether the call may have happened.`,
		Example: `  fairlead call read_file --arguments '{"path":"notes.txt"}' --config .mcp.json --server files
  echo '{"query":"tides"}' | fairlead call search --arguments - --json https://example.com/mcp`,
		Args: needs("TOOL", false),
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash == 0 {
				return errors.New("give the name of the tool before --: fairlead call TOOL -- COMMAND ARGS")
			}
			targets, err := o.targets(args[1:], dash-1)
			if err != nil {
				return err
			}
			return o.run(cmd, args[0], targets)
		},
	}
	o.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.arguments, "arguments", "{}", "the arguments, a JSON object; - reads them from standard input, so that no approval is possible")
	flags.StringVar(&o.lock, "lock", "", "`FILE` of accepted definitions; a tool that differs is not called (see fairlead lock)")
	flags.StringVar(&o.audit, "audit", "", "`FILE` to which the call is written down (see fairlead audit)")
	flags.BoolVar(&o.asJSON, "json", false, "print the whole result as JSON")
	must(cmd.MarkFlagFilename("lock"))
	must(cmd.MarkFlagFilename("audit", "jsonl"))
	return cmd
}

// run calls the tool of a name. The exit code is 1 if the call was not made or has failed.
func (o *callOptions) run(cmd *cobra.Command, name string, targets []dial.Target) (err error) {
	ctx := cmd.Context()
	person := via("terminal", terminal.New(cmd.InOrStdin(), cmd.ErrOrStderr()))
	arguments := []byte(o.arguments)
	if o.arguments == "-" {
		person = hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			return hitl.Decision{}, errors.New("standard input has the arguments, so that you cannot be asked; give them after --arguments")
		})
		if arguments, err = io.ReadAll(io.LimitReader(until(ctx, cmd.InOrStdin()), maxArguments+1)); err != nil {
			return fmt.Errorf("--arguments -: %w", err)
		}
	}
	if string(bytes.TrimSpace(arguments)) == "null" {
		arguments = []byte("{}") // as a loop and the proxy read it
	}
	if len(arguments) > maxArguments || !json.Valid(arguments) || !bytes.HasPrefix(bytes.TrimSpace(arguments), []byte("{")) {
		return errors.New(`--arguments: want a JSON object, such as {"path":"notes.txt"}`)
	}
	lock, err := loadLock(o.lock)
	if err != nil {
		return err
	}
	std := standard(person)
	var all *fleet
	std.Confirm = hitl.New(person, hitl.Options{Timeout: patience, Inverse: inverseOf(&all)})
	ended, err := record(&std, o.audit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ended()) }()
	all, err = o.connect(ctx, targets, lock)
	if err != nil {
		return err
	}
	defer all.close()
	tool, err := find(all, name)
	if err != nil {
		return err
	}
	res, err := std.Then(all.tools).CallTool(ctx, middleware.Call{Tool: tool, Arguments: arguments})
	if denied, ok := errors.AsType[*hitl.DeniedError](err); ok {
		why := errors.New("you denied it")
		switch {
		case denied.Err != nil:
			why = fmt.Errorf("nobody approved it (%w)", denied.Err)
		case denied.Reason != "":
			why = fmt.Errorf("you denied it: %s", denied.Reason)
		}
		return atFault(fmt.Errorf("%s was not called: %w", safetext.Line(tool.String()), why))
	}
	if err != nil {
		return atFault(err)
	}
	if err := o.print(cmd.OutOrStdout(), res); err != nil {
		return written("result", err)
	}
	for _, f := range all.tools.Findings() {
		if f.Kind == about.Null { // which only a call shows
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %s [%s]\n", safetext.Line(f.String()), f.Kind)
		}
	}
	if res.IsError {
		return atFault(fmt.Errorf("%s says that it failed", safetext.Line(tool.String())))
	}
	return nil
}

// record has a chain write its records to a file, if path is not "". ended closes the file, and returns an error if
// records are missing in it.
func record(s *chain.Standard, path string) (ended func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	file, err := openRecord(path, nil)
	if err != nil {
		return nil, err
	}
	trail := audit.New(file, audit.Options{})
	s.Audit = trail
	return func() error {
		if lost := trail.Lost(); lost > 0 {
			_ = file.Close() // it has failed already
			return atFault(fmt.Errorf("%d records are not in %s; see whether its disk is full", lost, path))
		}
		return file.Close()
	}, nil
}

// openRecord opens the file that --audit names.
func openRecord(path string, log *slog.Logger) (*audit.File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("--audit %s: it is a folder; name a file in it, such as %s", path, filepath.Join(path, "calls.jsonl"))
	}
	file, err := audit.OpenFile(path, log)
	if err != nil {
		return nil, fmt.Errorf("--audit %s: %w; name a file in a folder that is there", path, err)
	}
	return file, nil
}

// find returns the tool of the name, which may follow that of its server.
func find(all *fleet, name string) (*middleware.Tool, error) {
	var found []*middleware.Tool
	var names []string
	for _, t := range all.tools.List() {
		if t.Name() == name || t.String() == name {
			found = append(found, t)
		}
		names = append(names, safetext.Line(t.Name()))
	}
	if len(found) == 1 {
		return found[0], nil
	}
	for _, c := range all.lock.Changes(all.tools) {
		if c.Kind != pins.Removed && (c.Tool == name || c.Server+"/"+c.Tool == name) {
			return nil, atFault(fmt.Errorf("%s; look at it with: fairlead lock diff", c))
		}
	}
	if err := all.unreached(); err != nil { // one of these may have it
		return nil, err
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("several servers have a tool %q; write SERVER/NAME", name)
	}
	meant := suggestion("", name, names)
	const most = 20
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return nil, fmt.Errorf("there is no tool %q%s\nThere are %s", name, meant, strings.Join(names, ", "))
}

// print writes a result: made safe on a terminal, as it is into a pipe.
func (o *callOptions) print(out io.Writer, res *mcp.CallToolResult) error {
	if o.asJSON {
		return encode(out, res)
	}
	text := output.Text(res)
	if tty.Of(out, os.Getenv).Live {
		text = safetext.Text(text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(out, text)
	return err
}

// nobody is a confirmer that approves nothing, for chains that are described and never called.
var nobody = hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) { return hitl.Decision{}, nil })

// standard returns the chain with the defaults, which fairlead call uses and other commands describe.
func standard(person hitl.Confirmer) chain.Standard {
	return chain.Standard{
		Confirm:   hitl.New(person, hitl.Options{}),
		Cache:     cache.New(cache.Options{}),
		Retry:     retry.New(retry.Options{}),
		RateLimit: ratelimit.New(ratelimit.Options{}),
		Timeout:   timeout.New(timeout.Options{}),
	}
}
