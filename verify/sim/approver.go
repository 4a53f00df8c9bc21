package sim

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/verify/world"
)

// A manner is how the person, or a layer in between, answers a question.
type manner string

const (
	approves     manner = "yes"
	denies       manner = "no"
	silent       manner = "silent" // until the question ends, with the error of its context
	stuck        manner = "stuck"  // until long after the question has ended, then approves
	late         manner = "late yes"
	tied         manner = "yes at the deadline"
	hurried      manner = "yes when it was over"
	zero         manner = "zero" // no decision
	odd          manner = "odd verdict"
	yesWithError manner = "yes with an error"
	panics       manner = "panic"
	exits        manner = "Goexit"
	edits        manner = "edit"             // approves with other arguments
	editsBadly   manner = "bad edit"         // approves with arguments that cannot be sent
	scrawls      manner = "scrawl, then yes" // overwrites the bytes that it was shown
	closes       manner = "closes"           // a form, which is a denial with other desks
	leaves       manner = "leaves"           // with the client; with other desks it is silence
)

var manners = []manner{approves, denies, silent, stuck, late, tied, hurried, zero, odd, yesWithError, panics, exits, edits, editsBadly, denies, scrawls}

func (w *scenario) Confirm(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
	r, how, wait := w.question(request)
	defer w.answered()
	switch how {
	case silent:
		asked := time.Now()
		<-ctx.Done()
		if lasted := time.Since(asked); lasted > askTimeout {
			w.badf("I13", r, "a question was unanswered for %v", lasted)
		}
		return hitl.Decision{}, ctx.Err()
	case hurried:
		<-ctx.Done()
	case stuck:
		time.Sleep(wait + time.Hour)
	case late:
		<-ctx.Done()
		time.Sleep(wait)
	case tied:
		if deadline, ok := ctx.Deadline(); ok {
			time.Sleep(time.Until(deadline))
		}
	default:
		if err := world.Wait(ctx, wait); err != nil {
			return hitl.Decision{}, err
		}
	}
	return w.answer(ctx, r, how, request)
}

// answer returns the manner's decision, and records an approval that counts.
func (w *scenario) answer(ctx context.Context, r *record, how manner, request hitl.Request) (hitl.Decision, error) {
	yes := hitl.Decision{Verdict: hitl.Approved, By: "sim"}
	bytes := string(request.Arguments)
	switch how {
	case denies:
		return hitl.Decision{Reason: "not today", By: "sim"}, nil
	case zero:
		return hitl.Decision{}, nil
	case odd:
		return hitl.Decision{Verdict: 7}, nil
	case yesWithError:
		return yes, errors.New("the desk is closed")
	case panics:
		panic("the desk burns")
	case exits:
		runtime.Goexit()
	case edits:
		bytes = w.edit(r, bytes)
		yes.Arguments = json.RawMessage(bytes)
	case editsBadly:
		yes.Arguments = json.RawMessage(ambiguous)
		return yes, nil
	case scrawls:
		smear(request.Arguments)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	deadline, ok := ctx.Deadline()
	if ctx.Err() != nil || ok && !time.Now().Before(deadline) {
		return yes, nil
	}
	w.say(r.id, "approved", bytes)
	if how == edits && r.worse == "" && !request.Tool.Safety().MustConfirm() && w.wild(r, bytes) {
		r.worse = bytes // no person has seen these arguments
		return yes, nil
	}
	r.yes = &approval{at: time.Now(), bytes: bytes}
	if w.settings.standing && r.n%5 == 4 {
		w.revoke(ctx)
	}
	if w.settings.standing && how == approves && r.n%2 == 0 && len(request.Offers) > 0 {
		yes.Remember = hitl.Session
		s := standing{question: question{w.effectOf(r, bytes), r.digest, r.narrow}, since: time.Now()}
		if r.n%4 == 0 && len(request.Free) > 0 {
			s.free = request.Free[0].Name
			yes.Free = []string{s.free}
		}
		w.standing = append(w.standing, s)
	}
	return yes, nil
}

// A standing is a remembered approval, with the member that may differ.
type standing struct {
	question

	free           string
	since, revoked time.Time
}

func (w *scenario) revoke(ctx context.Context) {
	all, err := w.approvals.List(ctx)
	for _, s := range all {
		err = errors.Join(err, w.approvals.Forget(ctx, s.Scope, s.ID))
	}
	if err != nil {
		w.badf("harness", w.order[0], "revoking: %v", err)
	}
	for i, s := range w.standing { // one of the same instant may be recorded after it
		if s.revoked.IsZero() && s.since.Before(time.Now()) {
			w.standing[i].revoked = time.Now()
		}
	}
}

// stands reports whether a remembered approval covers such executions and was not revoked.
func (w *scenario) stands(asked question, at time.Time) bool {
	return slices.ContainsFunc(w.standing, func(s standing) bool {
		form := s.question
		form.text = asked.text
		return form == asked && (s.revoked.IsZero() || !s.revoked.Before(at)) && (s.text == asked.text || s.free != "" && s.fits(asked.text))
	})
}

// fits reports whether arguments differ only in the member that was left free: a text
// stays a name, and anything else may become anything.
func (s standing) fits(text string) bool {
	var was, is map[string]any
	if json.Unmarshal([]byte(s.text), &was) != nil || json.Unmarshal([]byte(text), &is) != nil {
		return false
	}
	if _, name := was[s.free].(string); name {
		if to, isText := is[s.free].(string); !isText || to == "" || strings.Contains(to, "/") {
			return false
		}
	}
	_, there := is[s.free]
	delete(was, s.free)
	delete(is, s.free)
	return there && reflect.DeepEqual(was, is)
}

// smear overwrites arguments; the result is still an object.
func smear(arguments []byte) {
	for i, c := range arguments {
		if '1' <= c && c <= '8' || c == 'x' {
			arguments[i]++
		}
	}
}

// question records that a person is asked, and draws the answer.
func (w *scenario) question(request hitl.Request) (*record, manner, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.calls[request.CallID]
	dice, shown, before := w.dice(forApprover, uint64(r.n), 0), r.text, 0
	if r.worse != "" {
		dice, shown, before = w.dice(forApprover, uint64(r.n), 1), r.worse, 1
	}
	how, wait := approves, span(dice, 10*time.Millisecond, 12*time.Second)
	if !w.epilogue && dice.IntN(100) < 50 {
		how = manners[dice.IntN(len(manners))]
	}
	if how == late {
		wait = span(dice, time.Millisecond, 10*time.Second)
	}
	if r.turn != nil && r.yes != nil && time.Since(r.yes.at) >= w.settings.lifetime {
		before, shown = before+1, r.yes.bytes // the approval expired while the call waited for its turn
	}
	if worse := request.Tool.Safety().MustConfirm(); worse && r.mild {
		before, r.mild = before+1, false // the host made its tool dangerous while a person read about a write
	} else if r.asked == 0 {
		r.mild = !worse
	}
	w.say(r.id, "asked", string(how))
	r.told = !request.InDoubt.IsZero()
	r.asked++
	w.asking++
	switch {
	case r.asked > 1+before:
		w.badf("I1", r, "was asked about %d times", r.asked)
	case w.asking > w.settings.maxPending && !w.epilogue:
		w.badf("I19", r, "%d questions wait, more than %d", w.asking, w.settings.maxPending)
	case request.Scope != r.scope || request.Tool.Server != r.server || request.Tool.Name() != r.tool.name || request.Tool.Digest != r.digest:
		w.badf("I1", r, "a person was shown %v of %q", request.Tool, request.Scope)
	case string(request.Arguments) != shown:
		w.badf("I1", r, "a person was shown %s and not %s", request.Arguments, shown)
	case r.narrow && r.server == trusty:
		w.badf("I22", r, "a person was asked about a tool that its caller may not see")
	case r.needless(request):
		w.badf("I34", r, "a person was asked about the source of a value that they had approved")
	case r.tool.byMode && r.rogue == honest && r.law == reads && w.lawOf(r, r.server, r.revision, shown) == reads:
		w.badf("I33", r, "a person was asked about %s, which reads: %s", shown, request.Tool.Safety())
	}
	if r.smears {
		smear(r.sent)
	}
	return r, how, wait
}

func (w *scenario) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asking--
}
