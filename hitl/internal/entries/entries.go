// Package entries makes what package hitl keeps in a store: questions, remembered approvals, and
// decisions that wait for their call.
package entries

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/internal/drafts"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

// Hash returns the SHA-256 of b in hexadecimal.
func Hash(b []byte) string { return middleware.Digest(sha256.Sum256(b)).String() }

// Question returns a question about a call.
func Question(id string, call *middleware.Call, extra []byte, drafted []drafts.Draft, until time.Time) approvals.Approval {
	asked := approvals.Approval{
		ID: id, State: approvals.Pending, Server: call.Tool.Server, Tool: call.Tool.Name(), Definition: call.Tool.Digest.String(),
		Class: call.Tool.Safety().String(), Scope: call.Scope, CallID: call.ID, Arguments: Hash(call.Arguments), Until: until,
	}
	if extra != nil {
		asked.Extra = Hash(extra)
	}
	for _, d := range drafted {
		asked.Drafts = append(asked.Drafts, approvals.Draft{ID: d.ID, Digest: d.Digest})
	}
	return asked
}

// Standing returns an approval of calls of one tool, without what it covers.
func Standing(call *middleware.Call, by string, until time.Time) approvals.Standing {
	return approvals.Standing{
		ID: rand.Text(), Scope: call.Scope, Server: call.Tool.Server, Tool: call.Tool.Name(), By: by,
		Definition: call.Tool.Digest.String(), Class: call.Tool.Safety().String(), Since: time.Now(), Until: until,
	}
}

// Once returns a digest of a call and of why a person is asked about it, without what only
// time changes. The call has arguments and extras that can be sent.
func Once(ctx context.Context, call *middleware.Call) string {
	state := callstate.Of(ctx)
	form, _ := callstate.Form(state, call)
	extra, _ := callstate.Extra(call)
	record := state.Record()
	text := fmt.Appendf(nil, "once %q %q %q %q %q %q %q %d\n", call.Scope, call.Tool.Server, call.Tool.Name(), call.Tool.Digest, form, extra,
		call.Tool.Explain(), record.InDoubt.UnixNano())
	for _, s := range record.Sources {
		text = fmt.Appendf(text, "%q %q %q %t %q\n", s.Argument, s.From, s.Tool, s.Trusted, s.Rule)
	}
	return Hash(text)
}

// Take takes a decision on an identical call that was made while none waited, if there is one.
// An approval is spent then.
func Take(ctx context.Context, store approvals.Store, call *middleware.Call) (s approvals.Standing, found bool, err error) {
	all, err := decisions(ctx, store, call)
	for _, s := range all {
		if !s.Denied {
			err = store.Advance(ctx, s.ID, approvals.Change{To: approvals.Spent})
		}
		if errors.Is(err, approvals.ErrNoEffect) {
			err = nil
			continue // another call has taken it
		}
		return s, true, errors.Join(err, store.Forget(ctx, s.Scope, s.ID))
	}
	return s, false, err
}

// TakeBack ends the decisions on identical calls that no call has taken.
func TakeBack(ctx context.Context, store approvals.Store, call *middleware.Call) error {
	all, err := decisions(ctx, store, call)
	for _, s := range all {
		err = errors.Join(err, store.Forget(ctx, s.Scope, s.ID))
	}
	return err
}

// decisions returns those on identical calls that no call has taken. A call that cannot be told
// from others has none.
func decisions(ctx context.Context, store approvals.Store, call *middleware.Call) ([]approvals.Standing, error) {
	if call.Tool.Digest == (middleware.Digest{}) {
		return nil, nil
	}
	all, err := store.Remembered(ctx, call.Scope, call.Tool.Server, call.Tool.Name())
	once := Once(ctx, call)
	return slices.DeleteFunc(all, func(s approvals.Standing) bool { return !s.Once || s.Arguments != once }), err
}
