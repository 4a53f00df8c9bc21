package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/reach"
	"github.com/fairlead-go/fairlead/contrib/postgres"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"
)

// anyPort is where the page is served by default, once it is needed.
const anyPort = "127.0.0.1:0"

// approvers returns who is asked; nil is nobody, which denies. Without a word it is the
// client's user, and the page for clients that cannot ask theirs.
func approvers(by []string, page *page) (hitl.Confirmer, error) {
	form := via("form", elicit.New(elicit.Options{Link: page.link}))
	if len(by) == 0 {
		if page.address != anyPort { // one that cannot be had is reported now, and not by a denial
			if err := page.open(); err != nil {
				return nil, err
			}
		}
		return proxy.Fallback(form, via("page, by a link", page)), nil
	}
	if err := policy.CheckApprovers(by); err != nil {
		return nil, fmt.Errorf("--approve: %w", err)
	}
	var all []hitl.Confirmer
	for _, who := range by {
		switch who {
		case "elicit":
			all = slices.Insert(all, 0, form) // First wants it first
		case "web":
			if err := page.open(); err != nil {
				return nil, err
			}
			all = append(all, via("page, by a link", page))
		case "terminal":
			tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
			if err != nil {
				return nil, fmt.Errorf("--approve terminal: there is no terminal to ask at: %w; use web, or elicit", err)
			}
			all = append(all, via("terminal", terminal.New(tty, tty)))
		}
	}
	return proxy.First(all...), nil
}

// waits returns where a person finds the question of a call that has ended, by who is asked.
func waits(by []string, public string) func(context.Context) string {
	asks := func(who string) bool { return len(by) == 0 || slices.Contains(by, who) }
	return func(ctx context.Context) string {
		switch {
		case asks("elicit") && elicit.ShowsForms(ctx):
			return ""
		case asks("web"):
			if public != "" {
				return "on the approvals page, " + public + ","
			}
			return "on the approvals page, which the command `fairlead approve` opens,"
		}
		return ""
	}
}

// via records how the person was reached.
func via(how string, c hitl.Confirmer) hitl.Confirmer {
	return hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
		d, err := c.Confirm(ctx, r)
		d.Via = how
		return d, err
	})
}

// A page is the inbox, served from when it is first wanted.
type page struct {
	ctx     context.Context
	address string
	out     io.Writer
	in      *inbox.Inbox
	reach   *reach.Ways
	public  string // where other machines reach it; "" is on this one alone

	once   sync.Once
	origin string
	err    error
}

func (p *page) open() error {
	if p.public != "" {
		return nil
	}
	p.once.Do(func() {
		ready, ended := make(chan string, 1), make(chan error, 1)
		go func() { ended <- p.in.ListenAndServe(p.ctx, p.address, func(origin string) { ready <- origin }) }()
		select {
		case p.origin = <-ready:
			if err := p.answer(); err != nil {
				fmt.Fprintln(p.out, "fairlead: fairlead approve will not find this page:", err)
			}
		case p.err = <-ended:
			p.err = fmt.Errorf("--inbox: the page cannot be opened: %w; choose another address, or 127.0.0.1:0 for any port that is free", p.err)
		}
	})
	return p.err
}

// link returns a link to the page, which lets one browser in, or its public address.
func (p *page) link(hitl.Request) (string, error) {
	if err := p.open(); err != nil || p.public != "" {
		return p.public, err
	}
	return p.in.Link(p.origin, ""), nil
}

// Confirm puts the call on the page and notifies the person.
func (p *page) Confirm(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
	link, err := p.link(r)
	if err != nil {
		return hitl.Decision{}, err
	}
	if p.public == "" {
		fmt.Fprintf(p.out, "fairlead: %s waits for approval at %s (good once, for an hour)\n", r.Tool, link)
		link = p.in.Link(p.origin, "")
	} else {
		fmt.Fprintf(p.out, "fairlead: %s waits for approval at %s\n", r.Tool, link)
	}
	p.reach.Tell(r, link)
	return p.in.Confirm(ctx, r)
}

// sockets is the folder in which the pages of this user have a socket. Only the user may
// enter it, so whoever connects is the user.
func sockets() (string, error) {
	dir, err := os.Getenv("XDG_RUNTIME_DIR"), error(nil)
	if dir == "" {
		dir, err = os.UserCacheDir()
	}
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "fairlead")
	if err := os.MkdirAll(dir, 0o700); err != nil { //nolint:gosec // below the user's own folder
		return "", err
	}
	return dir, os.Chmod(dir, 0o700) //nolint:gosec // a folder
}

// answer writes to whoever connects to the page's socket a link, and then what waits, each on a line.
func (p *page) answer() error {
	dir, err := sockets()
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(p.ctx, "unix", filepath.Join(dir, rand.Text()[:8]+".sock"))
	if err != nil {
		return err
	}
	context.AfterFunc(p.ctx, func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			var text strings.Builder
			text.WriteString(p.in.Link(p.origin, "") + "\n")
			for _, r := range p.in.Waiting() {
				fmt.Fprintf(&text, "%s %s, until %s\n", safetext.Line(r.Tool.String()), safetext.Cut(safetext.Line(string(r.Arguments)), 200), r.Deadline.Local().Format("15:04"))
			}
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(c, text.String()) // a client that has gone gets nothing
			_ = c.Close()
		}
	}()
	return nil
}

func approveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "approve",
		Short: "Open the page with the calls that wait for your approval",
		Long: `List the calls that wait for approval at your proxies, and open their approvals pages in
the browser. Without a browser, a link to each page is written to the terminal, not to
standard output.`,
		Example: "  fairlead approve",
		Args:    cobra.NoArgs,
		RunE:    approve,
	}
}

func approve(cmd *cobra.Command, _ []string) error {
	dir, err := sockets()
	if err != nil {
		return err
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*.sock")) // the pattern is one
	waits := false
	for _, name := range names {
		link, calls, err := ask(cmd.Context(), name)
		if err != nil || calls == "" {
			continue
		}
		waits = true
		fmt.Fprint(cmd.OutOrStdout(), calls)
		if err := openPage(cmd.Context(), link); err != nil {
			return err
		}
	}
	if !waits {
		fmt.Fprintln(cmd.OutOrStdout(), "no call waits on an approvals page")
	}
	return nil
}

// ask asks a page for a link and for what waits.
func ask(ctx context.Context, socket string) (link, calls string, err error) {
	c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(socket) // its proxy was killed
		}
		return "", "", err
	}
	defer func() { _ = c.Close() }() // it was only read
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	text, err := io.ReadAll(c)
	link, calls, _ = strings.Cut(string(text), "\n")
	return link, calls, err
}

// openPage opens a page for the person, or shows them its link. A program that runs this
// command gets to see neither.
func openPage(ctx context.Context, link string) error {
	if reach.Open(ctx, link) == nil {
		return nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("there is neither a browser nor a terminal to show the page in: %w", err)
	}
	defer func() { _ = tty.Close() }() // what was written is there
	_, err = fmt.Fprintln(tty, link, "(good once, for an hour)")
	return err
}

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
		store, err := approvals.OpenFile(name, nil)
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
		fmt.Fprintf(w, "%s\t%s\t%s\n", safetext.Line(a.ID)[:min(8, len(a.ID))], a, a.Terms())
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

// keyVariable names the variable with the store's key, and after commas with others that are read too during a
// rotation; nameVariable that with the first key ever, once it is not the first there.
const (
	keyVariable  = "FAIRLEAD_STORE_KEY"
	nameVariable = "FAIRLEAD_STORE_NAME_KEY"
)

// keys returns the keys in a variable.
func keys(variable string) (all [][]byte, err error) {
	for text := range strings.SplitSeq(os.Getenv(variable), ",") {
		key, err := hex.DecodeString(strings.TrimSpace(text))
		if err != nil || len(key) != 32 {
			return nil, fmt.Errorf("redis: %s is not 64 hexadecimal digits; openssl rand -hex 32 prints some", variable)
		}
		all = append(all, key)
	}
	return all, nil
}

// isRedis reports whether a store is in Redis, and not in a folder. The name of a folder has
// no colon, so that an address without its scheme is an error.
func isRedis(store string) bool {
	return strings.Contains(store[len(filepath.VolumeName(store)):], ":")
}

// approvalsFile is the name of the file with the approvals of some servers.
func approvalsFile(servers string) string { return "approvals-" + servers + ".jsonl" }

// serversName is a name of these servers. Proxies in front of the same servers share what
// is in a store; their credentials may differ. A server that is started is the same only in
// the same folder, where its command, its arguments and those of its calls may begin.
func serversName(servers []proxy.Server) (string, error) {
	name := sha256.New()
	for _, s := range servers {
		identity := append([]string{spelled(s.URL)}, s.Command...)
		if len(s.Command) > 0 {
			folder, err := filepath.Abs(s.Dir)
			if err != nil {
				return "", err
			}
			identity = append(identity, folder)
		}
		fmt.Fprintf(name, "%q=%q ", s.Name, identity)
	}
	return hex.EncodeToString(name.Sum(nil)[:8]), nil
}

// spelled is an URL in one of its equal spellings (RFC 3986, 6.2.2 and 6.2.3), without credentials.
func spelled(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	u = u.JoinPath() // no segments of dots
	u.User, u.Fragment, u.Path = nil, "", cmp.Or(u.Path, "/")
	u.Host = strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; port != "" {
		u.Host = strings.TrimSuffix(u.Host, port)
	}
	return u.String()
}

// openFolder opens the file of the approvals in the folder of --store.
func (o *proxyFlags) openFolder(servers []proxy.Server, log *slog.Logger) (*approvals.File, error) {
	name, err := serversName(servers)
	if err == nil {
		err = os.MkdirAll(o.store, 0o700)
	}
	if err != nil {
		return nil, err
	}
	return approvals.OpenFile(filepath.Join(o.store, approvalsFile(name)), log)
}

// openStore connects to the Redis of --store.
func (o *proxyFlags) openStore(ctx context.Context, servers []proxy.Server, log *slog.Logger) (*redis.Store, error) {
	name, err := serversName(servers)
	if err != nil {
		return nil, err
	}
	options := redis.Options{Prefix: "fairlead:" + name, Logger: log}
	if os.Getenv(keyVariable) != "" {
		all, err := keys(keyVariable)
		if err != nil {
			return nil, err
		}
		options.Key, options.OtherKeys = all[0], all[1:]
		if os.Getenv(nameVariable) != "" {
			if all, err = keys(nameVariable); err != nil {
				return nil, err
			}
			options.NameKey = all[0]
		}
	} else {
		options.Plain = true
		cmp.Or(log, slog.New(slog.DiscardHandler)).WarnContext(ctx, "redis: arguments and results are readable in Redis; "+keyVariable+" seals them")
	}
	logging.Disable() // of the client; what it logs is in the errors that the store reports
	return redis.Open(ctx, o.store, options)
}

// openApprovals connects to the PostgreSQL of --approvals, where these servers have a schema.
func (o *proxyFlags) openApprovals(ctx context.Context, servers []proxy.Server, log *slog.Logger) (*postgres.Store, error) {
	if o.store != "" && !isRedis(o.store) {
		return nil, errors.New("--approvals: the folder of --store keeps approvals already; leave one of the two out")
	}
	name, err := serversName(servers)
	if err != nil {
		return nil, err
	}
	store, err := postgres.Open(ctx, o.approvals, postgres.Options{Schema: "fairlead_" + name, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("--approvals: %w", err)
	}
	return store, nil
}
