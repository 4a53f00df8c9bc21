package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/spf13/cobra"
)

func auditCheckpointCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "checkpoint FILE...|FOLDER",
		Short: "Print where a record is, to be kept or signed elsewhere",
		Long: `Verify the files, or each .jsonl file of a folder, and print a line of JSON for each: the time, how
many records there are, and the hash of the last one, which covers all before it. Keep the lines
where no program that writes the record can change them, or sign them with a key that is not on
this machine: then 'fairlead audit verify --checkpoint' shows later whether one of these records
was changed or removed, also if the file and its head were both replaced.

Nothing is printed, and the exit code is 1, if a file is damaged or its end may be missing.`,
		Example: `  fairlead audit checkpoint calls.jsonl > friday.jsonl
  fairlead audit verify --checkpoint friday.jsonl calls.jsonl`,
		Args:              needs("FILE", false),
		ValidArgsFunction: cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(cmd *cobra.Command, args []string) error {
			var text bytes.Buffer
			lines, now := json.NewEncoder(&text), time.Now()
			err := eachRecord(args, nil, func(_ string, r audit.Report) error {
				if r.Records == 0 && r.State == audit.Whole {
					return nil // a file that was just begun
				}
				point, err := r.Checkpoint(now)
				if err != nil {
					return atFault(err)
				}
				return lines.Encode(point)
			})
			if err == nil && text.Len() == 0 {
				err = atFault(errors.New("there is nothing to keep yet: no file has a record"))
			}
			if err != nil {
				return err
			}
			_, err = text.WriteTo(cmd.OutOrStdout())
			return written("checkpoint", err)
		},
	}
}

// readCheckpoints returns the checkpoints in a file; none without a name.
func readCheckpoints(name string) (all []audit.Checkpoint, err error) {
	if name == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	lines := json.NewDecoder(bytes.NewReader(raw))
	lines.DisallowUnknownFields()
	for {
		var point audit.Checkpoint
		switch err := lines.Decode(&point); {
		case errors.Is(err, io.EOF) && len(all) > 0:
			return all, nil
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%s has no checkpoint; want lines of 'fairlead audit checkpoint'", name)
		case err != nil:
			return nil, fmt.Errorf("%s: checkpoint %d: %w; want lines of 'fairlead audit checkpoint'", name, len(all)+1, err)
		}
		all = append(all, point)
	}
}
