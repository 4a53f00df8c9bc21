package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/hitl/inbox"
)

// anyPort is where the page is served by default, once it is needed.
const anyPort = "127.0.0.1:0"

// approvers returns who is asked; nil is nobody, which denies. Without a word it is the
// client's user, and the page for clients that cannot ask theirs.
func approvers(ctx context.Context, by []string, address string, in *inbox.Inbox, out io.Writer) (hitl.Confirmer, error) {
	page := &page{ctx: ctx, address: address, out: out, in: in}
	form := elicit.New(elicit.Options{})
	if len(by) == 0 {
		if address != anyPort { // one that cannot be had is reported now, and not by a denial
			if err := page.open(); err != nil {
				return nil, err
			}
		}
		return proxy.Fallback(form, page), nil
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
			all = append(all, page)
		case "terminal":
			tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
			if err != nil {
				return nil, fmt.Errorf("--approve terminal: there is no terminal to ask at: %w; use web, or elicit", err)
			}
			all = append(all, hitl.Terminal(tty, tty))
		}
	}
	return proxy.First(all...), nil
}

// A page is the inbox, served from when it is first wanted.
type page struct {
	ctx     context.Context
	address string
	out     io.Writer
	in      *inbox.Inbox

	once   sync.Once
	origin string
	err    error
}

func (p *page) open() error {
	p.once.Do(func() {
		ready, ended := make(chan string, 1), make(chan error, 1)
		go func() { ended <- p.in.ListenAndServe(p.ctx, p.address, func(origin string) { ready <- origin }) }()
		select {
		case p.origin = <-ready:
		case p.err = <-ended:
			p.err = fmt.Errorf("--inbox: the page cannot be opened: %w; choose another address, or 127.0.0.1:0 for any port that is free", p.err)
		}
	})
	return p.err
}

// Confirm puts the call on the page and says where it is.
func (p *page) Confirm(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
	if err := p.open(); err != nil {
		return hitl.Decision{}, err
	}
	fmt.Fprintf(p.out, "fairlead: %s waits for approval at %s (good once, for an hour)\n", r.Tool, p.in.Link(p.origin, ""))
	return p.in.Confirm(ctx, r)
}
