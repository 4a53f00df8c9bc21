package command

// The approvals page of a proxy is served by the proxy's own process, on an address that is not known beforehand, and
// what opens it is a link that is good once. So that fairlead approve finds it, each page has a socket in a folder that
// only this user can enter: whoever connects gets a fresh link and the calls that wait. A socket whose proxy was killed
// stays behind, and is removed by the next fairlead approve.

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/sockets"
	"github.com/fairlead-go/fairlead/cmd/fairlead/owned"
	"github.com/fairlead-go/fairlead/cmd/fairlead/reach"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// A page is the inbox, served from when it is first wanted. It is safe for concurrent use.
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

// open serves the page, unless it is served already, or by the proxy itself. Its error is the same each time.
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

// answer writes to whoever connects to the page's socket a link, and then what waits, each on a line.
func (p *page) answer() error {
	dir, err := sockets.Folder()
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

// socketsOfPages returns the sockets in all of these folders that only this user may write to.
func socketsOfPages() (names []string, err error) {
	dirs, err := sockets.Folders()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && owned.Info(dir, info) == nil {
			found, _ := filepath.Glob(filepath.Join(dir, "*.sock")) // the pattern is one
			names = append(names, found...)
		}
	}
	return names, nil
}
