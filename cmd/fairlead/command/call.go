package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tty"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/replaytest"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

const patience = 10 * time.Minute

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
	if len(arguments) > maxArguments || !json.Valid(arguments) || !bytes.HasPrefix(bytes.TrimSpace(arguments), []byte("{")) {
		return errors.New(`--arguments is no JSON object; write one such as {"path":"notes.txt"}`)
	}
	lock, err := loadLock(o.lock)
	if err != nil {
		return err
	}
	std := standard(person)
	std.Confirm = hitl.New(person, hitl.Options{Timeout: patience})
	ended, err := record(&std, o.audit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ended()) }()
	all, err := o.connect(ctx, targets, lock)
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
	if res.IsError {
		return atFault(fmt.Errorf("%s says that it failed", safetext.Line(tool.String())))
	}
	return nil
}

func record(s *chain.Standard, path string) (ended func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	file, err := audit.OpenFile(path, nil)
	if err != nil {
		return nil, fmt.Errorf("--audit %s: %w; name a file in a folder that is there", path, err)
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

func recordTo(cmd *cobra.Command, server proxy.Server, path string) error {
	errs := cmd.ErrOrStderr()
	warn := func(text string) { fmt.Fprintln(errs, "fairlead: record:", harmless(text)) }
	r := replaytest.NewRecorder(path, warn)
	if err := r.Close(); err != nil { // rather now than after the session
		return err
	}
	err := proxy.Relay(cmd.Context(), server, cmd.InOrStdin(), cmd.OutOrStdout(), errs, slog.New(slog.NewTextHandler(errs, nil)), r.Sent, r.Received)
	if err := errors.Join(r.Close(), err); err != nil {
		return &exitError{exitUnreachable, err}
	}
	warn("the session is in " + path)
	return nil
}

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

func auditCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "audit",
		Short: "Read the record of calls, and verify that it was not changed",
		Long:  `The record that 'fairlead proxy --audit' and 'fairlead call --audit' write.`,
		Example: `  fairlead audit verify calls.jsonl
  fairlead audit show calls.jsonl --tool 'delete*' --outcome ok --since 168h`,
	}, auditVerifyCommand(), auditShowCommand())
}

func auditVerifyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify FILE|FOLDER",
		Short: "Verify a record, and list the calls without an end",
		Long: `Read the file, or each .jsonl file of a folder, with its head, and report records that
were changed, removed or cut off. Calls that began and have no end are listed: they may
have happened.

The exit code is 1 if a file is damaged, or if its head is missing, since the end of the
file may be missing then. A file that is being written, or whose writer was killed, is
not damaged. A program that can write the file and its head can replace both, so keep
the hash that is printed in another place.`,
		Example: `  fairlead audit verify calls.jsonl
  fairlead audit verify --json calls.jsonl | jq .state`,
		Args:              needs("FILE", true),
		ValidArgsFunction: cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			write := verdict
			if asJSON {
				write = verdictJSON
			}
			return eachRecord(args[0], func(path string, r audit.Report) error {
				if path != args[0] && !asJSON {
					fmt.Fprintf(cmd.OutOrStdout(), "\nfile       %s\n", path)
				}
				return written("verdict", write(cmd.OutOrStdout(), r))
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// eachRecord calls do with a file, or with each .jsonl file of a folder. The error is also
// about those that are damaged.
func eachRecord(path string, do func(path string, r audit.Report) error) (err error) {
	all, err := recordFiles(path)
	if err != nil {
		return err
	}
	for _, path := range all {
		r, failed := audit.Verify(path)
		if failed != nil {
			return failed
		}
		if failed := do(path, r); failed != nil {
			return failed
		}
		if r.State == audit.Damaged || r.State == audit.NotAttested {
			err = errors.Join(err, atFault(fmt.Errorf("%s: %s: %s", path, r.State, r.Problem)))
		}
	}
	return err
}

// recordFiles returns a file, or each .jsonl file of a folder.
func recordFiles(path string) ([]string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}, nil
	}
	all, err := filepath.Glob(filepath.Join(path, "*.jsonl"))
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s holds no .jsonl file", path)
	}
	return all, err
}

func verdict(out io.Writer, r audit.Report) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "state      %s\n", r.State)
	if r.Problem != "" {
		fmt.Fprintf(w, "problem    %s\n", r.Problem)
	}
	fmt.Fprintf(w, "records    %d\nlast hash  %s\n", r.Records, r.Hash)
	if r.Recovered > 0 {
		fmt.Fprintf(w, "recovered  %d times, after a writer that was interrupted\n", r.Recovered)
	}
	if len(r.Open) > 0 {
		fmt.Fprintf(w, "\nIt is unknown whether these happened: %d\n", len(r.Open))
	}
	for _, open := range r.Open {
		fmt.Fprintln(w, "  "+recordLine(open))
	}
	return w.Flush()
}

func verdictJSON(out io.Writer, r audit.Report) error {
	return encode(out, struct {
		State     string         `json:"state"`
		Problem   string         `json:"problem,omitempty"`
		Records   int64          `json:"records"`
		Hash      string         `json:"hash"`
		Recovered int64          `json:"recovered"`
		Open      []audit.Record `json:"open"`
	}{r.State.String(), r.Problem, r.Records, r.Hash, r.Recovered, append([]audit.Record{}, r.Open...)})
}

func encode(out io.Writer, v any) error {
	e := json.NewEncoder(safetext.JSONWriter(out))
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// The words in a record for its class and its outcome.
var (
	classes  = []string{"safe", "moderate", "dangerous", "unknown"}
	outcomes = []string{
		string(audit.OK), string(audit.ToolError), string(audit.InputRequired), string(audit.Denied), string(audit.Refused), string(audit.NotSent),
		string(audit.Cancelled), string(audit.TimedOut), string(audit.Panicked), string(audit.Failed), string(audit.Unknown),
	}
)

// A recordFilter selects the records that are shown.
type recordFilter struct {
	server, tool, scope string
	class, outcome      choice
	since               time.Duration
	open                bool
}

// keeps reports whether a record is wanted; open are the calls without an end.
func (f recordFilter) keeps(r audit.Record, open map[string]bool, now time.Time) bool {
	same := func(want, got string) bool { return want == "" || want == got }
	named, _ := filepath.Match(f.tool, r.Tool) // a bad pattern matches nothing
	switch {
	case f.open && (r.Kind != audit.Intent || !open[callOf(r)]):
		return false
	case f.tooOld(r.Time, now):
		return false
	}
	return same(f.server, r.Server) && (named || f.tool == "") && same(f.class.value, r.Class) && same(f.outcome.value, string(r.Outcome)) && same(f.scope, r.Scope)
}

func (f recordFilter) tooOld(at, now time.Time) bool {
	return f.since > 0 && at.Before(now.Add(-f.since))
}

func callOf(r audit.Record) string { return fmt.Sprintf("%s/%d", r.Run, r.N) }

func auditShowCommand() *cobra.Command {
	f := recordFilter{class: choice{of: classes}, outcome: choice{of: outcomes}}
	var asJSON bool
	var flow string
	cmd := &cobra.Command{
		Use:   "show FILE|FOLDER",
		Short: "Print records",
		Long: `Print a line for each record that matches all filters, the oldest first. The line of an
end has the call's arguments, and who allowed or denied it. Secrets were removed when the
record was written. The file is also verified: the exit code is 1 if it is damaged.`,
		Example: `  # what was deleted in the last week, and who allowed it
  fairlead audit show calls.jsonl --tool 'delete*' --outcome ok --since 168h
  fairlead audit show calls.jsonl --open
  fairlead audit show calls.jsonl --flow 17
  fairlead audit show calls.jsonl --class dangerous --json | jq .arguments`,
		Args:              needs("FILE", true),
		ValidArgsFunction: cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.since < 0 || f.since == 0 && cmd.Flags().Changed("since") {
				return fmt.Errorf("--since %v is no time that has passed; give one such as 24h", f.since)
			}
			return eachRecord(args[0], func(path string, r audit.Report) error {
				if flow != "" {
					return atFault(printFlow(cmd.OutOrStdout(), path, flow))
				}
				return atFault(f.print(cmd.OutOrStdout(), path, r, asJSON))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.server, "server", "", "only calls to this server")
	flags.StringVar(&f.tool, "tool", "", "only calls of this tool, or of tools whose names match a `pattern` such as 'delete*'")
	f.class.register(cmd, "class", "only calls of this class")
	f.outcome.register(cmd, "outcome", "only calls with this outcome")
	flags.StringVar(&f.scope, "scope", "", "only calls in this scope")
	flags.DurationVar(&f.since, "since", 0, "only records of this last period, such as 24h")
	flags.BoolVar(&f.open, "open", false, "only calls without an end: they may have happened")
	flags.BoolVar(&asJSON, "json", false, "print the records as JSON, as in the file")
	flags.StringVar(&flow, "flow", "", "print where the arguments of this `CALL` came from, as far back as is known")
	return cmd
}

// print writes the records that are kept. A line that is none is the verdict's affair.
func (f recordFilter) print(out io.Writer, path string, r audit.Report, asJSON bool) error {
	open := make(map[string]bool)
	for _, o := range r.Open {
		open[callOf(o)] = true
	}
	w := bufio.NewWriter(out)
	var intent []byte                                   // of the call that a line is about
	now, intents := time.Now(), make(map[string][]byte) // of those that have not ended
	err := eachLine(path, func(text []byte) (early bool) {
		call, kind, at := outline(text)
		intent = intents[call]
		if delete(intents, call); kind == audit.Intent {
			intents[call] = text
		}
		return !at.IsZero() && f.tooOld(at, now)
	}, func(text []byte, record audit.Record) {
		if !f.keeps(record, open, now) {
			return
		}
		var begun audit.Record
		if record.Kind == audit.End && intent != nil && json.Unmarshal(intent, &begun) == nil {
			record.Arguments = slices.Concat(record.Arguments, begun.Arguments) // one of them is empty
		}
		if asJSON {
			fmt.Fprintf(w, "%s\n", bytes.TrimSpace(text))
			return
		}
		fmt.Fprintln(w, recordLine(record))
	})
	return errors.Join(err, w.Flush())
}

// outline returns the call, the kind and the time of a record without decoding the rest of
// its line. The time is zero if the line is not as an [audit.File] writes it.
func outline(text []byte) (call string, kind audit.Kind, at time.Time) {
	_, text, _ = bytes.Cut(text, []byte(`","time":"`))
	clock, text, _ := bytes.Cut(text, []byte(`","kind":"`))
	what, text, _ := bytes.Cut(text, []byte(`","run":"`))
	run, text, _ := bytes.Cut(text, []byte(`","n":`))
	n, _, _ := bytes.Cut(text, []byte(`,`))
	at, _ = time.Parse(time.RFC3339Nano, string(clock))
	return string(run) + "/" + string(n), audit.Kind(what), at
}

// eachLine reads the records of a file, and leaves out what is not one, or is skipped.
func eachLine(path string, skip func(text []byte) bool, do func(text []byte, record audit.Record)) error {
	in, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer in.Close()
	for lines := bufio.NewReader(in); ; {
		text, err := lines.ReadBytes('\n')
		var record audit.Record
		if !skip(text) && json.Unmarshal(text, &record) == nil && record.Kind != "" {
			do(text, record)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func lasted(d time.Duration) string {
	if d < time.Millisecond {
		return "<1ms"
	}
	return d.Round(time.Millisecond).String()
}

// recordLine is a record on one line, safe to show.
func recordLine(r audit.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %-9s", r.Time.UTC().Format("2006-01-02T15:04:05.000Z"), safetext.Line(string(r.Kind)))
	if r.Kind == audit.Recovered {
		return b.String() + " a writer before had been interrupted"
	}
	tool := r.Tool
	if r.Server != "" {
		tool = r.Server + "/" + r.Tool
	}
	fmt.Fprintf(&b, " %s (%s)", safetext.Line(tool), safetext.Line(r.Class))
	if r.Outcome != "" {
		fmt.Fprintf(&b, " %s in %s", safetext.Line(string(r.Outcome)), lasted(r.Took))
	}
	by, waited := r.By, ""
	if by == "" && r.Via != "" {
		by = "the user" // of the client, or at the terminal
	}
	if r.Waited > 0 {
		waited = lasted(r.Waited)
	}
	for _, part := range []struct{ name, value string }{
		{"call", r.Call}, {"scope", r.Scope}, {"from", r.From}, {"by", by}, {"via", r.Via}, {"waited", waited}, {"approval", r.Approval}, {"arguments", string(r.Arguments)}, {"error", r.Error},
	} {
		if part.value != "" {
			fmt.Fprintf(&b, " %s=%s", part.name, safetext.Cut(safetext.Line(part.value), 200))
		}
	}
	for _, d := range r.Decisions {
		fmt.Fprintf(&b, " · %s: %s", safetext.Line(d.Stage), safetext.Line(d.What))
		if d.Why != "" {
			fmt.Fprintf(&b, " (%s)", safetext.Cut(safetext.Line(d.Why), 200))
		}
	}
	return b.String()
}

// ends are the ends of calls in the order of a file, by what a source names.
type ends map[endKey][]audit.Record

type endKey struct{ run, call string }

// printFlow draws where the arguments of a call came from, and below each result where the
// arguments of its call did. An ID that several calls have is that of the last.
func printFlow(out io.Writer, path, id string) error {
	of, last := make(ends), audit.Record{}
	err := eachLine(path, func([]byte) bool { return false }, func(_ []byte, r audit.Record) {
		if r.Kind != audit.End || r.Call == "" {
			return
		}
		r.Arguments, r.Result = nil, nil
		key := endKey{r.Run, r.Call}
		if of[key] = append(of[key], r); r.Call == id {
			last = r
		}
	})
	if err != nil {
		return err
	}
	if last.Kind == "" {
		return fmt.Errorf("%s has no end of a call %q; fairlead audit show prints the calls with their IDs, as call=ID", path, id)
	}
	of.draw(out, last, "", make(map[int64]bool))
	return nil
}

func (of ends) draw(out io.Writer, r audit.Record, indent string, drawn map[int64]bool) {
	fmt.Fprintf(out, "%s%s\n", indent, recordLine(r))
	indent += "  "
	if len(r.Sources) == 0 && r.Class != "safe" {
		fmt.Fprintf(out, "%sthe sources of its arguments are not recorded\n", indent)
	}
	for _, s := range r.Sources {
		line := s.String()
		if s.Rule != "" {
			line += " [" + s.Rule + "]"
		}
		fmt.Fprintf(out, "%s%s\n", indent, safetext.Line(line))
		if from, ok := of.before(r, s); ok && !drawn[from.N] {
			drawn[from.N] = true
			of.draw(out, from, indent+"  ", drawn)
		}
	}
}

// before returns the end of the call that a source names: the nearest one earlier in the
// same run. Each step goes back in N, so no way is endless.
func (of ends) before(r audit.Record, s audit.Source) (from audit.Record, ok bool) {
	for _, end := range of[endKey{r.Run, s.Call}] {
		if s.Call != "" && end.N < r.N && strings.TrimPrefix(end.Server+"/"+end.Tool, "/") == s.Tool {
			from, ok = end, true
		}
	}
	return from, ok
}
