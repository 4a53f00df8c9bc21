// Package terminal asks a person at a terminal.
package terminal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/safetext"
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
	return &terminal{lines: newReader(in, out), out: out}
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

func (t *terminal) one(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
	var edited json.RawMessage
	var free []string
	whole := t.show(request, foldedArguments)
	for {
		fmt.Fprintf(t.out, "  Allow? [y]es%s  [N]o  [i]nstead  [e]dit  [d]etails  [?] (%s left): ",
			keys(request), time.Until(request.Deadline).Round(time.Second))
		text, word, err := t.lines.answer(ctx)
		if err != nil {
			return hitl.Decision{}, err
		}
		approved, approves := answers(word, request)
		names, frees := strings.CutPrefix(text, "f ")
		switch {
		case approves && !whole:
			fmt.Fprint(t.out, notWhole)
		case approves:
			if approved.Arguments = edited; approved.Remember != hitl.Once && approved.Offer == 0 {
				approved.Free = free
			}
			ended := true
			if approved.Remember == hitl.Always {
				approved.Lifetime, ended, err = t.end(ctx, request)
			}
			if err != nil {
				return hitl.Decision{}, err
			}
			if ended {
				return approved, nil
			}
		case frees:
			left, ok := request.Leave(strings.Fields(names))
			if !ok {
				fmt.Fprintln(t.out, "  These cannot be left free; nothing was changed.")
				continue
			}
			free, request = strings.Fields(names), left
			fmt.Fprintf(t.out, "  s and a remember now: %s\n", request.Offers[0])
		case refuses(word):
			return hitl.Decision{}, nil
		case word == "i" || word == "instead":
			reason, err := t.instead(ctx)
			return hitl.Decision{Reason: reason}, err
		case word == "d" || word == "details":
			whole = t.show(request, allArguments)
		case word == "e" || word == "edit":
			fmt.Fprint(t.out, "  New arguments, a JSON object on one line: ")
			text, err := t.lines.line(ctx)
			if err != nil {
				return hitl.Decision{}, err
			}
			if !json.Valid([]byte(text)) || !strings.HasPrefix(text, "{") {
				fmt.Fprintln(t.out, "  That is no JSON object; nothing was changed.")
				continue
			}
			edited = json.RawMessage(text)
			request.Arguments, request.Why, request.Undo = edited, "", ""                       // those spoke of the old ones
			if request.Free, request.Suggestion, free = nil, "", nil; len(request.Offers) > 0 { // and so did the patterns
				request.Offers = []hitl.Offer{{Longest: request.Offers[0].Longest, Lifetime: request.Offers[0].Lifetime}}
			}
			whole = t.show(request, foldedArguments)
		default:
			t.explain(text, help(request))
		}
	}
}

// end asks for how long an approval for always is. It returns 0 for the host's limit, and
// reports whether the answer was one.
func (t *terminal) end(ctx context.Context, request hitl.Request) (lifetime time.Duration, ok bool, err error) {
	ends := request.Ends
	if len(ends) < 2 {
		return 0, true, nil
	}
	fmt.Fprint(t.out, "  For how long?")
	for i, e := range ends {
		fmt.Fprintf(t.out, "  [%d] %s", i+1, e.Name)
	}
	fmt.Fprintf(t.out, "  [Enter] %s: ", ends[len(ends)-1])
	text, word, err := t.lines.answer(ctx)
	if n, isNumber := strconv.Atoi(word); isNumber == nil && 1 <= n && n <= len(ends) {
		word = ends[n-1].Name
	}
	if lifetime, ok = request.End(word); !ok {
		fmt.Fprintf(t.out, "  \"%s\" is none of these; nothing was decided.\n", safetext.Cut(safetext.Line(text), 80))
	}
	return lifetime, ok, err
}

func (t *terminal) instead(ctx context.Context) (string, error) {
	fmt.Fprint(t.out, "  Denied. What should the model do instead? ")
	return t.lines.line(ctx)
}

func (t *terminal) explain(text, help string) {
	if text != "?" && !strings.EqualFold(text, "help") {
		fmt.Fprintf(t.out, "  \"%s\" is neither a yes nor a no; nothing was decided.\n", safetext.Cut(safetext.Line(text), 80))
	}
	fmt.Fprint(t.out, help)
}

const notWhole = "  Not all of it was shown, so nothing was approved; d shows all of it.\n"

func (t *terminal) ConfirmGroup(ctx context.Context, requests []hitl.Request) (map[string]hitl.Decision, error) {
	if err := t.lines.take(ctx); err != nil {
		return nil, err
	}
	defer t.lines.release()
	whole := t.showAll(requests, foldedArguments)
	for {
		fmt.Fprintf(t.out, "  Allow which? numbers (\"1 3\")  \"all\"  [N]one  [o]ne by one  [i]nstead  [d]etails  [?] (%s left): ",
			time.Until(requests[0].Deadline).Round(time.Second))
		text, word, err := t.lines.answer(ctx)
		if err != nil {
			return nil, err
		}
		picked, isNumbers := numbers(word, len(requests))
		said := make(map[string]hitl.Decision, len(requests))
		switch {
		case refuses(word) || word == "none":
			return said, nil
		case word == "i" || word == "instead":
			reason, err := t.instead(ctx)
			for _, r := range requests {
				said[r.ID] = hitl.Decision{Reason: reason}
			}
			return said, err
		case agrees(word):
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
					said[r.ID] = hitl.Decision{Verdict: hitl.Approved}
				}
			}
			return said, nil
		default:
			t.explain(text, "  Numbers approve those calls once, \"all\" approves all of them, o asks about each.\n"+
				"  n denies all, i denies all and takes a line for the model, d shows all arguments.\n")
		}
	}
}

func (t *terminal) showAll(requests []hitl.Request, most int) (whole bool) {
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
func (t *terminal) show(request hitl.Request, most int) (whole bool) {
	b := box{most: most}
	b.heading(fmt.Sprintf("%s: %s", request.Tool, request.Tool.Safety()))
	for _, reason := range request.Reasons() { // the server's words in it are quoted
		b.plain(strings.TrimPrefix(reason, "  "))
	}
	b.row("does", safetext.Cut(safetext.Line(request.Tool.Definition.Description), 160))
	b.row("why", safetext.Line(request.Why))
	b.row("undo", safetext.Line(request.Undo))
	b.row("scope", safetext.Line(request.Scope))
	b.row("caution", request.Caution())
	b.rows(safetext.JSONRows(request.Arguments), "arguments")
	if request.Extra != nil {
		b.row("also sent", "with the arguments:")
		b.rows(safetext.JSONRows(request.Extra), "what else is sent")
	}
	for _, d := range request.Drafts {
		b.row("draft", safetext.Line(d.ID))
		b.rows(safetext.Rows(d.Shown), "this draft")
	}
	for _, c := range request.Choices()[1:] {
		b.row(key(c), c.Text)
	}
	for _, m := range request.Free {
		b.row("free", safetext.Line(m.Name)+": "+m.String())
	}
	b.row("suggested", request.Suggestion)
	_, _ = t.out.Write(b.bytes()) // a broken terminal gives no answer either, and that is a denial
	return !b.folded
}

func help(r hitl.Request) string {
	text := "  y approves this call once, n denies, i denies and takes a line for the model, e changes the arguments,\n  d shows all of them.\n"
	if len(r.Offers) > 0 {
		text += "  s and a, with the number of what is offered, remember the approval as above.\n"
	}
	if len(r.Free) > 0 {
		text += "  f and names, before that, leave those members free: \"f path\".\n"
	}
	return text
}

func keys(r hitl.Request) string {
	var names []string
	for _, c := range r.Choices()[1:] {
		names = append(names, key(c))
	}
	if len(r.Free) > 0 && names != nil {
		names = append(names, "[f]ree")
	}
	if names == nil {
		return ""
	}
	return "  remember as above: " + strings.Join(names, ", ")
}

// key is what is typed for a choice: s or a, and the number of the offer after the first.
func key(c hitl.Choice) string {
	letter := c.Decision.Remember.String()[:1]
	if c.Decision.Offer > 0 {
		letter += strconv.Itoa(c.Decision.Offer + 1)
	}
	return letter
}

// answers reads an approval, and the key or the name of a choice.
func answers(word string, request hitl.Request) (hitl.Decision, bool) {
	typed := strings.Join(strings.Fields(word), "")
	for i, c := range request.Choices() {
		if i == 0 && agrees(word) || i > 0 && (typed == key(c) || typed == c.Name) {
			return c.Decision, true
		}
	}
	return hitl.Decision{}, false
}

// A box is what a terminal shows of one call. Its rows are so short that the terminal does
// not break them, and it has no right-hand border, since characters differ in width.
type box struct {
	most   int // rows of one text
	folded bool

	text bytes.Buffer
}

func (b *box) heading(text string) {
	border := "\n  ╭─ "
	for _, text := range safetext.Wrap(safetext.Line(text), 75) {
		b.text.WriteString(border + text + "\n")
		border = "  │ "
	}
}

func (b *box) plain(text string) {
	for _, text := range safetext.Wrap(text, 76) {
		b.text.WriteString("  │ " + text + "\n")
	}
}

// row writes a text of one line with its name, unless it is empty.
func (b *box) row(name, text string) {
	for _, text := range safetext.Wrap(text, 63) {
		fmt.Fprintf(&b.text, "  │ %-12s %s\n", name, text)
		name = ""
	}
}

// rows writes rows up to the most, and how many it left out.
func (b *box) rows(rows []string, what string) {
	for i, r := range rows {
		if i == b.most {
			fmt.Fprintf(&b.text, "  │ … %d more lines of %s; d shows them\n", len(rows)-i, what)
			b.folded = true
			return
		}
		b.text.WriteString("  │   " + r + "\n")
	}
}

func (b *box) bytes() []byte {
	b.text.WriteString("  ╰─\n")
	return b.text.Bytes()
}

// numbers reads "1 3" or "1,3". It returns nil if a number is not one from 1 to most.
func numbers(text string, most int) (picked map[int]bool, isNumbers bool) {
	picked = make(map[int]bool)
	known := true
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, false
		}
		known = known && 1 <= n && n <= most
		picked[n] = true
	}
	if !known {
		return nil, true
	}
	return picked, len(picked) > 0
}

// A reader reads answers. It has one user at a time; see take.
type reader struct {
	in      *bufio.Reader
	out     io.Writer
	person  bool          // in is a terminal
	turn    chan struct{} // held by the question that is on the screen
	reading chan line     // a read that has not returned yet
}

type line struct {
	text string
	err  error
}

// newReader returns a reader of in, which asks on out for what does not count once more.
func newReader(in io.Reader, out io.Writer) *reader {
	r := &reader{in: bufio.NewReader(in), out: out, turn: make(chan struct{}, 1)}
	if f, ok := in.(interface{ Stat() (fs.FileInfo, error) }); ok { // what is piped comes all at once
		info, err := f.Stat()
		r.person = err == nil && info.Mode()&fs.ModeCharDevice != 0
	}
	return r
}

// take waits for the screen, and keeps it until Release.
func (r *reader) take(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *reader) release() { <-r.turn }

// oneBreath is less than a person takes to read a question and answer it. What comes
// sooner was typed with an earlier line, or before the question.
const oneBreath = 200 * time.Millisecond

// line returns the next line that was typed for the question on the screen, without the white space around it.
func (r *reader) line(ctx context.Context) (string, error) {
	late := r.reading != nil
	var breath time.Time
	if r.person {
		breath = time.Now().Add(oneBreath)
	}
	for {
		if r.reading == nil {
			r.reading = make(chan line, 1)
			go func(to chan<- line) {
				text, err := r.in.ReadString('\n')
				to <- line{strings.TrimSpace(text), err}
			}(r.reading)
		}
		select {
		case got := <-r.reading:
			r.reading = nil
			switch {
			case errors.Is(got.err, io.EOF) && got.text == "":
				return "", errors.New("the input has ended")
			case got.err != nil && !errors.Is(got.err, io.EOF):
				return "", got.err // half a line is no answer
			case late || time.Now().Before(breath):
				late, breath = false, time.Now().Add(oneBreath)
				fmt.Fprint(r.out, "\n  That line may have been typed before this question was shown, so it is not taken as the answer. Once more: ")
				continue
			}
			return got.text, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// answer reads the answer to the question on the screen: the text, and the same in lower
// case without the punctuation after it.
func (r *reader) answer(ctx context.Context) (text, word string, err error) {
	if text, err = r.line(ctx); err != nil {
		fmt.Fprintln(r.out, "\n  no answer here; without one elsewhere it is denied")
	}
	return text, strings.TrimRight(strings.ToLower(text), ".!"), err
}

func agrees(word string) bool {
	return slices.Contains([]string{"y", "yes", "yes please", "yeah", "yep", "ok", "okay", "sure", "allow", "approve", "go ahead"}, word)
}

// refuses reports whether a word denies, as no word does.
func refuses(word string) bool {
	return slices.Contains([]string{"", "n", "no", "no thanks", "nope", "deny", "reject", "cancel", "stop"}, word)
}
