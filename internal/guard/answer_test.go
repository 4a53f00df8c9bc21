package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
)

// withAnswer answers that the call has its tool's annotations, whatever was accepted.
func withAnswer(ctx context.Context, call *middleware.Call) context.Context {
	found := call.Tool.Annotations
	return callstate.WithAnswer(ctx, call, call.Tool, func(annotation.Annotations) annotation.Annotations { return found })
}

// answering returns the call with a tool that has the annotations.
func answering(call middleware.Call, a annotation.Annotations) middleware.Call {
	found := *call.Tool
	found.Annotations = a
	call.Tool = &found
	return call
}

func TestAnswerLowersExactlyTheCallItIsAbout(t *testing.T) {
	t.Parallel()
	static := deletes(t)
	static.Arguments = json.RawMessage(`{"action":"list"}`)
	read := answering(static, annotation.ReadOnly())
	ctx := withAnswer(context.Background(), &read)
	other := func(change func(*middleware.Call)) middleware.Call {
		c := read
		change(&c)
		return c
	}
	redefined := *read.Tool
	redefined.Digest[0]++
	for name, row := range map[string]struct {
		call middleware.Call
		runs bool
	}{
		"the call itself":             {read, true},
		"with the tool as it is":      {static, true},
		"other arguments":             {other(func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"action":"delete"}`) }), false},
		"the same in other bytes":     {other(func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"action": "list"}`) }), false},
		"another scope":               {other(func(c *middleware.Call) { c.Scope = "else" }), false},
		"another definition":          {other(func(c *middleware.Call) { c.Tool = &redefined }), false},
		"another tool of that server": {other(func(c *middleware.Call) { c.Tool = tool(t, "purge_files", annotation.ReadOnly()) }), false},
	} {
		e := new(executor)
		accepted := *row.call.Tool
		accepted.Annotations = annotation.Destructive()
		_, err := guard.New(e, as(&accepted)).CallTool(ctx, row.call)
		if runs := err == nil; runs != row.runs || !runs && !errors.Is(err, guard.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnswerRaises(t *testing.T) {
	t.Parallel()
	call := deletes(t)
	raised := answering(call, annotation.Destructive())
	ctx := withAnswer(context.Background(), &raised)
	e := new(executor)
	if _, err := guard.New(e, as(tool(t, call.Tool.Name(), annotation.ReadOnly()))).CallTool(ctx, call); !errors.Is(err, guard.ErrRefused) {
		t.Errorf("the less strict definition counted: %v", err)
	}
	e.want(t, 0)
}

// A second answer to the same call may raise what the first one said, not lower it.
func TestAnswerFurtherInOnlyRaises(t *testing.T) {
	t.Parallel()
	call := deletes(t)
	stern, kind := answering(call, annotation.Destructive()), answering(call, annotation.ReadOnly())
	for name, row := range map[string][2]middleware.Call{"lowered": {stern, kind}, "raised": {kind, stern}} {
		ctx := withAnswer(context.Background(), &row[0])
		ctx = withAnswer(ctx, &row[1])
		if got, _ := callstate.Answered(ctx, &call); got.Safety() != annotation.Dangerous {
			t.Errorf("%s: the call is %v", name, got.Safety())
		}
	}
}

// The answer is applied to the accepted definition, so one that only raises cannot lower through a
// less strict copy.
func TestAnswerIsAppliedToWhatWasAccepted(t *testing.T) {
	t.Parallel()
	call := answering(deletes(t), annotation.ReadOnly()) // a forged copy
	raise := func(a annotation.Annotations) annotation.Annotations {
		return annotation.Raise(a, annotation.Annotations{OpenWorld: annotation.Yes})
	}
	ctx := callstate.WithAnswer(context.Background(), &call, call.Tool, raise)
	e := new(executor)
	if _, err := guard.New(e, as(deletes(t).Tool)).CallTool(ctx, call); !errors.Is(err, guard.ErrRefused) {
		t.Errorf("the copy counted: %v", err)
	}
	e.want(t, 0)
}

func TestStaticIsTheToolBeforeAnyAnswer(t *testing.T) {
	t.Parallel()
	static := deletes(t)
	once := answering(static, annotation.ReadOnly())
	twice := answering(static, annotation.Destructive())
	over := func(a annotation.Annotations) annotation.Annotations { return a }
	ctx := callstate.WithAnswer(context.Background(), &once, static.Tool, over)
	ctx = callstate.WithAnswer(ctx, &twice, once.Tool, over)
	if got := callstate.Static(ctx, twice.Tool); got != static.Tool {
		t.Errorf("got %s", got.Explain())
	}
	other := tool(t, "else", annotation.ReadOnly())
	if got := callstate.Static(ctx, other); got != other {
		t.Errorf("got %s", got.Explain())
	}
}

// A batch inside a call does not take the enclosing call's answer away.
func TestAnswerOfAnEnclosingCallIsFound(t *testing.T) {
	t.Parallel()
	outer := answering(deletes(t), annotation.ReadOnly())
	inner := outer
	inner.Arguments = json.RawMessage(`{"inner":true}`)
	ctx := withAnswer(context.Background(), &outer)
	ctx = withAnswer(ctx, &inner)
	if _, ok := callstate.Answered(ctx, &outer); !ok {
		t.Error("the enclosing call's answer is gone")
	}
}

func TestCallThatMustBeRecordedNeedsItsOwnRecord(t *testing.T) {
	t.Parallel()
	a := annotation.ReadOnly()
	a.AuditRequired = annotation.Yes
	call := deletes(t)
	call.Tool = tool(t, "read_salary", a)
	other := call
	other.Arguments = json.RawMessage(`{"other":true}`)
	kinder := answering(call, annotation.ReadOnly()) // an answer cannot take it away
	for name, row := range map[string]struct {
		ctx  context.Context
		runs bool
	}{
		"no record":         {context.Background(), false},
		"another's record":  {callstate.WithMark(context.Background(), &other), false},
		"a kinder answer":   {withAnswer(context.Background(), &kinder), false},
		"its record":        {callstate.WithMark(context.Background(), &call), true},
		"record and answer": {callstate.WithMark(withAnswer(context.Background(), &kinder), &call), true},
	} {
		_, err := guard.New(new(executor), as(call.Tool)).CallTool(row.ctx, call)
		if runs := err == nil; runs != row.runs || !runs && !errors.Is(err, guard.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A call that was found dangerous stays so, whatever changes afterwards.
func TestAnswerThatRaisesOutlivesAChange(t *testing.T) {
	t.Parallel()
	static := deletes(t)
	static.Tool = tool(t, "edit_files", annotation.Write())
	raised := answering(static, annotation.Destructive())
	ctx := withAnswer(context.Background(), &raised)
	for name, change := range map[string]func(*middleware.Call){
		"other arguments":    func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"all": true}`) },
		"another scope":      func(c *middleware.Call) { c.Scope = "else" },
		"another definition": func(c *middleware.Call) { other := *c.Tool; other.Digest[0]++; c.Tool = &other },
	} {
		e := new(executor)
		call := raised
		change(&call)
		accepted := *call.Tool
		accepted.Annotations = annotation.Write()
		if _, err := guard.New(e, as(&accepted)).CallTool(ctx, call); !errors.Is(err, guard.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		e.want(t, 0)
	}
	e := new(executor) // and it does not apply to another tool
	other := raised
	other.Tool = tool(t, "add_files", annotation.Write())
	if _, err := guard.New(e, as(other.Tool)).CallTool(ctx, other); err != nil {
		t.Error(err)
	}
}
