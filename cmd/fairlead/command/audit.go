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
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/spf13/cobra"
)

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
