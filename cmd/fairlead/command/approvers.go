package command

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/hitl/terminal"
)

// anyPort is where the page is served by default, once it is needed.
const anyPort = "127.0.0.1:0"

// approvers returns who is asked, while hold keeps others off a terminal; nil is nobody, which denies. Without a word it is the
// client's user, and the page for clients that cannot ask theirs.
func approvers(by []string, page *page, hold *terminal.Hold) (hitl.Confirmer, error) {
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
			all = append(all, via("terminal", terminal.Sharing(hold, tty, tty)))
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
