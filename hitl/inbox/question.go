package inbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/display"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/canonical"
)

// A question is a request that waits, of this replica or of another.
type question struct {
	ctx     context.Context
	request hitl.Request
	digest  string    // of all that is shown; a decision has to name it
	remote  bool      // another replica's
	hung    time.Time // when a look at the board brought it, where it is
}

// A record is a question that is over, or an approval that was taken back, in the history.
type record struct {
	past

	digest string
	late   bool // without a decision

	takeBack func(ctx context.Context, person string) error // nil for a call that cannot be taken back, see Undoable
}

// Confirm puts the request on the page and waits for a decision or the end of ctx. A full
// inbox, and an ID that is empty or was used before, is an error, and so a denial.
func (in *Inbox) Confirm(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
	q, err := in.add(ctx, request)
	if err != nil {
		return hitl.Decision{}, err
	}
	d, err := in.askBoard(ctx, q)
	if err != nil {
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
			<-ctx.Done() // its timer may not have run yet
		}
		err = cmp.Or(context.Cause(ctx), err)
		in.expire(q)
		return hitl.Decision{}, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.waiting[q.request.ID] == q { // decided at another replica, or right now
		in.decided(ctx, q, d)
	}
	return d, nil
}

func (in *Inbox) add(ctx context.Context, request hitl.Request) (*question, error) {
	if request.Tool == nil || request.Tool.Definition == nil || request.ID == "" {
		return nil, errors.New("inbox: a request without a tool or an ID cannot be shown")
	}
	if deadline, ok := ctx.Deadline(); ok && (request.Deadline.IsZero() || deadline.Before(request.Deadline)) {
		request.Deadline = deadline
	}
	q := &question{ctx: ctx, request: request, digest: request.Digest()}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.waiting[request.ID] != nil || in.past[request.ID] != nil:
		return nil, fmt.Errorf("inbox: a question with the ID %.40q is known already; IDs must not be used twice", request.ID)
	case len(in.waiting) >= in.o.MaxPending:
		return nil, fmt.Errorf("inbox: %d questions already wait for an answer", len(in.waiting))
	}
	in.waiting[request.ID] = q // in.pending once the board has it
	return q, nil
}

const silent = "denied: nobody answered in time"

func (in *Inbox) expire(q *question) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.waiting[q.request.ID] != q {
		return
	}
	what := silent
	if errors.Is(context.Cause(q.ctx), context.Canceled) {
		what = "given up by the caller, or answered elsewhere"
	}
	in.end(q, record{past: past{What: what}, late: true})
}

// end moves a question to the history. The caller holds the lock.
func (in *Inbox) end(q *question, r record) {
	r.ID, r.digest = q.request.ID, q.digest
	r.Tool = safetext.Word(q.request.Tool.String(), maxNameShown)
	r.Arguments, r.Behalf = brief(q.request.Arguments), display.Behalf(q.request.Caller)
	delete(in.waiting, r.ID)
	in.pending = slices.DeleteFunc(in.pending, func(p *question) bool { return p == q })
	in.keep(r)
}

// keep adds to the history, and returns what it has there. The caller holds the lock.
func (in *Inbox) keep(r record) *record {
	r.At, r.By, r.Reason = time.Now(), safetext.Cut(safetext.Line(r.By), maxNameShown), safetext.Text(r.Reason)
	in.past[r.ID] = &r
	if in.history = append(in.history, &r); len(in.history) > maxHistory {
		delete(in.past, in.history[0].ID)
		in.history = slices.Delete(in.history, 0, 1)
	}
	in.version++
	return &r
}

// An answer is what a form of the page decides, about what it showed.
type answer struct {
	decision hitl.Decision
	digest   string // that was shown
}

// decide gives a question its answer, the first and only one, for the replica that waits
// for it. A refusal leaves it as it was.
func (in *Inbox) decide(ctx context.Context, id string, a answer, s *session) error {
	a.decision.By = s.by
	q, err := in.mayDecide(id, a, s)
	if err != nil {
		return err
	}
	return in.answerOnBoard(ctx, q, a.decision)
}

// mayDecide returns the question that an answer is for, or why it may not be given.
func (in *Inbox) mayDecide(id string, a answer, s *session) (*question, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	q, over := in.waiting[id], in.past[id]
	switch {
	case over != nil:
		return nil, over.refuses(a.digest)
	case q == nil:
		return nil, errUnknown
	case q.digest != a.digest:
		return nil, errOther
	case q.late():
		return nil, errLate
	case a.decision.Verdict == hitl.Approved && !in.mayApprove(s, q):
		return nil, errOwn
	}
	return q, nil
}

// mayApprove reports whether the call is another person's, or people may approve their own.
func (in *Inbox) mayApprove(s *session, q *question) bool {
	return in.o.OwnCalls || s.by == "" || !safetext.SameName(s.by, q.request.Scope)
}

// decided moves a question with its answer to the history. The caller holds the lock.
func (in *Inbox) decided(ctx context.Context, q *question, d hitl.Decision) {
	r := record{past: past{What: "denied", By: d.By, Reason: d.Reason}}
	if d.Verdict == hitl.Approved {
		if r.What = "approved"; d.Arguments != nil {
			r.What = "approved as edited"
		}
	}
	in.end(q, r)
	in.o.Logger.LogAttrs(ctx, slog.LevelInfo, "inbox: decided", slog.String("id", q.request.ID), slog.String("tool", q.request.Tool.String()),
		slog.String("outcome", r.What), slog.String("by", r.By))
}

func (q *question) late() bool {
	return q.ctx.Err() != nil || !q.request.Deadline.IsZero() && !time.Now().Before(q.request.Deadline)
}

func (r *record) refuses(digest string) error {
	switch {
	case r.digest != digest:
		return errOther
	case r.late:
		return errLate
	}
	by := ""
	if r.By != "" {
		by = " by " + r.By
	}
	return refuse(http.StatusConflict, "This was decided already: %s%s. It stays so.", r.What, by)
}

// edited returns the arguments of an edit: nil where they say what was asked, in another spelling maybe.
func (q *question) edited(text string) (json.RawMessage, error) {
	form, err := canonical.AppendObject(nil, []byte(text))
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace([]byte(text))) == 0 {
		return nil, errors.New("empty; write {} for none")
	}
	asked, err := canonical.AppendObject(nil, q.request.Arguments)
	if err == nil && bytes.Equal(form, asked) {
		return nil, nil
	}
	return json.RawMessage(text), nil
}

// together is the query by which the page of its tool shows the question beside others.
func (q *question) together() string {
	return "?" + url.Values{"server": {q.request.Tool.Server}, "tool": {q.request.Tool.Name()}}.Encode()
}

func (in *Inbox) find(id string) (*question, *record) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.waiting[id], in.past[id]
}

// Waiting returns the requests that wait for a person, oldest first.
func (in *Inbox) Waiting() []hitl.Request {
	in.mu.Lock()
	defer in.mu.Unlock()
	var all []hitl.Request
	for _, q := range in.pending {
		all = append(all, q.request)
	}
	return all
}
