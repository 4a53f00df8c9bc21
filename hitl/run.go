package hitl

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agreed is a call that somebody said yes to, as they did.
type agreed struct {
	call     middleware.Call
	shown    annotation.Safety // the class that they saw; an edit may have made a kinder one of it
	id       string            // of the approval
	by       string            // who gave it
	standing bool              // earlier, and it stands
	until    time.Time
	draft    []Draft // shown with it
	edited   bool    // by a person
}

// run makes the call with one grant, which is written down as spent before the
// call is handed over.
func (a *asker) run(ctx context.Context, yes *agreed) (*mcp.CallToolResult, error) {
	if tool := yes.call.Tool; yes.edited { // the guard is told what the edit makes of it
		ctx = callstate.WithAnswer(ctx, &yes.call, callstate.Static(ctx, tool), func(accepted annotation.Annotations) annotation.Annotations {
			return annotation.Raise(accepted, tool.Annotations)
		})
	}
	u := &use{asker: a, yes: yes}
	ctx, once := callstate.WithGrant(ctx, &yes.call, yes.shown, time.Until(yes.until), u.begin)
	if yes.edited {
		once.Edit()
	}
	defer func() {
		once.Void()
		u.end(context.WithoutCancel(ctx))
	}()
	if !yes.call.Tool.Safety().MustConfirm() { // the guard will not look for a grant
		if err := u.begin(ctx); err != nil {
			denied := &DeniedError{Tool: yes.call.Tool, Err: err}
			callstate.Of(ctx).Decide("hitl", "denied", denied.Error())
			return nil, denied
		}
	}
	if err := turn.Pass(ctx, &yes.call); err != nil {
		a.drafts.used(yes, err)
		return nil, err
	}
	res, err := a.next.CallTool(ctx, yes.call)
	a.drafts.used(yes, err)
	a.drafts.note(ctx, a.Logger, &yes.call, res)
	return res, err
}

// A use is what the store is told of one yes. Its lock is that of one call, and is
// there for a middleware that leaves a goroutine behind.
type use struct {
	asker *asker
	yes   *agreed

	mu      sync.Mutex
	written bool
}

// begin runs before each hand-over of the call.
func (u *use) begin(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.asker.drafts.use(u.yes); err != nil {
		return err
	}
	if u.written {
		return nil
	}
	if err := u.asker.advance(ctx, u.yes.id, approvals.Change{To: approvals.Spent}); err != nil {
		return fmt.Errorf("its use cannot stand: %w", err)
	}
	u.written = true
	return nil
}

// end runs when the call has returned; the store takes no use after it.
func (u *use) end(ctx context.Context) {
	u.mu.Lock()
	defer u.mu.Unlock()
	to := approvals.Void
	if u.written {
		to = approvals.Done
	}
	_ = u.asker.advance(ctx, u.yes.id, approvals.Change{To: to}) // the log has it
}
