package command

// What users were given by servers that want OAuth is kept in a folder, for proxies of this user or of a team, or in a
// store that replicas share.

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
	"github.com/fairlead-go/fairlead/cmd/fairlead/health"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/reach"
	"github.com/fairlead-go/fairlead/contrib/postgres"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/redis/go-redis/v9/logging"
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
	cmd.Flags().StringVar(&f.credentials, "credentials", "", "the `FOLDER` with what servers gave users who signed in, or the redis:// or postgres:// URL of replicas (default: fairlead/credentials in the user's folder of configuration; none with --access)")
}

// isShared reports whether replicas have the credentials in a store.
func (f *credentialFlags) isShared() bool { return isRedis(f.credentials) }

// store opens the folder, by default that of this user, or the store of replicas. The monitor probes a store; nil has none.
func (f *credentialFlags) store(ctx context.Context, probes *health.Monitor) (store *credentials.Store, end func(), err error) {
	var all [][]byte
	if os.Getenv(keyVariable) != "" {
		if all, err = keys(keyVariable); err != nil {
			return nil, nil, err
		}
	}
	end = func() {}
	switch {
	case f.isShared() && len(all) == 0:
		return nil, nil, fmt.Errorf("--credentials: %s is not set, and a store that replicas share is sealed; set it to what openssl rand -hex 32 prints, the same in every replica", keyVariable)
	case f.isShared():
		var place credentials.Place
		if place, end, err = f.shared(ctx, all, probes); err == nil {
			store, err = credentials.NewStore(place, all...)
		}
	default:
		dir := f.credentials
		if dir == "" {
			own, err := os.UserConfigDir()
			if err != nil {
				return nil, nil, fmt.Errorf("--credentials: %w; name a folder", err)
			}
			dir = filepath.Join(own, "fairlead", "credentials")
		}
		store, err = credentials.OpenStore(dir, all...)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--credentials: %w", err)
	}
	return store, end, nil
}

// shared opens the store of replicas. It is the same for all servers, so that a user can be revoked without naming them.
func (f *credentialFlags) shared(ctx context.Context, keys [][]byte, probes *health.Monitor) (credentials.Place, func(), error) {
	probe := func(of func(context.Context) error) {
		if probes != nil {
			probes.Add(health.Dependency{Name: depCredentials, Refused: withoutCredentials, Probe: of})
		}
	}
	if strings.HasPrefix(f.credentials, "postgres") {
		s, err := postgres.Open(ctx, f.credentials, postgres.Options{})
		if err != nil {
			return nil, nil, err
		}
		probe(s.Healthy)
		return credentials.Shared(s.Credentials()), s.Close, nil
	}
	named, err := nameKey()
	if err != nil {
		return nil, nil, err
	}
	logging.Disable() // of the client; what it logs is in the errors that the store reports
	s, err := redis.Open(ctx, f.credentials, redis.Options{Prefix: "fairlead:credentials", Key: keys[0], OtherKeys: keys[1:], NameKey: named})
	if err != nil {
		return nil, nil, err
	}
	probe(s.Healthy)
	return credentials.Shared(s.Credentials()), func() { _ = s.Close() }, nil
}

// options returns the settings of a keeper, whose pages are shown by tell. The store is opened apart.
func (f *credentialFlags) options(tell func(server, page string)) (o credentials.Options, err error) {
	o.Tell = tell
	if f.oauth == "" {
		return o, nil
	}
	if o.Clients, err = credentials.ReadClients(f.oauth); err != nil {
		return o, fmt.Errorf("--oauth: %w", err)
	}
	return o, nil
}

// openUsers opens the store of credentials for a proxy, and waits for it.
func (r *proxyRun) openUsers(ctx context.Context) (store *credentials.Store, err error) {
	away := func(err error) bool { return redis.Unreachable(err) || postgres.Unreachable(err) }
	err = r.reached(ctx, depCredentials, withoutCredentials, away, func() error {
		var end func()
		if store, end, err = r.signIn.store(ctx, r.health); err == nil {
			r.ends = append(r.ends, func() error { end(); return nil })
		}
		return err
	})
	return store, err
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
	if err == nil {
		o.Store, err = r.openUsers(ctx)
	}
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
	if err := r.exchange(keeper); err != nil {
		return err
	}
	r.options.SignIn = keeper.Handler(proxy.SignInPath)
	r.options.Credentials = func(caller access.Caller, s proxy.Server) (http.RoundTripper, error) {
		switch {
		case !signsIn(s):
			return proxy.Pool(), nil
		case keeper.Exchanges(s.Name):
			return keeper.ExchangeAccount(caller.String(), caller.User, s.Name, s.URL, proxy.Pool())
		}
		return keeper.Account(caller.User, s.Name, s.URL, proxy.Pool())
	}
	return nil
}

// exchange has the tokens by which users reach the proxy exchanged for those of the servers that --oauth names for it.
func (r *proxyRun) exchange(keeper *credentials.Keeper) error {
	for _, s := range r.options.Servers {
		if !keeper.Exchanges(s.Name) {
			continue
		}
		if r.options.Access == nil || r.options.Access.Tokens == nil {
			return fmt.Errorf(`--oauth: the server %q exchanges the tokens of users; name their issuer in "tokens" of --access`, s.Name)
		}
		r.options.Access.Brought = func(c access.Caller, token string, until time.Time) { keeper.Bring(c.String(), token, until) }
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
			store, end, err := f.store(cmd.Context(), nil)
			if err != nil {
				return err
			}
			defer end()
			o.Store = store
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
			store, end, err := f.store(cmd.Context(), nil)
			if err != nil {
				return err
			}
			defer end()
			all, err := store.List(cmd.Context())
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
			store, end, err := f.store(cmd.Context(), nil)
			if err != nil {
				return err
			}
			defer end()
			if every {
				all, err := store.List(cmd.Context())
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
