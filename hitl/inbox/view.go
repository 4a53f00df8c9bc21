package inbox

import (
	"bytes"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/display"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// pages are parsed when the first is shown, since most programs that link them show none.
var pages = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(files, "page/*.html")) })

// listed is what the list, and the page of the questions of one tool, have room for of each question: on a phone, too, both
// buttons are on the screen then. The page of one question shows all of it.
var listed = display.Limit{Lines: 9, Columns: 44}

const (
	maxCards = 100
	minLines = 3 // of the values of a question in the list

	maxEarlier = 5 // decisions that the page of one question shows
)

// What a template gets. Texts are safe to look at: escaped for the eye here, for HTML by the template.
type (
	frame struct {
		Path string
		Page any
	}
	door    struct{ Token string }
	message struct {
		Status      int
		Title, Text string
	}
	listPage struct {
		Version, Waiting, More int
		By                     string
		Done                   []past // what the person has just decided
		Kept                   *memory
		Cards                  []card
		History                []past
	}
	past struct {
		ID, Tool, Arguments, By, Reason string
		What                            string // approved, denied, …
		At                              time.Time
		Behalf                          string    // "on behalf of ann"; "" if that is not known
		Undo                            *undoable // nil for a call that cannot be taken back
	}
	card struct {
		display.Question

		ID, Digest    string
		CallID, Brief string
		Left          time.Duration // 0 where there is no limit
		Shown         []group
		Missing       display.Missing // with anything of it, there is no button to approve
		JSON          string
		ClientIDs     string // what the client calls it, as JSON
		Own           bool
		Together      string // the query of the page that shows those of this tool, if there are more
		Instead       [3]string
	}
	group struct {
		Name  string
		Parts []display.Part
	}
	togetherPage struct {
		listPage

		Tool, Together, Problem string
	}
	memory struct {
		Path   string
		All    []approvals.Standing // newest first
		More   int
		Unread bool
	}
	questionPage struct {
		card
		Version           int
		Remember          []hitl.Choice // beside once
		Free              hitl.Pattern
		Kept              *memory
		Earlier           []past // decisions on the same tool, newest first
		Editable          string
		Problem, Reason   string
		ReasonMax, Editor int
	}
)

func (c card) Millis() int64 { return c.Left.Milliseconds() }

// Says is the time that is left, in words.
func (c card) Says() string {
	if c.Left < time.Minute {
		return fmt.Sprintf("%d s left", int(c.Left.Seconds()))
	}
	return fmt.Sprintf("%d min left", int(c.Left.Minutes()))
}

func (in *Inbox) render(w http.ResponseWriter, status int, name string, page any) {
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, name+".html", frame{in.o.Path, page}); err != nil {
		in.o.Logger.Error("inbox: the page cannot be drawn", slog.String("page", name), slog.Any("err", err))
		http.Error(w, "The page cannot be drawn; the log of the host says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a client that has gone needs no page
}

// listed draws what waits, all of it if together is empty.
func (in *Inbox) listed(s *session, done []string, together string) listPage {
	in.mu.Lock()
	of := make(map[string][]*question)
	for _, q := range in.pending {
		of[""], of[q.together()] = append(of[""], q), append(of[q.together()], q)
	}
	page := listPage{Version: in.version, Waiting: len(of[together]), By: safetext.Line(s.by)}
	waiting := of[together][:min(page.Waiting, maxCards)]
	page.More = page.Waiting - len(waiting)
	for _, r := range slices.Backward(in.history) {
		page.History = append(page.History, r.past)
	}
	for _, id := range done {
		if r, q := in.past[id], in.waiting[id]; r != nil {
			page.Done = append(page.Done, r.past)
		} else if q != nil {
			page.Done = append(page.Done, past{Tool: safetext.Word(q.request.Tool.String(), maxNameShown), Arguments: brief(q.request.Arguments), What: "not decided, it still waits"})
		}
	}
	in.mu.Unlock()
	for _, q := range waiting {
		c := in.card(s, q, listed)
		if c.Together = q.together(); len(of[c.Together]) == 1 {
			c.Together = ""
		}
		page.Cards = append(page.Cards, c)
	}
	return page
}

// card draws a question, for a place with a limit.
func (in *Inbox) card(s *session, q *question, l display.Limit) card {
	r := q.request
	c := card{
		Question: display.Of(r), ID: r.ID, Digest: q.digest, CallID: safetext.Line(r.CallID), Own: !in.mayApprove(s, q), Brief: brief(r.Arguments),
		JSON: editable(r.Arguments), ClientIDs: editable(r.ClientIDs), Instead: hitl.Instead,
	}
	if !r.Deadline.IsZero() {
		c.Left = max(time.Until(r.Deadline), time.Millisecond)
	}
	if l.Lines > 0 { // of which the effects take some
		l.Lines = max(l.Lines-len(c.Effects), minLines)
	}
	parts, missing := c.Fit(l)
	c.Missing = missing
	for _, p := range parts {
		if n := len(c.Shown); n == 0 || c.Shown[n-1].Name != p.Group {
			c.Shown = append(c.Shown, group{Name: p.Group})
		}
		last := &c.Shown[len(c.Shown)-1]
		last.Parts = append(last.Parts, p)
	}
	if l != (display.Limit{}) { // what is not approved is cut in a list
		for _, text := range []*string{&c.Does, &c.Why, &c.Undo} {
			*text = safetext.Cut(*text, maxWords)
		}
		c.JSON = safetext.Cut(c.JSON, maxWords)
	}
	return c
}

// maxWords is how many bytes of a description, of the host's words and of the JSON a list shows.
const maxWords = 2000

// whole draws a question with nothing left out.
func (in *Inbox) whole(s *session, q *question) questionPage {
	page := questionPage{card: in.card(s, q, display.Limit{}), ReasonMax: maxReason, Remember: q.request.Choices()[1:], Free: q.request.Free}
	page.Editable = editable(q.request.Arguments)
	page.Editor = min(max(strings.Count(page.Editable, "\n")+2, 4), 30)
	in.mu.Lock()
	page.Version = in.version
	for _, r := range slices.Backward(in.history) {
		if r.Tool == safetext.Word(q.request.Tool.String(), maxNameShown) && len(page.Earlier) < maxEarlier {
			page.Earlier = append(page.Earlier, r.past)
		}
	}
	in.mu.Unlock()
	return page
}

// Plain reports whether all of a question is in sight, so that it may be approved here.
func (c card) Plain() bool { return c.Missing.None() && !c.Own }

func brief(arguments []byte) string {
	text := safetext.Line(string(arguments[:min(len(arguments), maxPast)]))
	if len(arguments) > maxPast {
		text += "…"
	}
	return text
}
