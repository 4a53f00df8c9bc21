package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/reach"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/safetext"
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
