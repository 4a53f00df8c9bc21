package hitl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/safetext"
)

// Terminal returns a Confirmer that shows the call on out and reads the answer,
// a line, from in: y approves, e edits the arguments, d shows them in full, n or
// nothing denies, and any other text denies and is handed to the model as
// guidance. Where a yes may be remembered, s approves for the session and a for
// always, with the number of what is offered if there is more than one: "s2". The
// end of the input is a no.
//
// Questions are put one at a time, save those of one batch, which are shown together
// (it is a [GroupConfirmer]): numbers approve those calls, "all" approves all of them,
// o goes through them one by one, n or nothing denies, and a y is asked which it means. A read from a terminal cannot be interrupted,
// so a line that was typed for a question that has expired is thrown away, with
// those that came in the same breath. Where in is a terminal itself, so is a line that comes
// sooner than 200 ms after its question, which nobody has read by then: who strikes a key
// twice has answered one question. At most one goroutine waits for input, until a line or the end comes.
func Terminal(in io.Reader, out io.Writer) Confirmer {
	return &terminal{in: bufio.NewReader(in), out: out, typed: isTyped(in), turn: make(chan struct{}, 1)}
}

// isTyped reports whether somebody types what in has: what is piped comes all at once.
func isTyped(in io.Reader) bool {
	f, ok := in.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}

type terminal struct {
	in    *bufio.Reader
	out   io.Writer
	typed bool          // in is a terminal
	turn  chan struct{} // held by the question that is on the screen

	// Touched only by the holder of the turn.
	reading chan line // a read that has not returned yet
}

type line struct {
	text string
	err  error
}

// Confirm puts one question.
func (t *terminal) Confirm(ctx context.Context, request Request) (Decision, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return Decision{}, context.Cause(ctx)
	}
	return t.one(ctx, request)
}

// one puts one question, for who holds the turn.
func (t *terminal) one(ctx context.Context, request Request) (Decision, error) {
	edited := json.RawMessage(nil)
	t.show(request, foldedArguments)
	for {
		fmt.Fprintf(t.out, "  Allow? [y]es%s  [N]o  [e]dit  [d]etails, or say what to do instead (%s left): ",
			keys(request.Offers), time.Until(request.Deadline).Round(time.Second))
		text, err := t.readLine(ctx)
		if err != nil {
			fmt.Fprintln(t.out, "\n  no answer: denied")
			return Decision{}, err
		}
		word := strings.ToLower(strings.TrimSpace(text))
		if remember, offer, ok := remembers(word, request.Offers); ok {
			return Decision{Verdict: Approved, Arguments: edited, Remember: remember, Offer: offer}, nil
		}
		switch word {
		case "y", "yes":
			return Decision{Verdict: Approved, Arguments: edited}, nil
		case "", "n", "no":
			return Decision{}, nil
		case "d", "details":
			t.show(request, allArguments)
		case "e", "edit":
			fmt.Fprint(t.out, "  New arguments, a JSON object on one line: ")
			text, err := t.readLine(ctx)
			if err != nil {
				return Decision{}, err
			}
			text = strings.TrimSpace(text)
			if !json.Valid([]byte(text)) || !strings.HasPrefix(text, "{") {
				fmt.Fprintln(t.out, "  That is no JSON object; nothing was changed.")
				continue
			}
			edited = json.RawMessage(text)
			request.Arguments, request.Why, request.Undo = edited, "", "" // those spoke of the old ones
			request.Offers = request.Offers[:min(1, len(request.Offers))] // and so did the patterns
			t.show(request, foldedArguments)
		default:
			return Decision{Reason: strings.TrimSpace(text)}, nil
		}
	}
}

// oneBreath is how long nobody takes to read a question and answer it: what comes
// sooner after a line that was late was typed with that line, and what is typed sooner
// after the question was typed without it.
const oneBreath = 200 * time.Millisecond

// readLine returns the next line that was typed for the question on the screen.
func (t *terminal) readLine(ctx context.Context) (string, error) {
	late := t.reading != nil
	var breath time.Time
	if t.typed {
		breath = time.Now().Add(oneBreath)
	}
	for {
		if t.reading == nil {
			t.reading = make(chan line, 1)
			go func(to chan<- line) {
				text, err := t.in.ReadString('\n')
				to <- line{text, err}
			}(t.reading)
		}
		select {
		case got := <-t.reading:
			t.reading = nil
			switch {
			case errors.Is(got.err, io.EOF) && strings.TrimSpace(got.text) == "":
				return "", errors.New("the input has ended")
			case got.err != nil && !errors.Is(got.err, io.EOF):
				return "", got.err // half a line is no answer
			case late || time.Now().Before(breath):
				late, breath = false, time.Now().Add(oneBreath)
				fmt.Fprint(t.out, "\n  That line began before this question and does not count. Once more: ")
				continue
			}
			return got.text, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// How many lines of arguments are shown at first.
const (
	foldedArguments = 12
	allArguments    = 1 << 20
)

// show draws the call: what it is, why it is asked about, and exactly what will
// be sent. It has no right-hand border, which the width of characters would break.
func (t *terminal) show(request Request, most int) {
	var b bytes.Buffer
	// The tool's name is the server's text, so its own line is told from the reasons
	// by length and not by its end.
	heading := fmt.Sprintf("%s: %s", request.Tool, request.Tool.Safety())
	reasons := strings.TrimPrefix(request.Tool.Explain(), heading+"\n")
	// No row is left for the terminal to break: it would go on at the border's place.
	border := "\n  ╭─ "
	for _, text := range safetext.Wrap(safetext.Line(heading), 75) {
		fmt.Fprintf(&b, "%s%s\n", border, text)
		border = "  │ "
	}
	row := func(name, text string) {
		for _, text := range safetext.Wrap(text, 63) {
			fmt.Fprintf(&b, "  │ %-12s %s\n", name, text)
			name = ""
		}
	}
	for reason := range strings.Lines(reasons) { // the server's words in it are quoted
		for _, text := range safetext.Wrap(strings.TrimSuffix(strings.TrimPrefix(reason, "  "), "\n"), 76) {
			b.WriteString("  │ " + text + "\n")
		}
	}
	row("does", safetext.Cut(safetext.Line(request.Tool.Definition.Description), 160))
	row("why", safetext.Line(request.Why))
	row("undo", safetext.Line(request.Undo))
	row("scope", safetext.Line(request.Scope))
	row("caution", request.Caution())
	fold(&b, safetext.JSONRows(request.Arguments), most, "arguments")
	for _, d := range request.Drafts {
		row("draft", safetext.Line(d.ID))
		fold(&b, safetext.Rows(d.Shown), most, "this draft")
	}
	for i, o := range request.Offers {
		row("remember", fmt.Sprintf("%d: %s", i+1, o))
	}
	b.WriteString("  ╰─\n")
	_, _ = t.out.Write(b.Bytes()) // a broken terminal gives no answer either, and that is a no
}

// fold writes rows, and says how many it left out.
func fold(b *bytes.Buffer, rows []string, most int, what string) {
	for i, r := range rows {
		if i == most {
			fmt.Fprintf(b, "  │ … %d more lines of %s; d shows them\n", len(rows)-most, what)
			return
		}
		b.WriteString("  │   " + r + "\n")
	}
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

// remembers reads "s", "a", and those with the number of an offer.
func remembers(word string, offers []Offer) (Remember, int, bool) {
	remember, rest := Once, ""
	switch {
	case strings.HasPrefix(word, "s"):
		remember, rest = Session, word[1:]
	case strings.HasPrefix(word, "a"):
		remember, rest = Always, word[1:]
	}
	n := 1
	if rest = strings.TrimSpace(rest); rest != "" {
		var err error
		if n, err = strconv.Atoi(rest); err != nil {
			return Once, 0, false // words
		}
	}
	if remember == Once || n < 1 || n > len(offers) || remember > offers[n-1].Longest {
		return Once, 0, false
	}
	return remember, n - 1, true
}
