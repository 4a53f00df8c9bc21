// Package terminal asks a person at a terminal.
package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// New returns a hitl.Confirmer that shows the call on out and reads the answer, a line, from in: y approves, e
// edits the arguments, d shows them in full, n or nothing denies, i denies and asks for a line of guidance for
// the model, and ? lists these. Ordinary words of agreement and refusal ("ok", "sure", "nope") count as y and
// n, and any other text is asked about again. If an approval may be remembered, s approves for the session and
// a for always, with the number of what is offered if there is more than one: "s2". "f path" leaves the member
// path free in what s and a remember. Long arguments are folded, and a call of which a part was folded is
// approved only after d has shown all of it. The end of the input denies.
//
// Questions are put one at a time. Those of one batch are shown together (it is a
// [hitl.GroupConfirmer]): numbers approve those calls, "all" approves all of them, o goes
// through them one by one, and n or nothing denies.
//
// A read cannot be interrupted, so a line that was typed for a question that has expired is
// discarded, with those that follow it within 200 ms, and at a terminal a line that comes
// sooner than 200 ms after its question. At most one goroutine waits for input.
func New(in io.Reader, out io.Writer) hitl.Confirmer {
	return Sharing(nil, in, out)
}

type terminal struct {
	lines *reader
	out   io.Writer
}

func (t *terminal) Confirm(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
	if err := t.lines.take(ctx); err != nil {
		return hitl.Decision{}, err
	}
	defer t.lines.release()
	return t.one(ctx, request)
}

// one shows a call, and reads lines until one of them decides. A person may change what is asked about in between: the
// arguments, and what is left free in what may be remembered.
func (t *terminal) one(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
	var edited json.RawMessage
	var free []string
	missing := t.show(request, first)
	for {
		yes := "[y]es" + keys(request) + "  [N]o  [i]nstead  [e]dit  [d]etails"
		if !missing.None() {
			yes = "[d]etails before [y]es  [N]o  [i]nstead  [e]dit"
		}
		fmt.Fprintf(t.out, "  Allow? %s  [?] (%s left): ", yes, time.Until(request.Deadline).Round(time.Second))
		text, word, err := t.lines.answer(ctx)
		if err != nil {
			return hitl.Decision{}, err
		}
		approved, approves := answers(word, request)
		names, frees := strings.CutPrefix(text, "f ")
		switch {
		case approves && !missing.None():
			fmt.Fprintf(t.out, notWhole, missing)
		case approves:
			if approved.Arguments = edited; approved.Remember != hitl.Once && approved.Offer == 0 {
				approved.Free = free
			}
			ended := true
			if approved.Remember == hitl.Always && !endNamed(word) && len(request.Lifetimes) > 1 {
				approved.Lifetime, ended, err = t.end(ctx, request)
			}
			if err != nil {
				return hitl.Decision{}, err
			}
			if ended {
				return approved, nil
			}
		case frees:
			if left := strings.Fields(names); t.leaveFree(&request, left) {
				free = left
			}
		case refuses(word):
			return hitl.Decision{}, nil
		case word == "i" || word == "instead":
			reason, err := t.instead(ctx)
			return hitl.Decision{Reason: reason}, err
		case word == "d" || word == "details":
			missing = t.show(request, details)
		case word == "e" || word == "edit":
			changed, err := t.edit(ctx, &request)
			if err != nil {
				return hitl.Decision{}, err
			}
			if changed {
				edited, free = request.Arguments, nil
				missing = t.show(request, first)
			}
		default:
			t.explain(text, help(request))
		}
	}
}

// leaveFree changes which arguments may differ in what is remembered, and shows what may be. It is false, and changes
// nothing, if they cannot be left free.
func (t *terminal) leaveFree(request *hitl.Request, names []string) bool {
	left, ok := request.WithFree(names)
	if !ok {
		fmt.Fprintln(t.out, "  These cannot be left free; nothing was changed.")
		return false
	}
	*request = left
	for _, c := range keyed(left) {
		if c.Decision.Offer == 0 {
			fmt.Fprintf(t.out, "  %s now: %s\n", key(c), c.Text)
		}
	}
	return true
}

// edit reads new arguments into the request. It is false, and changes nothing, if the line is not a JSON object.
func (t *terminal) edit(ctx context.Context, request *hitl.Request) (ok bool, err error) {
	fmt.Fprint(t.out, "  New arguments, a JSON object on one line: ")
	text, err := t.lines.line(ctx)
	if err != nil {
		return false, err
	}
	if !json.Valid([]byte(text)) || !strings.HasPrefix(text, "{") {
		fmt.Fprintln(t.out, "  That is not a JSON object; nothing was changed.")
		return false, nil
	}
	request.Arguments, request.Why, request.Undo = json.RawMessage(text), "", "" // those spoke of the old ones
	request.Changes, request.Preview = nil, nil
	if request.Free, request.Suggestion = nil, ""; len(request.Offers) > 0 { // and so did the patterns
		its := request.Offers[0]
		request.Offers = []hitl.Offer{{Longest: its.Longest, Lifetime: its.Lifetime, SessionLifetime: its.SessionLifetime}}
	}
	return true, nil
}

// end asks for how long an approval for always is, the shortest if nothing is chosen. It reports whether the answer was
// one.
func (t *terminal) end(ctx context.Context, request hitl.Request) (lifetime time.Duration, ok bool, err error) {
	ends := request.Lifetimes
	fmt.Fprint(t.out, "  For how long?")
	for i, e := range ends {
		fmt.Fprintf(t.out, "  [%d] %s", i+1, e.Name)
	}
	fmt.Fprintf(t.out, "  [Enter] %s: ", ends[0])
	text, word, err := t.lines.answer(ctx)
	if n, isNumber := strconv.Atoi(word); isNumber == nil && 1 <= n && n <= len(ends) {
		word = ends[n-1].Name
	}
	if lifetime, ok = request.Lifetime(word); !ok {
		fmt.Fprintf(t.out, "  \"%s\" is not one of these; nothing was decided.\n", safetext.Cut(safetext.Line(text), 80))
	}
	return lifetime, ok, err
}

// instead reads a line of guidance for the model, or the number of one that is suggested.
func (t *terminal) instead(ctx context.Context) (string, error) {
	fmt.Fprintln(t.out, "  Denied. What should the model do instead? A number, or your own words:")
	for i, reason := range hitl.Instead {
		fmt.Fprintf(t.out, "    [%d] %s\n", i+1, reason)
	}
	fmt.Fprint(t.out, "  : ")
	text, err := t.lines.line(ctx)
	if n, isNumber := strconv.Atoi(text); isNumber == nil && 1 <= n && n <= len(hitl.Instead) {
		text = hitl.Instead[n-1]
	}
	return text, err
}

// explain answers a line that decides nothing, which may have asked for help.
func (t *terminal) explain(text, help string) {
	if text != "?" && !strings.EqualFold(text, "help") {
		fmt.Fprintf(t.out, "  \"%s\" is neither a yes nor a no; nothing was decided.\n", safetext.Cut(safetext.Line(text), 80))
	}
	fmt.Fprint(t.out, help)
}

const notWhole = "  %s, so nothing was approved; d shows all of it.\n"
