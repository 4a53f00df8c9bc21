package credentials

import (
	"cmp"
	"context"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// callback is the path of the page, below its base, to which authorization servers send users back.
const callback = "callback"

// A page is where users begin to sign in and come back to, on this machine.
type page struct {
	once sync.Once
	base string
	err  error
}

// base returns the URL of the page, with a slash at its end. The one on this machine is served from when it is first
// wanted.
func (k *Keeper) base() (string, error) {
	if k.o.Base != "" {
		return k.o.Base, nil
	}
	k.page.once.Do(func() {
		l, err := new(net.ListenConfig).Listen(k.ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			k.page.err = err
			return
		}
		at := l.Addr().String()
		k.page.base = "http://" + at + "/sign-in/"
		h := k.Handler("/sign-in/")
		server := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Host != at { // a page from elsewhere was led here by another name
				http.Error(w, "the Host header is not that of this page", http.StatusForbidden)
				return
			}
			h.ServeHTTP(w, r)
		})}
		context.AfterFunc(k.ctx, func() { _ = server.Close() })
		go func() { _ = server.Serve(l) }() // until it is closed
	})
	return k.page.base, k.page.err
}

// Handler serves the pages of users who sign in, below a path that ends in a slash. [Options.User] decides whose a request is.
func (k *Keeper) Handler(below string) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET "+below+callback, k.callback)
	m.HandleFunc("GET "+below+"{ticket}", k.open)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		m.ServeHTTP(w, r)
	})
}

func (k *Keeper) user(r *http.Request) string {
	if k.o.User == nil {
		return ""
	}
	return k.o.User(r)
}

// open shows which server the user signs in at, and where, and marks the browser.
func (k *Keeper) open(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	s := k.tickets[r.PathValue("ticket")]
	k.mu.Unlock()
	switch {
	case s == nil:
		show(w, http.StatusGone, view{Title: "This sign-in has ended", Text: "It was completed, took too long, or never began. Call the tool again, and open the new page."})
	case s.account.user != k.user(r):
		show(w, http.StatusForbidden, view{Title: "This sign-in is another user's", Text: "Do not sign in for somebody else: what you would give is theirs to use."})
	default:
		http.SetCookie(w, &http.Cookie{ //nolint:gosec // this machine has no TLS
			Name: s.cookie(), Value: s.browser, Path: "/", MaxAge: int(signInTime / time.Second), HttpOnly: true,
			SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(k.o.Base, "https:"),
		})
		show(w, http.StatusOK, view{
			Title: "Sign in for " + s.account.name, Text: "Tools of the server " + s.account.server + " are to be called in your name. Fairlead keeps what you give it for that server alone.",
			Link: s.address, At: s.issuer(),
		})
	}
}

// callback takes what an authorization server sends back by the user's browser.
func (k *Keeper) callback(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s, status, err := k.take(q.Get("state"), k.user(r), r)
	if err != nil {
		k.log.WarnContext(r.Context(), "credentials: a callback was refused", slog.Any("why", err))
		show(w, status, view{Title: "Not signed in", Text: err.Error()})
		return
	}
	answer := &auth.AuthorizationResult{State: q.Get("state"), Iss: q.Get("iss")}
	if q.Get("error") == "" {
		answer.Code = q.Get("code")
	}
	s.answer <- answer // it has a place, and this is the only one
	ctx, cancel := context.WithTimeout(r.Context(), 2*patience)
	defer cancel()
	if err := s.wait(ctx); err != nil {
		show(w, http.StatusBadGateway, view{Title: "Not signed in", Text: err.Error()})
		return
	}
	show(w, http.StatusOK, view{Title: "Signed in for " + s.account.name, Text: "You can close this page."})
}

// A view is a page.
type view struct{ Title, Text, Link, At string }

func show(w http.ResponseWriter, status int, v view) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(cmp.Or(status, http.StatusOK))
	_ = views.Execute(w, v) // a browser that has gone gets nothing
}

var views = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:38rem;margin:3rem auto;padding:0 1rem;overflow-wrap:anywhere}</style>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
{{if .Link}}<p><a href="{{.Link}}" rel="noreferrer">Continue to {{.At}}</a></p>
{{end}}</html>
`))
