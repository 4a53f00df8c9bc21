package inbox

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/safetext"
)

//go:embed page
var files embed.FS

func (in *Inbox) routes() http.Handler {
	m := http.NewServeMux()
	for _, route := range []struct {
		method, path string
		handler      http.HandlerFunc
	}{
		{http.MethodGet, "{$}", in.list},
		{http.MethodPost, "enter", in.enter},
		{http.MethodGet, "question/{id}", in.known(in.show)},
		{http.MethodPost, "question/{id}/decision", in.known(in.decision)},
		{http.MethodGet, "together", in.known(in.together)},
		{http.MethodPost, "decide", in.known(in.decideTogether)},
		{http.MethodPost, "forget", in.known(in.forget)},
		{http.MethodGet, "version", in.known(in.changes)},
		{http.MethodGet, "style.css", static("style.css", "text/css; charset=utf-8")},
		{http.MethodGet, "script.js", static("script.js", "text/javascript; charset=utf-8")},
	} {
		m.HandleFunc(route.method+" "+in.o.Path+route.path, route.handler)
		m.HandleFunc(in.o.Path+route.path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", route.method)
			in.refused(w, r, errMethod)
		})
	}
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { in.refused(w, r, errUnknown) })
	return m
}

// The page runs its own script and nothing else, sends forms to itself only, and is shown in no frame.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP serves the page. What asks for it by another name, and what was sent
// by another page, is refused before anything is looked at.
func (in *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// Not no-referrer, under which a browser sends the page's own forms without an origin.
	h.Set("Referrer-Policy", "same-origin")
	switch {
	case !in.hostAllowed(r.Host):
		in.refused(w, r, errHost)
	case r.Method == http.MethodPost && !sameOrigin(r):
		in.refused(w, r, errOrigin)
	default:
		in.mux.ServeHTTP(w, r)
	}
}

// sameOrigin is stricter than the library's check, which lets through what no browser has sent.
func sameOrigin(r *http.Request) bool {
	var check http.CrossOriginProtection
	return check.Check(r) == nil && (r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != "")
}

// known hands on what a browser sent that came in by a link.
func (in *Inbox) known(next func(http.ResponseWriter, *http.Request, *session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, err := in.doors.session(r)
		if err != nil {
			in.refused(w, r, err)
			return
		}
		next(w, r, s)
	}
}

func static(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		http.ServeFileFS(w, r, files, "page/"+name)
	}
}

// list shows what waits. With a token it shows the door: a button, since programs that
// look at links before people do would use the token up.
func (in *Inbox) list(w http.ResponseWriter, r *http.Request) {
	if token := r.URL.Query().Get("token"); token != "" {
		in.render(w, http.StatusOK, "door", door{Token: token})
		return
	}
	in.known(func(w http.ResponseWriter, r *http.Request, s *session) {
		in.look(r.Context())
		page := in.listed(s, r.URL.Query()["done"], "")
		page.Kept = in.remembered(r.Context(), nil)
		in.render(w, http.StatusOK, "list", page)
	})(w, r)
}

func (in *Inbox) enter(w http.ResponseWriter, r *http.Request) {
	form, err := readForm(w, r, "token")
	id := ""
	if err == nil {
		id, err = in.doors.enter(form.Get("token"))
	}
	if err != nil {
		in.refused(w, r, err)
		return
	}
	in.setCookie(w, r, id)
	http.Redirect(w, r, in.o.Path, http.StatusSeeOther)
}

func (in *Inbox) show(w http.ResponseWriter, r *http.Request, s *session) {
	in.look(r.Context())
	switch q, over := in.find(r.PathValue("id")); {
	case q != nil:
		page := in.whole(s, q)
		page.Kept = in.remembered(r.Context(), q)
		in.render(w, http.StatusOK, "question", page)
	case over != nil:
		in.render(w, http.StatusGone, "message", message{Status: http.StatusGone, Title: over.Tool, Text: "It is over: " + over.What + "."})
	case !s.guess.Allow():
		in.refused(w, r, errHurry)
	default:
		in.refused(w, r, errUnknown)
	}
}

// changes answers the number of changes so far, for a script that asks whether what it shows is out of date.
func (in *Inbox) changes(w http.ResponseWriter, r *http.Request, _ *session) {
	in.look(r.Context())
	in.mu.Lock()
	defer in.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprint(w, in.version)
}

func (in *Inbox) decision(w http.ResponseWriter, r *http.Request, s *session) {
	id := r.PathValue("id")
	q, over := in.find(id)
	if q == nil && over == nil && !s.guess.Allow() {
		in.refused(w, r, errHurry)
		return
	}
	fields := []string{"decision", "digest", "reason", "arguments", "remember", "always"}
	if q != nil {
		for i := range q.request.Free {
			fields = append(fields, freeName(i))
		}
	}
	form, err := readForm(w, r, fields...)
	if err == nil {
		var a answer
		if a, err = read(form, q); err == nil {
			err = in.decide(r.Context(), id, a, s)
		}
	}
	switch {
	case err == nil:
		http.Redirect(w, r, in.o.Path+"?done="+url.QueryEscape(id), http.StatusSeeOther)
	case q != nil && status(err) == http.StatusBadRequest: // what was typed is not lost
		in.logRefused(r, err)
		page := in.whole(s, q)
		page.Problem, page.Reason = err.Error(), form.Get("reason")
		if form.Has("arguments") {
			page.Editable = form.Get("arguments")
		}
		in.render(w, http.StatusBadRequest, "question", page)
	default:
		in.refused(w, r, err)
	}
}

func (in *Inbox) together(w http.ResponseWriter, r *http.Request, s *session) {
	in.look(r.Context())
	in.render(w, http.StatusOK, "together", in.ofTool(s, r))
}

func (in *Inbox) ofTool(s *session, r *http.Request) togetherPage {
	of := r.URL.Query()
	page := "?" + url.Values{"server": {of.Get("server")}, "tool": {of.Get("tool")}}.Encode()
	return togetherPage{listPage: in.listed(s, nil, page), Tool: safetext.Line(of.Get("server") + "/" + of.Get("tool")), Together: page}
}

// decideTogether decides the questions that were ticked, each as it was shown. The list
// shows what became of each of them.
func (in *Inbox) decideTogether(w http.ResponseWriter, r *http.Request, s *session) {
	const prefix = "q-"
	fields := []string{"decision"}
	in.mu.Lock()
	for id := range in.waiting {
		fields = append(fields, prefix+id)
	}
	for id := range in.past {
		fields = append(fields, prefix+id)
	}
	in.mu.Unlock()
	form, err := readForm(w, r, fields...)
	var ticked []string
	for _, name := range slices.Sorted(maps.Keys(form)) {
		if id, ok := strings.CutPrefix(name, prefix); ok {
			ticked = append(ticked, id)
		}
	}
	verdict, says := map[string]hitl.Verdict{"approve": hitl.Approved, "deny": hitl.Denied}[form.Get("decision")]
	if err == nil && (!says || len(ticked) == 0) {
		err = refuse(http.StatusBadRequest, "Nothing was ticked, or the form says neither yes nor no. Nothing was decided.")
	}
	if err != nil {
		in.logRefused(r, err)
		page := in.ofTool(s, r)
		page.Problem = err.Error()
		in.render(w, status(err), "together", page)
		return
	}
	for _, id := range ticked {
		var err error = errPart
		if q, _ := in.find(id); q == nil || verdict == hitl.Denied || in.card(s, q, maxRows, maxValue).Plain() {
			err = in.decide(r.Context(), id, answer{digest: form.Get(prefix + id), decision: hitl.Decision{Verdict: verdict}}, s)
		}
		if err != nil {
			in.logRefused(r, err)
		}
	}
	http.Redirect(w, r, in.o.Path+"?"+url.Values{"done": ticked}.Encode(), http.StatusSeeOther)
}

func (in *Inbox) forget(w http.ResponseWriter, r *http.Request, s *session) {
	form, err := readForm(w, r, "id")
	if err == nil {
		err = in.takeBack(r.Context(), form.Get("id"), s)
	}
	if err != nil {
		in.refused(w, r, err)
		return
	}
	http.Redirect(w, r, in.o.Path+"?done="+url.QueryEscape(form.Get("id")), http.StatusSeeOther)
}

func (in *Inbox) takeBack(ctx context.Context, id string, s *session) error {
	if in.o.Store == nil {
		return errForgot
	}
	all, err := in.o.Store.List(ctx)
	i := slices.IndexFunc(all, func(kept approvals.Standing) bool { return kept.ID == id })
	if err == nil && i < 0 {
		return errForgot
	}
	if err == nil {
		err = in.o.Store.Forget(ctx, all[i].Scope, id)
	}
	if err != nil {
		in.o.Logger.LogAttrs(ctx, slog.LevelError, "inbox: an approval could not be taken back", slog.String("id", id), slog.Any("err", err))
		return errForget
	}
	in.o.Logger.LogAttrs(ctx, slog.LevelInfo, "inbox: taken back", slog.String("id", id), slog.String("what", all[i].String()), slog.String("by", s.by))
	in.mu.Lock()
	defer in.mu.Unlock()
	in.keep(record{past: past{ID: id, Tool: all[i].String(), What: "taken back", By: s.by}})
	return nil
}

// readForm reads a body of the page's forms: each field once, and none that the form does not have.
func readForm(w http.ResponseWriter, r *http.Request, fields ...string) (url.Values, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, errForm
	}
	// Where the host's server cannot set it, a slow body holds one goroutine and no more.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(slowBody))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, errLarge
	}
	if err != nil {
		return nil, errSlow
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "The form cannot be read. Nothing was decided.")
	}
	for name, values := range form {
		if !slices.Contains(fields, name) || len(values) != 1 {
			return form, refuse(http.StatusBadRequest, "The form has %d fields %q. Nothing was decided.", len(values), safetext.Cut(safetext.Line(name), 40))
		}
	}
	return form, nil
}

func read(form url.Values, q *question) (answer, error) {
	a := answer{digest: form.Get("digest")}
	bad := func(format string, args ...any) (answer, error) {
		return answer{}, refuse(http.StatusBadRequest, format+" Nothing was decided.", args...)
	}
	switch what := form.Get("decision"); {
	case what == "deny":
		reason := strings.ReplaceAll(form.Get("reason"), "\r\n", "\n")
		if len(reason) > maxReason {
			return bad("The reason has %d bytes; at most %d are passed on.", len(reason), maxReason)
		}
		a.decision.Reason = strings.TrimSpace(plain(reason))
	case what != "approve" && what != "edit":
		return bad("The form says neither yes nor no.")
	case q == nil:
		a.decision.Verdict = hitl.Approved
	case what == "edit":
		arguments, err := q.edited(form.Get("arguments"))
		if err != nil {
			return bad("The arguments are no JSON object with each member once: %v.", err)
		}
		a.decision.Verdict, a.decision.Arguments = hitl.Approved, arguments
	default:
		a.decision.Verdict = hitl.Approved
		offered := q.request.Choices()
		var ok bool
		i := slices.IndexFunc(offered, func(c hitl.Choice) bool { return c.Name == cmp.Or(form.Get("remember"), "once") })
		if i < 0 {
			return bad("The page offered no such thing to remember.")
		}
		a.decision = offered[i].Decision
		if a.decision.Lifetime, ok = q.request.End(form.Get("always")); !ok {
			return bad("The page offered no such end.")
		}
		for i, m := range q.request.Free {
			if form.Has(freeName(i)) && a.decision.Remember != hitl.Once && a.decision.Offer == 0 {
				a.decision.Free = append(a.decision.Free, m.Name)
			}
		}
	}
	return a, nil
}

func freeName(i int) string { return fmt.Sprintf("free-%d", i) }

// plain drops what a reader of the reason could not see.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && safetext.Invisible(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

var (
	errHost     = refuse(http.StatusMisdirectedRequest, "This name does not lead to an inbox. Open the page by the link that the program printed.")
	errOrigin   = refuse(http.StatusForbidden, "This came from another page than the inbox itself. Decide on its own page.")
	errNobody   = refuse(http.StatusUnauthorized, "You have not come in by a link. Open the one that the program printed, or ask it for another.")
	errStranger = refuse(http.StatusForbidden, "You are not one of those who may decide here. Ask the operator, who can add your name.")
	errLink     = refuse(http.StatusUnauthorized, "This link was used already, is too old or is none. Ask the program for another.")
	errHurry    = refuse(http.StatusTooManyRequests, "Too many attempts. Wait a minute.")
	errMethod   = refuse(http.StatusMethodNotAllowed, "Looking decides nothing, and only the page's own forms do. Nothing was decided.")
	errForm     = refuse(http.StatusUnsupportedMediaType, "Only the page's own forms are read (application/x-www-form-urlencoded).")
	errLarge    = refuse(http.StatusRequestEntityTooLarge, "That is more than %d MiB. Nothing was decided.", maxBody>>20)
	errSlow     = refuse(http.StatusRequestTimeout, "The request did not arrive in time. Nothing was decided; try again.")
	errUnknown  = refuse(http.StatusNotFound, "There is no such question. It was decided long ago, or never asked.")
	errOther    = refuse(http.StatusConflict, "What you were shown is not what waits. Nothing was decided; look at it again.")
	errLate     = refuse(http.StatusGone, "Its time is over, the caller gave up, or it was answered elsewhere. Nothing was decided here.")
	errPart     = refuse(http.StatusForbidden, "Not all of it was shown beside the others. Look at all of it to approve it.")
	errForgot   = refuse(http.StatusGone, "There is no such remembered approval. It was taken back already, or has ended.")
	errForget   = refuse(http.StatusServiceUnavailable, "The store does not answer, so the approval may still be remembered. Try again.")
	errOwn      = refuse(http.StatusForbidden, "This is a call of your own; somebody else has to approve it. You may deny it.")
)

func status(err error) int {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status
	}
	return http.StatusInternalServerError
}

func (in *Inbox) refused(w http.ResponseWriter, r *http.Request, err error) {
	in.logRefused(r, err)
	in.render(w, status(err), "message", message{Status: status(err), Title: http.StatusText(status(err)), Text: err.Error()})
}

func (in *Inbox) logRefused(r *http.Request, err error) {
	in.o.Logger.LogAttrs(r.Context(), slog.LevelWarn, "inbox: refused", slog.Int("status", status(err)), slog.String("why", err.Error()),
		slog.String("method", r.Method), slog.String("path", safetext.Cut(safetext.Line(r.URL.Path), 120)), slog.String("from", r.RemoteAddr))
}

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
		Ends              []approvals.End
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
	_, _ = w.Write(b.Bytes()) // who has gone needs no page
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

// remembered draws the remembered approvals, or those for the tool and the scope of a question; nil without a store.
func (in *Inbox) remembered(ctx context.Context, q *question) *memory {
	if in.o.Store == nil {
		return nil
	}
	all, err := in.o.Store.List(ctx)
	if err != nil {
		in.o.Logger.LogAttrs(ctx, slog.LevelError, "inbox: what is remembered cannot be read", slog.Any("err", err))
	}
	all = slices.DeleteFunc(all, func(s approvals.Standing) bool {
		return q != nil && (s.Scope != q.request.Scope || s.Server != q.request.Tool.Server || s.Tool != q.request.Tool.Name())
	})
	slices.SortFunc(all, func(x, y approvals.Standing) int { return y.Since.Compare(x.Since) })
	shown := min(len(all), maxKept)
	return &memory{Path: in.o.Path, All: all[:shown], More: len(all) - shown, Unread: err != nil}
}

func (in *Inbox) card(s *session, q *question, mostRows, mostBytes int) card {
	r := q.request
	c := card{
		ID: r.ID, Digest: q.digest, Tool: safetext.Line(r.Tool.String()), Class: r.Tool.Safety().String(),
		Reasons: r.Reasons(), Does: safetext.Text(r.Tool.Definition.Description),
		Why: safetext.Text(r.Why), Undo: safetext.Text(r.Undo), Caution: r.Caution(), Suggestion: r.Suggestion, Scope: safetext.Line(r.Scope), CallID: safetext.Line(r.CallID),
		Rows: rows(r.Arguments), Extra: rows(r.Extra), Own: !in.mayApprove(s, q), Whole: true, Brief: brief(r.Arguments),
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

func (in *Inbox) whole(s *session, q *question) questionPage {
	const all = 1 << 30
	page := questionPage{card: in.card(s, q, all, all), ReasonMax: maxReason, Remember: q.request.Choices(), Free: q.request.Free, Ends: q.request.Ends}
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

// A row is one member of the arguments, escaped for the eye.
type row struct{ Name, Text string }

// rows lays arguments out, one member a row, in their own order. Anything but an object is one row without a name.
func rows(arguments json.RawMessage) []row {
	if len(bytes.TrimSpace(arguments)) == 0 {
		return nil
	}
	members, ok := strictjson.Members(arguments)
	if !ok || !json.Valid(arguments) {
		return []row{{Text: safetext.Text(string(arguments))}}
	}
	var list []row
	for _, m := range members {
		list = append(list, row{Name: safetext.Line(m.Name), Text: valueText(m.Value)})
	}
	return list
}

// valueText shows a text in quotes, and anything else as JSON.
func valueText(value json.RawMessage) string {
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil && !strings.ContainsRune(text, utf8.RuneError) {
		return `"` + safetext.Text(text) + `"`
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, value, "", "  ") != nil {
		return safetext.Text(string(value))
	}
	// An escape here is none of JSON's, so JSON's backslashes may stay single.
	return strings.ReplaceAll(safetext.Text(pretty.String()), `\\`, `\`)
}

func draftText(shown string) string {
	if json.Valid([]byte(shown)) {
		return valueText(bytes.TrimSpace([]byte(shown)))
	}
	return safetext.Text(shown)
}

// editable is the arguments as JSON in which everything can be seen: what would be
// invisible is written as JSON writes it, so that the meaning stays.
func editable(arguments json.RawMessage) string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, bytes.TrimSpace(arguments), "", "  ") != nil { // it keeps white space at the end
		return "{}"
	}
	return safetext.JSON(pretty.String())
}
