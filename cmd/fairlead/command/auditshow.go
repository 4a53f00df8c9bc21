package command

// fairlead audit show reads a record once, from the beginning to the end, whatever its size. Decoding a line costs much
// more than reading it, so lines before --since are told by their first members, whose order an [audit.File] fixes, and
// are not decoded; see outline. Of the calls that have begun, their intent is kept until their end is read, since the
// arguments of a dangerous call are in its intent alone.

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
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/spf13/cobra"
)

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

// callOf returns what the intent and the end of a call have in common and no other call has.
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
  fairlead audit show calls.jsonl --tool 'delete*' --outcome ok --since 7d
  fairlead audit show calls.jsonl --open
  fairlead audit show calls.jsonl --flow 17
  fairlead audit show calls.jsonl --class dangerous --json | jq .arguments`,
		Args:              needs("FILE", true),
		ValidArgsFunction: cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.since < 0 || f.since == 0 && cmd.Flags().Changed("since") {
				return fmt.Errorf("--since: want a time of more than 0, such as 24h or 7d, got %v", f.since)
			}
			return eachRecord(args[:1], nil, func(path string, r audit.Report) error {
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
	flags.Var((*period)(&f.since), "since", "only records of this last period, such as 24h or 7d")
	flags.BoolVar(&f.open, "open", false, "only calls without an end: they may have happened")
	flags.BoolVar(&asJSON, "json", false, "print the records as JSON, as in the file")
	flags.StringVar(&flow, "flow", "", "print where the arguments of this `CALL` came from, as far back as is known")
	return cmd
}

// print writes the records that are kept. Lines that are not records are left out; [audit.Verify] reports them.
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
			record.Client = slices.Concat(record.Client, begun.Client)
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

// recordLine returns a record on one line, which a terminal can show.
func recordLine(r audit.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %-9s", r.Time.UTC().Format("2006-01-02T15:04:05.000Z"), safetext.Line(string(r.Kind)))
	if r.Kind == audit.Recovered {
		return b.String() + " a writer before had been interrupted"
	}
	if r.Kind == audit.Continued {
		return b.String() + " the record goes on after an earlier file"
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
		{"call", r.Call}, {"scope", r.Scope}, {"from", r.From}, {"by", by}, {"via", r.Via}, {"waited", waited}, {"approval", r.Approval}, {"arguments", string(r.Arguments)}, {"client", string(r.Client)}, {"error", r.Error},
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
