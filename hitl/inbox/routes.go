package inbox

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
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
