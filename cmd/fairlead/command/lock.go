package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/owned"
	"github.com/spf13/cobra"
)

// lockFile is the default file of accepted definitions.
const lockFile = "fairlead.lock"

func lockCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "lock",
		Short: "Accept the tools of servers, and show what has changed since",
		Long: `A lock file has the definitions of tools that a person has accepted. Commit it with your
code, so that changes are reviewed. 'inspect', 'proxy' and 'call' use it with --lock.`,
		Example: `  fairlead lock accept --config .mcp.json
  fairlead lock diff --config .mcp.json`,
	}, lockDiffCommand(), lockAcceptCommand())
}

// lockFlags are the flags of the commands that compare servers with a lock file.
type lockFlags struct {
	serverFlags

	path string
}

func (f *lockFlags) register(cmd *cobra.Command) {
	f.serverFlags.register(cmd)
	cmd.Flags().StringVar(&f.path, "lock", lockFile, "the lock `FILE`")
	must(cmd.MarkFlagFilename("lock"))
}

// open lists the tools of the servers against the lock file; without one, nothing was accepted.
func (f *lockFlags) open(cmd *cobra.Command, args []string) (*fleet, error) {
	lock, err := pins.Load(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		lock = new(pins.Lock)
	case err != nil:
		return nil, err
	}
	all, err := f.reachAll(cmd, args, lock)
	if err != nil {
		return nil, err
	}
	if err := all.unreached(); err != nil {
		all.close()
		return nil, err
	}
	return all, nil
}

// changes lists the tools and shows what has changed since they were accepted, with details or a line for each.
// The caller closes all.
func (f *lockFlags) changes(cmd *cobra.Command, args []string, details bool) (all *fleet, changes []pins.Change, err error) {
	if all, err = f.open(cmd, args); err != nil {
		return nil, nil, err
	}
	changes = all.lock.Changes(all.tools)
	if err := written("changes", show(cmd.OutOrStdout(), changes, details)); err != nil {
		all.close()
		return nil, nil, err
	}
	return all, changes, nil
}

func show(out io.Writer, changes []pins.Change, details bool) error {
	w := bufio.NewWriter(out)
	for _, c := range changes {
		if details {
			fmt.Fprintln(w, c.Diff())
		} else {
			fmt.Fprintln(w, c)
		}
	}
	return w.Flush()
}

func lockDiffCommand() *cobra.Command {
	var f lockFlags
	cmd := &cobra.Command{
		Use:   "diff " + serverArgs,
		Short: "Show what has changed since the lock file was written",
		Long: `Show each tool that is new, changed or removed since the lock file was written. The
exit code is 1 if there is any.

` + naming,
		Example: `  fairlead lock diff --config .mcp.json
  fairlead lock diff --lock filesystem.lock -- npx -y @modelcontextprotocol/server-filesystem .`,
		RunE: func(cmd *cobra.Command, args []string) error {
			all, changes, err := f.changes(cmd, args, true)
			if err != nil {
				return err
			}
			all.close()
			if len(changes) > 0 {
				return atFault(fmt.Errorf("tools that differ from %s: %d; accept them with: fairlead lock accept", f.path, len(changes)))
			}
			return nil
		},
	}
	f.register(cmd)
	return cmd
}

func lockAcceptCommand() *cobra.Command {
	var f lockFlags
	var yes, details bool
	cmd := &cobra.Command{
		Use:   "accept " + serverArgs,
		Short: "Show what has changed, ask, and write the lock file",
		Long: `Show what has changed since the lock file was written, a line for each tool, ask, and
write the file. The answer d shows the differences, as 'fairlead lock diff' does, and
asks again. Tools of servers that you do not give stay in the file as they are.

` + naming,
		Example: `  fairlead lock accept --config .mcp.json
  fairlead lock accept --name files -- npx -y @modelcontextprotocol/server-filesystem .`,
		RunE: func(cmd *cobra.Command, args []string) error {
			all, changes, err := f.changes(cmd, args, details)
			if err != nil {
				return err
			}
			defer all.close()
			if len(changes) == 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "Nothing has changed since %s was written.\n", f.path)
				return nil
			}
			more := func() error { return written("changes", show(cmd.OutOrStdout(), changes, true)) }
			question := fmt.Sprintf("Accept %d changes into %s? [y]es [N]o [d]etails: ", len(changes), f.path)
			if !yes && !agreed(until(cmd.Context(), cmd.InOrStdin()), cmd.ErrOrStderr(), question, more) {
				return atFault(fmt.Errorf("nothing was accepted, and %s is as it was", f.path))
			}
			if err := all.lock.Accept(all.tools, changes...); err != nil {
				return atFault(err)
			}
			if err := all.lock.Save(f.path); err != nil {
				return atFault(err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s is written. Commit it, so that others see it too.\n", f.path)
			return nil
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "accept without asking")
	cmd.Flags().BoolVar(&details, "details", false, "show the differences before the question")
	return cmd
}

// agreed asks a question, again after each wish for details. Anything but yes means no, silence first of all.
func agreed(in io.Reader, out io.Writer, question string, details func() error) bool {
	for lines := bufio.NewReader(in); ; {
		fmt.Fprint(out, question)
		answer, err := lines.ReadString('\n')
		if err != nil {
			fmt.Fprintln(out)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false // half a line does not count
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true
		case "d", "details":
			if details() != nil {
				return false
			}
		default:
			return false
		}
	}
}

// loadLock reads the file of --lock, nil for "".
func loadLock(path string) (*pins.Lock, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // no lock is not an empty one
	}
	if err := owned.File(path); err != nil {
		return nil, fmt.Errorf("--lock: %w", err)
	}
	lock, err := pins.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--lock: there is no %s; write one with: fairlead lock accept", path)
	}
	if err != nil {
		return nil, fmt.Errorf("--lock: %w", err)
	}
	return lock, nil
}
