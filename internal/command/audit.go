package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/spf13/cobra"
)

func auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read what was recorded of calls, and see whether anybody changed it",
		Long:  `Reads the file that --audit of 'fairlead proxy' and 'fairlead call' writes.`,
		Example: `  fairlead audit verify calls.jsonl
  fairlead audit show calls.jsonl --outcome denied`,
		Args: cobra.NoArgs, // what is no command of these is a mistake, and not a question for help
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(auditVerifyCommand(), auditShowCommand())
	return cmd
}

func auditVerifyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Say whether a record is whole, and which calls have no end",
		Long: `Reads the file and its head, and says whether records were changed, taken out or cut off.
Calls that were about to be made and have no end are named: nobody knows whether they
happened.

The exit code is 1 where the file is damaged, or where its head is missing, so that
nobody knows whether its end is there. A file whose writer is at work, or was killed,
is not damaged. Whoever can write both files can write a whole new pair: keep the
hash that is printed where they cannot.`,
		Example: `  fairlead audit verify calls.jsonl
  fairlead audit verify --json calls.jsonl | jq .state`,
		Args:              needs("FILE", true),
		ValidArgsFunction: cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := audit.Verify(args[0])
			if err != nil {
				return auditFault(err)
			}
			write := verdict
			if asJSON {
				write = verdictJSON
			}
			if err := write(cmd.OutOrStdout(), r); err != nil {
				return &exitError{exitFindings, fmt.Errorf("writing the verdict: %w", err)}
			}
			return broken(args[0], r)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an object for programs")
	return cmd
}

// auditFault says what keeps a record from being read.
func auditFault(err error) error {
	return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "audit: "))
}

// broken is the error about a record that cannot be relied on, nil for any other.
func broken(path string, r audit.Report) error {
	if r.State == audit.Damaged || r.State == audit.NotAttested {
		return &exitError{exitFindings, fmt.Errorf("%s: %s: %s", path, r.State, r.Problem)}
	}
	return nil
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
		fmt.Fprintf(w, "\nNobody knows whether these happened: %d\n", len(r.Open))
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

// What stands in a record as its class and its outcome.
var (
	classes  = []string{"safe", "moderate", "dangerous", "unknown"}
	outcomes = []string{
		string(audit.OK), string(audit.ToolError), string(audit.InputRequired), string(audit.Denied), string(audit.Refused), string(audit.NotSent),
		string(audit.Cancelled), string(audit.TimedOut), string(audit.Panicked), string(audit.Failed), string(audit.Unknown),
	}
)

// A recordFilter says which records are shown.
type recordFilter struct {
	server, tool, scope string
	class, outcome      choice
	since               time.Duration
	open                bool
}

// keeps reports whether a record is wanted; open are the calls without an end.
func (f recordFilter) keeps(r audit.Record, open map[string]bool, now time.Time) bool {
	same := func(want, got string) bool { return want == "" || want == got }
	switch {
	case f.open && (r.Kind != audit.Intent || !open[callOf(r)]):
		return false
	case f.since > 0 && r.Time.Before(now.Add(-f.since)):
		return false
	}
	return same(f.server, r.Server) && same(f.tool, r.Tool) && same(f.class.value, r.Class) && same(f.outcome.value, string(r.Outcome)) && same(f.scope, r.Scope)
}

func callOf(r audit.Record) string { return fmt.Sprintf("%s/%d", r.Run, r.N) }

func auditShowCommand() *cobra.Command {
	f := recordFilter{class: choice{of: classes}, outcome: choice{of: outcomes}}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Print the records of a file, all or some",
		Long: `Prints a line for each record, the oldest first; with several filters, those that all of
them keep. What was taken out when it was written stays out. The file is verified
too: the exit code is 1 where it is damaged.`,
		Example: `  fairlead audit show calls.jsonl --tool delete_file --since 24h
  fairlead audit show calls.jsonl --open
  fairlead audit show calls.jsonl --class dangerous --json | jq .arguments`,
		Args:              needs("FILE", true),
		ValidArgsFunction: cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.since < 0 || f.since == 0 && cmd.Flags().Changed("since") {
				return fmt.Errorf("--since %v is no time that has passed; give one such as 24h", f.since)
			}
			r, err := audit.Verify(args[0])
			if err != nil {
				return auditFault(err)
			}
			if err := f.print(cmd.OutOrStdout(), args[0], r, asJSON); err != nil {
				return &exitError{exitFindings, err}
			}
			return broken(args[0], r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.server, "server", "", "of this server")
	flags.StringVar(&f.tool, "tool", "", "of this tool")
	f.class.register(cmd, "class", "of this class")
	f.outcome.register(cmd, "outcome", "that ended so")
	flags.StringVar(&f.scope, "scope", "", "of this scope")
	flags.DurationVar(&f.since, "since", 0, "no older than this, such as 24h")
	flags.BoolVar(&f.open, "open", false, "calls that have no end: nobody knows whether they happened")
	flags.BoolVar(&asJSON, "json", false, "print the records as they stand in the file")
	return cmd
}

// print writes the records that are kept. A line that is none is the verdict's affair.
func (f recordFilter) print(out io.Writer, path string, r audit.Report, asJSON bool) error {
	open := make(map[string]bool)
	for _, o := range r.Open {
		open[callOf(o)] = true
	}
	in, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer in.Close()
	w := bufio.NewWriter(out)
	now := time.Now()
	for lines := bufio.NewReader(in); ; {
		text, err := lines.ReadBytes('\n')
		var record audit.Record
		if json.Unmarshal(text, &record) == nil && record.Kind != "" && f.keeps(record, open, now) {
			if asJSON {
				fmt.Fprintf(w, "%s\n", bytes.TrimSpace(text))
			} else {
				fmt.Fprintln(w, recordLine(record))
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return w.Flush()
		case err != nil:
			return err
		}
	}
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
		took := "<1ms"
		if r.Took >= time.Millisecond {
			took = r.Took.Round(time.Millisecond).String()
		}
		fmt.Fprintf(&b, " %s in %s", safetext.Line(string(r.Outcome)), took)
	}
	for _, part := range []struct{ name, value string }{
		{"scope", r.Scope}, {"from", r.From}, {"approval", r.Approval}, {"arguments", string(r.Arguments)}, {"error", r.Error},
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
