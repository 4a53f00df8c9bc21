package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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

// verdict writes what was found about a record, as text.
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

// encode writes indented JSON that cannot change how a terminal shows it.
func encode(out io.Writer, v any) error {
	e := json.NewEncoder(report.JSONWriter(out))
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
