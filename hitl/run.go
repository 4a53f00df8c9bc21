package hitl

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/conditions"
	"github.com/fairlead-go/fairlead/internal/languages"
	"github.com/fairlead-go/fairlead/internal/lifecycle"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agreed is an approval: of one call, for one execution.
type agreed struct {
	query

	call   middleware.Call   // as edited
	shown  annotation.Safety // the class that the person saw; an edit may have lowered it
	by     string
	until  time.Time
	edited bool   // by a person
	given  []byte // the arguments as the model gave them

	mu sync.Mutex // for a middleware that leaves a goroutine behind
}

// standing reports whether a remembered approval answered.
func (yes *agreed) standing() bool { return yes.life.Asked.Standing != "" }

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
		a.drafts.Return(&yes.call, yes.drafts, yes.life.Asked.ID)
	}
	a.undo(ctx, yes.call, yes.life.Asked.ID, res)
	if yes.edited {
		res = withEdit(res, yes.call, yes.given)
	}
	return res, err
}

// undo has the record keep how a call that has succeeded is taken back, and reports it to the host. id is that of the
// question about the call, "" for none.
func (a *asker) undo(ctx context.Context, call middleware.Call, id string, res *mcp.CallToolResult) {
	if a.Inverse == nil || res == nil || res.IsError {
		return
	}
	defer func() {
		if v := recover(); v != nil { // the call was made
			a.panicked(ctx, "hitl: the inverse of a call panicked", redact.Value{Call: call, Value: v})
		}
	}()
	by, ok := a.Inverse(ctx, call)
	if !ok {
		return
	}
	arguments, ok := by.Arguments(res)
	if !ok {
		return
	}
	callstate.Of(ctx).Write(func(r *callstate.Record) {
		r.Undo = callstate.Undo{Server: by.Server, Tool: by.Tool, Arguments: arguments}
	})
	if a.OnUndoable != nil {
		a.OnUndoable(ctx, call, Undo{Question: id, Server: by.Server, Tool: by.Tool, Arguments: bytes.Clone(arguments)})
	}
}

// begin runs before each hand-over of the call. The first one consumes the approval. A later one is a further attempt
// at the same execution, after one that was not sent.
func (a *asker) begin(ctx context.Context, yes *agreed) error {
	yes.mu.Lock()
	defer yes.mu.Unlock()
	if err := a.drafts.Take(&yes.call, yes.drafts, yes.life.Asked.ID); err != nil {
		return err
	}
	on := lifecycle.Use
	if yes.life.State() == lifecycle.Taken {
		on = lifecycle.Repeat
	}
	used, err := a.does(ctx, yes.query, lifecycle.Guard, on, lifecycle.Reply{})
	switch {
	case err == nil && used.Err == nil:
		return nil
	case used.Model() == lifecycle.ReadsRevoked:
		return errRevoked
	case err == nil:
		err = used.Err
	}
	return fmt.Errorf("the approval can no longer be used: %w", storeError{err})
}

// end runs when the call has returned; the store takes no use after it.
func (a *asker) end(ctx context.Context, yes *agreed) {
	yes.mu.Lock()
	defer yes.mu.Unlock()
	if !yes.life.State().Final() {
		_, _ = a.does(ctx, yes.query, lifecycle.Caller, lifecycle.End, lifecycle.Reply{}) // the log has it
	}
}
