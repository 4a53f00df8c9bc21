package command

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/learn"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/spf13/cobra"
)

func policyLearnCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "learn RECORD...",
		Short: "Write a policy file from recorded calls, for review",
		Long: `Reads records as 'fairlead audit' does, and writes a policy file with a comment for each tool: how
often it was called, and what people decided. Only decisions of people count, as 'fairlead proxy'
and 'fairlead call' record them. What they approved three times, and never denied, is proposed in a
comment; what they only denied is denied. As it is written, the file allows nothing.`,
		Example: `  fairlead policy learn calls.jsonl --out policy.json`,
		Args:    needs("RECORD", false),
		RunE: func(cmd *cobra.Command, args []string) error {
			record, err := records(cmd, args)
			if err != nil {
				return err
			}
			text, err := record.Policy(time.Now())
			if err != nil {
				return err
			}
			if out == "" {
				_, err = cmd.OutOrStdout().Write(text)
				return written("policy", err)
			}
			f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the person names it
			if err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			_, err = f.Write(text)
			return written("policy", errors.Join(err, f.Close()))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "a new `FILE` (default standard output)")
	return cmd
}

func policyTestCommand() *cobra.Command {
	var against []string
	cmd := &cobra.Command{
		Use:   "test FILE --against RECORD",
		Short: "Print what a policy changes about recorded calls",
		Long: `Runs recorded calls against a policy file, without a server, and prints for each tool how many
were asked about, refused and allowed, and how many would be. What depends on other calls, such
as limits, is left out. A tool has its recorded class, so a call that a rule asked about counts as
dangerous; the policy's own "tools" come first.

The exit code is 1 if a call that was asked about or refused would be allowed, or one that ran
would be refused. It is 2 if the policy or a record cannot be used.`,
		Example: `  fairlead policy test policy.json --against calls.jsonl`,
		Args:    needs("FILE", true),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := policy.Load(args[0])
			if err != nil {
				return err
			}
			record, err := records(cmd, against)
			if err != nil {
				return err
			}
			changes, err := record.Compare(cmd.Context(), p)
			if err != nil {
				return err
			}
			if err := changes.Write(cmd.OutOrStdout()); err != nil {
				return written("table", err)
			}
			if changes.Loosened+changes.Broken > 0 {
				return atFault(fmt.Errorf("%d calls that were asked about or refused would be allowed, and %d that ran would be refused", changes.Loosened, changes.Broken))
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&against, "against", nil, "a `RECORD`: an audit file or a folder of them (may be given again)")
	must(cmd.MarkFlagRequired("against"))
	return cmd
}

// records reads audit files and folders of them, and prints what they lack.
func records(cmd *cobra.Command, paths []string) (*learn.Record, error) {
	var files []string
	for _, path := range paths {
		of, err := recordFiles(path)
		if err != nil {
			return nil, err
		}
		files = append(files, of...)
	}
	record, err := learn.Read(files)
	if err != nil {
		return nil, err
	}
	for _, note := range record.Notes() {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
	}
	return record, nil
}
