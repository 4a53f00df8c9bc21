package command

// What users were given by servers that want OAuth is kept in a folder, for proxies of this user, or for those of a team.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/reach"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/spf13/cobra"
)

// credentialFlags name where credentials are, and the clients that get them.
type credentialFlags struct {
	credentials string
	oauth       string
}

func (f *credentialFlags) register(cmd *cobra.Command) {
	f.registerFolder(cmd)
	cmd.Flags().StringVar(&f.oauth, "oauth", "", "a `FILE` with the OAuth clients that are registered for servers, by their names")
}

func (f *credentialFlags) registerFolder(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.credentials, "credentials", "", "the `FOLDER` with what servers gave users who signed in (default: fairlead/credentials in the user's folder of configuration; none with --access)")
}

// store opens the folder. By default it is that of this user.
func (f *credentialFlags) store() (*credentials.Store, error) {
	dir := f.credentials
	if dir == "" {
		own, err := os.UserConfigDir()
		if err != nil {
			return nil, fmt.Errorf("--credentials: %w; name a folder", err)
		}
		dir = filepath.Join(own, "fairlead", "credentials")
	}
	var all [][]byte
	if os.Getenv(keyVariable) != "" {
		var err error
		if all, err = keys(keyVariable); err != nil {
			return nil, err
		}
	}
	store, err := credentials.OpenStore(dir, all...)
	if err != nil {
		return nil, fmt.Errorf("--credentials: %w", err)
	}
	return store, nil
}

// options returns the settings of a keeper over the folder, whose pages are shown by tell.
func (f *credentialFlags) options(tell func(server, page string)) (o credentials.Options, err error) {
	if o.Store, err = f.store(); err != nil {
		return o, err
	}
	o.Tell = tell
	if f.oauth == "" {
		return o, nil
	}
	if o.Clients, err = credentials.ReadClients(f.oauth); err != nil {
		return o, fmt.Errorf("--oauth: %w", err)
	}
	return o, nil
}

// openCredentials has the requests to servers that want OAuth sent with the users' own tokens: for one user of this
// machine without further ado, and for those of --access if a folder is named.
func (r *proxyRun) openCredentials(ctx context.Context) error {
	if !slices.ContainsFunc(r.options.Servers, signsIn) || r.options.Access != nil && r.signIn.credentials == "" {
		if r.signIn.oauth != "" {
			return errors.New("--oauth: there is no server that users sign in at; with --access, name the folder by --credentials")
		}
		return nil
	}
	o, err := r.signIn.options(func(server, page string) {
		fmt.Fprintf(r.cmd.ErrOrStderr(), "fairlead: the server %s wants you to sign in: open %s (good for ten minutes)\n", safetext.Line(server), page)
		if r.options.Access == nil && slices.Contains(r.reach, "browser") {
			_ = reach.Open(ctx, page) // the link is written as well
		}
	})
	if err != nil && r.signIn.credentials == "" && r.signIn.oauth == "" { // no server may want it
		r.log.WarnContext(ctx, "no user can sign in at a server: "+err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	o.Logger = r.log
	if r.options.Access != nil {
		o.Base = "https://" + r.options.Access.Hosts[0] + proxy.SignInPath
		o.User = func(req *http.Request) string { return access.Of(req.Context()).User }
		o.Tell = nil // the user's client does
	}
	keeper := credentials.New(ctx, o)
	r.options.SignIn = keeper.Handler(proxy.SignInPath)
	r.options.Credentials = func(user string, s proxy.Server) (http.RoundTripper, error) {
		if !signsIn(s) {
			return proxy.Pool(), nil
		}
		return keeper.Account(user, s.Name, s.URL, proxy.Pool())
	}
	return nil
}

// signsIn reports whether users can sign in at a server: one with an URL, to which no token is sent already.
func signsIn(s proxy.Server) bool {
	for name := range s.Header {
		if strings.EqualFold(name, "Authorization") {
			return false
		}
	}
	return s.URL != ""
}

func credentialsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "credentials",
		Short: "Sign in at servers, and list and revoke what they gave",
		Long: `The OAuth tokens that servers gave users who signed in, as 'fairlead proxy' keeps and
uses them. They are sealed, by ` + keyVariable + ` or a key in the same folder, and
none of these commands shows one.`,
		Example: `  fairlead credentials add https://crm.example/mcp
  fairlead credentials list`,
	}, credentialsAdd(), credentialsList(), credentialsRevoke())
}

func credentialsAdd() *cobra.Command {
	var f credentialFlags
	var names serverNames
	cmd := &cobra.Command{
		Use:   "add URL...",
		Short: "Sign in at servers before a client needs them",
		Long: `Sign in at servers that want OAuth, one after the other. The page to open is written
here. Proxies of the same user have what the servers give from then on.`,
		Example: `  fairlead credentials add https://crm.example/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			targets, err := names.targets(args, cmd.ArgsLenAtDash())
			if err != nil {
				return err
			}
			o, err := f.options(func(server, page string) {
				fmt.Fprintf(cmd.ErrOrStderr(), "Open %s to sign in at %s.\n", page, safetext.Line(server))
				_ = reach.Open(cmd.Context(), page) // the link is written as well
			})
			if err != nil {
				return err
			}
			keeper := credentials.New(cmd.Context(), o)
			for _, t := range targets {
				if t.URL == "" {
					return fmt.Errorf("the server %s is a command, and nobody signs in at it", t)
				}
				a, err := keeper.Account("", t.ID, t.URL, proxy.Pool())
				if err == nil {
					err = a.SignIn(cmd.Context())
				}
				if err != nil {
					return atFault(err)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "signed in: %s\n", t)
			}
			return nil
		},
	}
	names.register(cmd)
	f.register(cmd)
	return cmd
}

func credentialsList() *cobra.Command {
	var f credentialFlags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List who is signed in where, since when, and for what",
		Example: `  fairlead credentials list`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := f.store()
			if err != nil {
				return err
			}
			all, err := store.List()
			return errors.Join(listCredentials(cmd.OutOrStdout(), all), atFault(err))
		},
	}
	f.registerFolder(cmd)
	return cmd
}

func listCredentials(out io.Writer, all []credentials.Credential) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range all {
		fmt.Fprintf(w, "%s\t%s\tsince %s\t%s\n", safetext.Line(c.User), safetext.Line(c.Server), c.Since.Local().Format(time.DateTime), safetext.Line(strings.Join(c.Scopes, " ")))
	}
	return written("list", w.Flush())
}

func credentialsRevoke() *cobra.Command {
	var f credentialFlags
	var user string
	var every bool
	cmd := &cobra.Command{
		Use:   "revoke [URL...]",
		Short: "Revoke what servers gave a user, here and at the servers",
		Long: `Remove what servers gave a user, and revoke it at their authorization servers if these
have a place for that. Calls of running proxies that were not sent are refused from then
on. Without a user it is that of this machine; --all is every server of the user.`,
		Example: `  fairlead credentials revoke https://crm.example/mcp
  fairlead credentials revoke --credentials /srv/credentials --user ann@example.com --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if every == (len(args) > 0) {
				return errors.New("name the URLs of servers, or --all")
			}
			store, err := f.store()
			if err != nil {
				return err
			}
			if every {
				all, err := store.List()
				if err != nil {
					return atFault(err)
				}
				for _, c := range all {
					if c.User == user {
						args = append(args, c.Server)
					}
				}
			}
			return revokeCredentials(cmd, credentials.New(cmd.Context(), credentials.Options{Store: store}), user, args)
		},
	}
	f.registerFolder(cmd)
	cmd.Flags().StringVar(&user, "user", "", "the `USER` of a proxy with --access")
	cmd.Flags().BoolVar(&every, "all", false, "every server of the user")
	return cmd
}

// revokeCredentials revokes each credential, whatever becomes of the others.
func revokeCredentials(cmd *cobra.Command, keeper *credentials.Keeper, user string, servers []string) error {
	var faults []error
	if len(servers) == 0 {
		return atFault(errors.New("the user is signed in nowhere; see fairlead credentials list"))
	}
	for _, server := range servers {
		found, err := keeper.Revoke(cmd.Context(), user, server)
		if found {
			fmt.Fprintf(cmd.OutOrStdout(), "revoked: %s\n", safetext.Line(server))
		} else if err == nil {
			err = fmt.Errorf("the user is not signed in at %s; see fairlead credentials list", safetext.Line(server))
		}
		faults = append(faults, err)
	}
	return atFault(errors.Join(faults...))
}
