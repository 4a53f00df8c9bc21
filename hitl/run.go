package hitl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/internal/drafts"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/conditions"
	"github.com/fairlead-go/fairlead/internal/languages"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agreed is an approval: of one call, for one execution.
type agreed struct {
	call     middleware.Call
	shown    annotation.Safety // the class that the person saw; an edit may have lowered it
	id       string            // of the approval
	by       string
	standing string // the remembered approval that answered, "" for a person
	until    time.Time
	drafts   []drafts.Draft // shown with it
	edited   bool           // by a person

	mu    sync.Mutex // for a middleware that leaves a goroutine behind
	spent bool       // recorded as consumed
}

// run makes the call with one grant, which is recorded as consumed before the call is handed over.
func (a *asker) run(ctx context.Context, yes *agreed) (*mcp.CallToolResult, error) {
	if tool := yes.call.Tool; yes.edited { // the guard gets the class of the edited call
		by, _ := conditions.Apply(&yes.call, languages.Judge)
		ctx = callstate.WithAnswer(ctx, &yes.call, callstate.Static(ctx, tool), func(accepted annotation.Annotations) annotation.Annotations {
			return annotation.Raise(by(accepted), tool.Annotations)
		})
	}
	begin := func(ctx context.Context) error { return a.begin(ctx, yes) }
	ctx, once := callstate.WithGrant(ctx, &yes.call, yes.shown, time.Until(yes.until), begin)
	if yes.edited {
		once.Edit()
	}
	defer func() {
		once.Void()
		a.end(context.WithoutCancel(ctx), yes)
	}()
	if !yes.call.Tool.Safety().MustConfirm() { // the guard will not look for a grant
		if err := begin(ctx); err != nil {
			denied := &DeniedError{Tool: yes.call.Tool, Err: err}
			callstate.Of(ctx).Decide("hitl", "denied", denied.Error())
			return nil, denied
		}
	}
	res, err := a.pass(ctx, &yes.call)
	if middleware.NotSent(err) || middleware.Refused(err) {
		a.drafts.Return(&yes.call, yes.drafts, yes.id)
	}
	return res, err
}

// begin runs before each hand-over of the call. The first one consumes the approval. A later one is a further attempt
// at the same execution, after one that was not sent.
func (a *asker) begin(ctx context.Context, yes *agreed) error {
	yes.mu.Lock()
	defer yes.mu.Unlock()
	if err := a.drafts.Take(&yes.call, yes.drafts, yes.id); err != nil {
		return err
	}
	if yes.spent {
		return a.remains(ctx, yes)
	}
	err := a.advance(ctx, yes.id, yes.change(approvals.Spent))
	if yes.standing != "" && errors.Is(err, approvals.ErrNoEffect) {
		return errRevoked
	}
	if err != nil {
		return fmt.Errorf("its use is void: %w", err)
	}
	yes.spent = true
	return nil
}

// remains returns an error if the remembered approval of a call was taken back, or has expired, since the last
// attempt.
func (a *asker) remains(ctx context.Context, yes *agreed) error {
	if yes.standing == "" {
		return nil
	}
	standing, err := a.Store.Remembered(ctx, yes.call.Scope, yes.call.Tool.Server, yes.call.Tool.Name())
	if err == nil && !slices.ContainsFunc(standing, func(s approvals.Standing) bool { return s.ID == yes.standing }) {
		err = errRevoked
	}
	return err
}

// end runs when the call has returned; the store takes no use after it.
func (a *asker) end(ctx context.Context, yes *agreed) {
	yes.mu.Lock()
	defer yes.mu.Unlock()
	to := approvals.Void
	if yes.spent {
		to = approvals.Done
	}
	_ = a.advance(ctx, yes.id, yes.change(to)) // the log has it
}

// change returns the step of the approval to a state.
func (yes *agreed) change(to approvals.State) approvals.Change {
	return approvals.Change{To: to, Scope: yes.call.Scope, Standing: yes.standing}
}
