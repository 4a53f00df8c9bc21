package inbox

import (
	"embed"
	"fmt"
	"net/http"
	"net/url"

	"github.com/fairlead-go/fairlead/hitl"
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
		{http.MethodPost, "undo", in.known(in.undoCall)},
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

// shownAll is the field of a form whose page showed all of the question. Without it the form is one of the
// list, and approves what the list shows all of.
const shownAll = "all"

func (in *Inbox) decision(w http.ResponseWriter, r *http.Request, s *session) {
	id := r.PathValue("id")
	q, over := in.find(id)
	if q == nil && over == nil && !s.guess.Allow() {
		in.refused(w, r, errHurry)
		return
	}
	fields := []string{"decision", "digest", "shown", "instead", "reason", "arguments", "remember"}
	if q != nil {
		for i := range q.request.Free {
			fields = append(fields, freeName(i))
		}
	}
	form, err := readForm(w, r, fields...)
	if err == nil {
		var a answer
		if a, err = read(form, q); err == nil && a.decision.Verdict == hitl.Approved && q != nil && form.Get("shown") != shownAll && !in.card(s, q, listed).Missing.None() {
			err = errPart
		}
		if err == nil {
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
