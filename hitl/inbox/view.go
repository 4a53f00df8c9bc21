package inbox

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

var pages = template.Must(template.ParseFS(files, "page/*.html"))

// What the list shows; the page of one question shows all of it.
const (
	maxCards = 100
	maxRows  = 40
	maxValue = 4 << 10

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
	}
	card struct {
		ID, Digest, Tool, Class string
		Reasons                 []string
		Does, Why, Undo         string
		Caution, Suggestion     string
		Scope, CallID, Brief    string
		Left                    time.Duration // 0 where there is no limit
		Rows                    []row
		Extra, Drafts           []row
		ClientIDs               []row // of what the client calls it, folded
		Own                     bool
		Whole                   bool   // nothing is left out, so it may be approved here
		Together                string // the query of the page that shows those of this tool, if there are more
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
		Remember          []hitl.Choice
		Free              hitl.Pattern
		Ends              []approvals.Lifetime
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
	if err := pages.ExecuteTemplate(&b, name+".html", frame{in.o.Path, page}); err != nil {
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
			page.Done = append(page.Done, past{Tool: safetext.Line(q.request.Tool.String()), Arguments: brief(q.request.Arguments), What: "not decided, it still waits"})
		}
	}
	in.mu.Unlock()
	for _, q := range waiting {
		c := in.card(s, q, maxRows, maxValue)
		if c.Together = q.together(); len(of[c.Together]) == 1 {
			c.Together = ""
		}
		page.Cards = append(page.Cards, c)
	}
	return page
}

// card draws a question, up to so many rows of so many bytes each.
func (in *Inbox) card(s *session, q *question, mostRows, mostBytes int) card {
	r := q.request
	c := card{
		ID: r.ID, Digest: q.digest, Tool: safetext.Line(r.Tool.String()), Class: r.Tool.Safety().String(),
		Reasons: r.Reasons(), Does: safetext.Text(r.Tool.Definition.Description),
		Why: safetext.Text(r.Why), Undo: safetext.Text(r.Undo), Caution: r.Caution(), Suggestion: r.Suggestion, Scope: safetext.Line(r.Scope), CallID: safetext.Line(r.CallID),
		Rows: rows(r.Arguments), Extra: rows(r.Extra), ClientIDs: rows(r.ClientIDs), Own: !in.mayApprove(s, q), Whole: true, Brief: brief(r.Arguments),
	}
	if !r.Deadline.IsZero() {
		c.Left = max(time.Until(r.Deadline), time.Millisecond)
	}
	for i, reason := range c.Reasons {
		c.Reasons[i] = safetext.Line(strings.Join(strings.Fields(reason), " "))
	}
	for _, d := range r.Drafts {
		c.Drafts = append(c.Drafts, row{Name: safetext.Line(d.ID), Text: draftText(d.Shown)})
	}
	c.limit(mostRows, mostBytes)
	return c
}

// limit leaves out what is too much for a list. Then there is no button to approve.
func (c *card) limit(mostRows, mostBytes int) {
	for _, text := range []*string{&c.Does, &c.Why, &c.Undo, &c.Tool, &c.Scope, &c.CallID} {
		if len(*text) > mostBytes {
			*text, c.Whole = safetext.Cut(*text, mostBytes), false
		}
	}
	if c.ClientIDs = c.ClientIDs[:min(len(c.ClientIDs), mostRows)]; mostRows == maxRows {
		c.ClientIDs = nil // the page of the question has them
	}
	for _, list := range []*[]row{&c.Rows, &c.Extra, &c.Drafts} {
		if len(*list) > mostRows {
			*list, c.Whole = (*list)[:mostRows], false
		}
		for i := range *list {
			if r := &(*list)[i]; len(r.Text)+len(r.Name) > mostBytes {
				r.Name, r.Text, c.Whole = safetext.Cut(r.Name, mostBytes/4), safetext.Cut(r.Text, mostBytes/2), false
			}
		}
	}
}

// whole draws a question with nothing left out.
func (in *Inbox) whole(s *session, q *question) questionPage {
	const all = 1 << 30
	page := questionPage{card: in.card(s, q, all, all), ReasonMax: maxReason, Remember: q.request.Choices(), Free: q.request.Free, Ends: q.request.Lifetimes}
	page.Editable = editable(q.request.Arguments)
	page.Editor = min(max(strings.Count(page.Editable, "\n")+2, 4), 30)
	in.mu.Lock()
	page.Version = in.version
	for _, r := range slices.Backward(in.history) {
		if r.Tool == safetext.Cut(page.Tool, maxNameShown) && len(page.Earlier) < maxEarlier {
			page.Earlier = append(page.Earlier, r.past)
		}
	}
	in.mu.Unlock()
	return page
}

// Plain reports whether all of a question is in sight, so that it may be ticked and approved with others.
func (c card) Plain() bool {
	return c.Whole && !c.Own && !slices.ContainsFunc(slices.Concat(c.Rows, c.Extra, c.Drafts), row.Folded)
}

func brief(arguments []byte) string {
	text := safetext.Line(string(arguments[:min(len(arguments), maxPast)]))
	if len(arguments) > maxPast {
		text += "…"
	}
	return text
}

// Folded reports whether a text is shown behind a line of its beginning.
func (r row) Folded() bool { return len(r.Text) > 240 || strings.Count(r.Text, "\n") > 4 }

// Beginning is that line.
func (r row) Beginning() string {
	first, _, _ := strings.Cut(r.Text, "\n")
	return cmp.Or(safetext.Cut(first, 120), "…")
}
