package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/report"
	"github.com/spf13/cobra"
)

func auditCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "audit",
		Short: "Read the record of calls, and verify that it was not changed",
		Long:  `The record that 'fairlead proxy --audit' and 'fairlead call --audit' write.`,
		Example: `  fairlead audit verify calls.jsonl
  fairlead audit show calls.jsonl --tool 'delete*' --outcome ok --since 7d`,
	}, auditVerifyCommand(), auditShowCommand(), auditCheckpointCommand(), auditRepairCommand())
}

func auditVerifyCommand() *cobra.Command {
	var asJSON bool
	var kept string
	cmd := &cobra.Command{
		Use:   "verify FILE...|FOLDER",
		Short: "Verify a record, and list the calls without an end",
		Long: `Read the files, or each .jsonl file of a folder, with their heads, and report records that
were changed, removed or cut off. Calls that began and have no end are listed: they may
have happened. A file that goes on after another one, since that was rotated, is compared
with it: records that are missing between the two are reported.

The exit code is 1 if a file is damaged, or if its head is missing, since the end of the
file may be missing then. A file that is being written, or whose writer was killed, is
not damaged. A program that can write the file and its head can replace both: a checkpoint
that was made before and kept in another place shows that ('fairlead audit checkpoint').`,
		Example: `  fairlead audit verify calls.jsonl
  fairlead audit verify /var/log/fairlead
  fairlead audit verify --checkpoint friday.jsonl /var/log/fairlead
  fairlead audit verify --json calls.jsonl | jq .state`,
		Args:              needs("FILE", false),
		ValidArgsFunction: cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			write := verdict
			if asJSON {
				write = verdictJSON
			}
			checkpoints, err := readCheckpoints(kept)
			if err != nil {
				return err
			}
			return eachRecord(args, checkpoints, func(path string, r audit.Report) error {
				if (len(args) > 1 || path != args[0]) && !asJSON {
					fmt.Fprintf(cmd.OutOrStdout(), "\nfile       %s\n", path)
				}
				return written("verdict", write(cmd.OutOrStdout(), r))
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	cmd.Flags().StringVar(&kept, "checkpoint", "", "compare with the checkpoints in this file")
	return cmd
}

// eachRecord calls do with each of the files, or with the files of a folder, the oldest first. The error is also
// about those that are damaged, and about checkpoints whose file is not there.
func eachRecord(paths []string, checkpoints []audit.Checkpoint, do func(path string, r audit.Report) error) (err error) {
	var all []string
	for _, path := range paths {
		of, err := recordFiles(path)
		if err != nil {
			return err
		}
		all = append(all, of...)
	}
	reports, err := audit.VerifySince(checkpoints, all...)
	if len(reports) == 0 {
		return err
	}
	err = atFault(err)
	for _, r := range reports {
		if failed := do(r.File, r); failed != nil {
			return failed
		}
		if r.State == audit.Damaged || r.State == audit.NotAttested {
			err = errors.Join(err, atFault(fmt.Errorf("%s: %s: %s", r.File, r.State, r.Problem)))
		}
	}
	return err
}

// recordFiles returns a file, or each .jsonl file of a folder, also with what a rotation adds to the name, such as
// calls.jsonl.1 and calls.jsonl-20261127.
func recordFiles(path string) ([]string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}, nil
	}
	found, err := filepath.Glob(filepath.Join(path, "*.jsonl*"))
	all := slices.DeleteFunc(found, func(name string) bool {
		return slices.Contains([]string{".head", ".new", ".next", ".gz"}, filepath.Ext(name))
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s holds no .jsonl file", path)
	}
	return all, err
}

func auditRepairCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "repair FILE",
		Short: "Put a damaged record aside, and go on in a new one",
		Long: `Give a record that the proxy refuses, and its head, another name, and begin a new one in its
place. The first record of the new one has where the old one ended and what was wrong with
it, so that 'fairlead audit verify' shows it for ever. Nothing is changed or deleted, and
no record that is missing comes back.

A proxy that runs goes on in the new file after SIGHUP, if it takes no records since the old one
was replaced or cut off, and got SIGHUP before. End other programs that have the file open first.`,
		Example:           `  fairlead audit repair calls.jsonl`,
		Args:              needs("FILE", true),
		ValidArgsFunction: cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			aside, before, err := audit.Repair(args[0], time.Now())
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "problem    %s\n", before.Problem)
			if aside != "" {
				fmt.Fprintf(out, "aside      %s, as it was, with its head\n", aside)
			}
			fmt.Fprintf(out, "new        %s, which goes on after record %d\nlast hash  %s\n", args[0], before.Records, before.Hash)
			fmt.Fprintln(out, "\nWhat is missing stays missing. The first record of the new file has this.")
			return nil
		},
	}
}

// verdict writes what was found about a record, as text.
func verdict(out io.Writer, r audit.Report) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "state      %s\n", r.State)
	if r.Problem != "" {
		fmt.Fprintf(w, "problem    %s\n", r.Problem)
	}
	fmt.Fprintf(w, "records    %d\nlast hash  %s\n", r.Records, r.Hash)
	if b := r.Before; b != nil {
		fmt.Fprintf(w, "after      record %d of an earlier file (%s), hash %s\n", b.Records, b.Why, b.Hash)
	}
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
		Before    *audit.Earlier `json:"before,omitempty"`
		Open      []audit.Record `json:"open"`
	}{r.State.String(), r.Problem, r.Records, r.Hash, r.Recovered, r.Before, append([]audit.Record{}, r.Open...)})
}

// encode writes indented JSON that cannot change how a terminal shows it.
func encode(out io.Writer, v any) error {
	e := json.NewEncoder(report.JSONWriter(out))
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
