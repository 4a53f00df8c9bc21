package proxy

// A call that can be taken back is reported with a function that does so: by a call of the same session, through the
// chain and with a question of its own, whatever the policy allows and whatever is remembered. A person starts it on the
// page of approvals.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Returning takes a call back, once a person has approved that. By is who started it, "" if that has no name. Its error
// is the reason why the call was not taken back.
type Returning func(ctx context.Context, by string) error

// undoable reports a call that can be taken back to Options.Undoable.
func (p *plan) undoable(ctx context.Context, call middleware.Call, by hitl.Undo) {
	c := callIn(ctx)
	if c == nil || p.proxy.o.Undoable == nil {
		return
	}
	set, about, left := c.set, c.about, c.left
	p.proxy.o.Undoable(call, by, func(ctx context.Context, person string) error {
		if left != nil && left.Err() != nil {
			return errors.New("proxy: the session of the call has ended, so its server is not reached any more; take the call back by fairlead undo")
		}
		return set.takeBack(ctx, &underWay{about: about, left: left}, call, by, person)
	})
}

func why(made, person string) string {
	if person == "" {
		person = "somebody"
	}
	return fmt.Sprintf("%s wants to take back the call of %s, on the page of approvals.", person, made)
}

// takeBack makes the call that takes another one back. It is a request of its own, whose answer nobody but the person
// gets.
func (s *set) takeBack(ctx context.Context, of *underWay, made middleware.Call, by hitl.Undo, person string) error {
	tool, ok := s.Lookup(by.Server, by.Tool)
	if !ok {
		return fmt.Errorf("proxy: there is no tool %s/%s any more", by.Server, by.Tool)
	}
	if of.left != nil {
		own, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(of.left, cancel)()
		ctx = own
	}
	of.Context = ctx
	mine := &clientCall{
		underWay: of, set: s, undoes: why(made.Tool.String(), person), person: person, waits: &waiter{detaches: true, report: func(time.Duration) {}},
	}
	res, err := s.caller.CallTool(mine, middleware.Call{Scope: made.Scope, Tool: tool, Arguments: by.Arguments})
	switch {
	case err != nil:
		return err
	case res.IsError:
		return fmt.Errorf("proxy: %s reported that it failed", tool)
	case mine.answer.Load().goesOn() || unfinished(res):
		return fmt.Errorf("proxy: %s wants more input or goes on as a task; see what became of it", tool)
	}
	return nil
}

// unfinished reports whether a result is a question of the server's.
func unfinished(res *mcp.CallToolResult) bool {
	return res.RequestState != "" || len(res.InputRequests) > 0
}

// anew reports whether a call takes another one back, so that a person is asked about it in any case.
func anew(ctx context.Context, _ middleware.Call) bool {
	c := callIn(ctx)
	return c != nil && c.undoes != ""
}

// about returns why a call is made that takes another one back.
func about(ctx context.Context, _ middleware.Call) (why, undo string) {
	if c := callIn(ctx); c != nil {
		why = c.undoes
	}
	return why, ""
}
