package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/spf13/cobra"
)

func approvalsCommand() *cobra.Command {
	var o proxyFlags
	list := &cobra.Command{
		Use:   "list " + serverArgs,
		Short: "List remembered approvals: for whom, since and until when, and how often they were used",
		Long: `List the remembered approvals in a store: the number to revoke it by, the tool and the
arguments that it covers, its scope, and the person who gave it. With a store in Redis or
PostgreSQL, give the same servers as to 'fairlead proxy', in the same folder.`,
		Example: `  fairlead approvals list --store ~/.fairlead`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.stores(cmd, args, func(s approvals.Store) (bool, error) {
				return false, listApprovals(cmd.Context(), cmd.OutOrStdout(), s)
			})
		},
	}
	revoke := &cobra.Command{
		Use:   "revoke NUMBER " + serverArgs,
		Short: "Revoke a remembered approval in all proxies that share the store",
		Long: `Revoke a remembered approval by its number in 'fairlead approvals list', or by the first
characters of that. It takes effect at once, also for a call that the approval has
answered, as long as the call was not sent.`,
		Example: `  fairlead approvals revoke --store ~/.fairlead 4KJX`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, found := args[0], false
			err := o.stores(cmd, args[1:], func(s approvals.Store) (done bool, err error) {
				done, err = revokeApproval(cmd.Context(), cmd.OutOrStdout(), s, number)
				found = found || done
				return done, err
			})
			if err == nil && !found {
				err = atFault(fmt.Errorf("no approval has the number %s; see fairlead approvals list", safetext.Line(number)))
			}
			return err
		},
	}
	for _, c := range []*cobra.Command{list, revoke} {
		o.register(c)
		c.Flags().StringVar(&o.store, "store", "", "the `STORE` of the proxies: a folder, or a Redis such as redis://localhost:6379/0")
		o.registerPlain(c)
		c.Flags().StringVar(&o.approvals, "approvals", "", "the `URL` of the proxies' --approvals")
		c.MarkFlagsOneRequired("store", "approvals")
	}
	return group(&cobra.Command{
		Use:     "approvals",
		Short:   "List and revoke remembered approvals",
		Long:    `The approvals that 'fairlead proxy' keeps with --store or --approvals.`,
		Example: list.Example + "\n" + revoke.Example,
	}, list, revoke)
}

// stores calls do with each store of --store, until it is done.
func (o *proxyFlags) stores(cmd *cobra.Command, args []string, do func(approvals.Store) (done bool, err error)) error {
	if o.approvals != "" || isRedis(o.store) {
		servers, err := o.targets(args, cmd.ArgsLenAtDash())
		if err != nil {
			return err
		}
		if o.approvals != "" {
			kept, err := o.openApprovals(cmd.Context(), servers, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
			if err != nil {
				return err
			}
			defer kept.Close()
			_, err = do(kept)
			return err
		}
		store, err := o.openStore(cmd.Context(), servers, nil)
		if err != nil {
			return fmt.Errorf("--store: %w", err)
		}
		_, err = do(store.Approvals())
		return errors.Join(err, store.Close())
	}
	files, _ := filepath.Glob(filepath.Join(o.store, approvalsFile("*"))) // the pattern is one
	for _, name := range files {
		store, err := openKept(name, nil)
		if err != nil {
			return atFault(err)
		}
		done, err := do(store)
		if err = errors.Join(err, store.Close()); done || err != nil {
			return err
		}
	}
	return nil
}

func listApprovals(ctx context.Context, out io.Writer, s approvals.Store) error {
	all, err := s.List(ctx)
	if err != nil {
		return atFault(err)
	}
	slices.SortFunc(all, func(a, b approvals.Standing) int { return a.Since.Compare(b.Since) })
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, a := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", safetext.Line(a.ID)[:min(8, len(a.ID))], a.Sentence(), a.Terms())
	}
	return written("list", w.Flush())
}

// revokeApproval takes back the approval that has a number, and reports whether there is one.
func revokeApproval(ctx context.Context, out io.Writer, s approvals.Store, number string) (bool, error) {
	all, err := s.List(ctx)
	if err != nil {
		return false, atFault(err)
	}
	all = slices.DeleteFunc(all, func(a approvals.Standing) bool {
		return len(number) < 4 || !strings.HasPrefix(a.ID, strings.ToUpper(number))
	})
	if len(all) != 1 {
		return false, nil
	}
	if err := s.Forget(ctx, all[0].Scope, all[0].ID); err != nil {
		return false, atFault(err)
	}
	_, err = fmt.Fprintf(out, "taken back: %s\n", all[0])
	return true, err
}
