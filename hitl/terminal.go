package hitl

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl/internal/typed"
	"github.com/fairlead-go/fairlead/safetext"
)

// Terminal returns a Confirmer that shows the call on out and reads the answer, a line,
// from in: y approves, e edits the arguments, d shows them in full, n or nothing denies, i
// denies and asks for a line of guidance for the model, and ? lists these. Ordinary words
// of agreement and refusal ("ok", "sure", "nope") count as y and n, and any other text is
// asked about again. If an approval may be remembered, s approves for the session and a
// for always, with the number of what is offered if there is more than one: "s2". Long
// arguments are folded, and a call of which a part was folded is approved only after d has
// shown all of it. The end of the input denies.
//
// Questions are put one at a time. Those of one batch are shown together (it is a
// [GroupConfirmer]): numbers approve those calls, "all" approves all of them, o goes
// through them one by one, and n or nothing denies.
//
// A read from a terminal cannot be interrupted, so a line that was typed for a question
// that has expired is discarded, with those that follow it within 200 ms. If in is a
// terminal itself, so is a line that comes sooner than 200 ms after its question, which
// nobody has read by then. At most one goroutine waits for input, until a line or the end
// comes.
func Terminal(in io.Reader, out io.Writer) Confirmer {
	return &terminal{lines: typed.NewReader(in, out), out: out}
}

type terminal struct {
	lines *typed.Reader
	out   io.Writer
}

// Confirm puts one question.
func (t *terminal) Confirm(ctx context.Context, request Request) (Decision, error) {
	if err := t.lines.Take(ctx); err != nil {
		return Decision{}, err
	}
	defer t.lines.Release()
	return t.one(ctx, request)
}

// one puts one question. The caller has the screen.
func (t *terminal) one(ctx context.Context, request Request) (Decision, error) {
	edited := json.RawMessage(nil)
	whole := t.show(request, foldedArguments)
	for {
		fmt.Fprintf(t.out, "  Allow? [y]es%s  [N]o  [i]nstead  [e]dit  [d]etails  [?] (%s left): ",
			keys(request.Offers), time.Until(request.Deadline).Round(time.Second))
		text, word, err := t.lines.Answer(ctx)
		if err != nil {
			return Decision{}, err
		}
		approved, approves := answers(word, request)
		switch {
		case approves && !whole:
			fmt.Fprint(t.out, notWhole)
			continue
		case approves:
			approved.Arguments = edited
			return approved, nil
		}
		switch {
		case typed.Refuses(word):
			return Decision{}, nil
		case word == "i" || word == "instead":
			reason, err := t.instead(ctx)
			return Decision{Reason: reason}, err
		case word == "d" || word == "details":
			whole = t.show(request, allArguments)
		case word == "e" || word == "edit":
			fmt.Fprint(t.out, "  New arguments, a JSON object on one line: ")
			text, err := t.lines.Line(ctx)
			if err != nil {
				return Decision{}, err
			}
			if !json.Valid([]byte(text)) || !strings.HasPrefix(text, "{") {
				fmt.Fprintln(t.out, "  That is no JSON object; nothing was changed.")
				continue
			}
			edited = json.RawMessage(text)
			request.Arguments, request.Why, request.Undo = edited, "", "" // those spoke of the old ones
			request.Offers = request.Offers[:min(1, len(request.Offers))] // and so did the patterns
			whole = t.show(request, foldedArguments)
		default:
			t.explain(text, "  y approves this call once, s or a remember the approval where they are offered.\n"+
				"  n denies, i denies and takes a line for the model, e changes the arguments, d shows all of them.\n")
		}
	}
}

// instead asks for the guidance that goes to the model with a denial.
func (t *terminal) instead(ctx context.Context) (string, error) {
	fmt.Fprint(t.out, "  Denied. What should the model do instead? ")
	return t.lines.Line(ctx)
}

// explain prints the help, after what was not understood.
func (t *terminal) explain(text, help string) {
	if text != "?" && !strings.EqualFold(text, "help") {
		fmt.Fprintf(t.out, "  \"%s\" is neither a yes nor a no; nothing was decided.\n", safetext.Cut(safetext.Line(text), 80))
	}
	fmt.Fprint(t.out, help)
}

const notWhole = "  Not all of it was shown, so nothing was approved; d shows all of it.\n"

// ConfirmGroup shows all calls, each with its number, and asks which of them may run.
func (t *terminal) ConfirmGroup(ctx context.Context, requests []Request) (map[string]Decision, error) {
	if err := t.lines.Take(ctx); err != nil {
		return nil, err
	}
	defer t.lines.Release()
	whole := t.showAll(requests, foldedArguments)
	for {
		fmt.Fprintf(t.out, "  Allow which? numbers (\"1 3\")  \"all\"  [N]one  [o]ne by one  [i]nstead  [d]etails  [?] (%s left): ",
			time.Until(requests[0].Deadline).Round(time.Second))
		text, word, err := t.lines.Answer(ctx)
		if err != nil {
			return nil, err
		}
		picked, isNumbers := typed.Numbers(word, len(requests))
		said := make(map[string]Decision, len(requests))
		switch {
		case typed.Refuses(word) || word == "none":
			return said, nil
		case word == "i" || word == "instead":
			reason, err := t.instead(ctx)
			for _, r := range requests {
				said[r.ID] = Decision{Reason: reason}
			}
			return said, err
		case typed.Agrees(word):
			fmt.Fprintln(t.out, "  That says nothing of which; nothing was allowed. Type their numbers, or \"all\".")
		case word == "d" || word == "details":
			whole = t.showAll(requests, allArguments)
		case word == "o" || word == "one by one":
			for _, r := range requests {
				if said[r.ID], err = t.one(ctx, r); err != nil {
					return said, err
				}
			}
			return said, nil
		case isNumbers && picked == nil:
			fmt.Fprintf(t.out, "  There are %d calls, numbered from 1; nothing was allowed.\n", len(requests))
		case !whole && (word == "all" || isNumbers):
			fmt.Fprint(t.out, notWhole)
		case word == "all" || isNumbers:
			for i, r := range requests {
				if word == "all" || picked[i+1] {
					said[r.ID] = Decision{Verdict: Approved}
				}
			}
			return said, nil
		default:
			t.explain(text, "  Numbers approve those calls once, \"all\" approves all of them, o asks about each.\n"+
				"  n denies all, i denies all and takes a line for the model, d shows all arguments.\n")
		}
	}
}

func (t *terminal) showAll(requests []Request, most int) (whole bool) {
	whole = true
	for i, r := range requests {
		fmt.Fprintf(t.out, "\n  %d of %d", i+1, len(requests))
		whole = t.show(r, most) && whole
	}
	return whole
}

// How many lines of arguments are shown at first.
const (
	foldedArguments = 12
	allArguments    = 1 << 20
)

// show draws the call: what it is, why it is asked about, and exactly what will be sent.
// It reports whether nothing was folded.
func (t *terminal) show(request Request, most int) (whole bool) {
	b := typed.Box{Most: most}
	b.Heading(request.heading())
	for _, reason := range request.Reasons() { // the server's words in it are quoted
		b.Plain(strings.TrimPrefix(reason, "  "))
	}
	b.Row("does", safetext.Cut(safetext.Line(request.Tool.Definition.Description), 160))
	b.Row("why", safetext.Line(request.Why))
	b.Row("undo", safetext.Line(request.Undo))
	b.Row("scope", safetext.Line(request.Scope))
	b.Row("caution", request.Caution())
	b.Rows(safetext.JSONRows(request.Arguments), "arguments")
	if request.Extra != nil {
		b.Row("also sent", "with the arguments:")
		b.Rows(safetext.JSONRows(request.Extra), "what else is sent")
	}
	for _, d := range request.Drafts {
		b.Row("draft", safetext.Line(d.ID))
		b.Rows(safetext.Rows(d.Shown), "this draft")
	}
	for i, o := range request.Offers {
		b.Row("remember", fmt.Sprintf("%d: %s", i+1, o))
	}
	_, _ = t.out.Write(b.Bytes()) // a broken terminal gives no answer either, and that is a denial
	return !b.Folded
}

// keys names those with which a yes is remembered.
func keys(offers []Offer) string {
	switch {
	case len(offers) == 0:
		return ""
	case offers[0].Longest == Session:
		return "  yes for this [s]ession"
	}
	return "  yes for this [s]ession  [a]lways"
}

// answers reads a yes, "s" and "a", and the latter two with the number of an offer.
func answers(word string, request Request) (Decision, bool) {
	key := strings.Join(strings.Fields(word), "")
	for i, d := range request.Choices() {
		letter := d.Remember.String()[:1]
		if i == 0 && typed.Agrees(word) || i > 0 && (key == letter+strconv.Itoa(d.Offer+1) || key == letter && d.Offer == 0) {
			return d, true
		}
	}
	return Decision{}, false
}
