package inbox

import (
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Doors are the ways in: links that work once, and the sessions that they began.
// Of secrets they hold hashes, so that the time of a look-up reveals nothing.
type doors struct {
	cookie string // its name; each inbox has its own, since ports share cookies
	guess  *rate.Limiter
	user   func(*http.Request) (string, bool)

	mu       sync.Mutex
	links    map[secret]link
	sessions map[secret]*session
	users    map[string]*session // that the host has named
}

type secret [sha256.Size]byte

func hash(text string) secret { return sha256.Sum256([]byte(text)) }

type link struct {
	by    string
	until time.Time
}

// A session is one browser that came in by a link, or a user.
type session struct {
	by    string
	until time.Time
	guess *rate.Limiter // of questions
}

func newDoors(user func(*http.Request) (string, bool)) doors {
	return doors{
		cookie: "fairlead_" + strings.ToLower(rand.Text()[:8]), guess: attempts(), user: user,
		links: make(map[secret]link), sessions: make(map[secret]*session), users: make(map[string]*session),
	}
}

// Link returns the address of the page with a token that lets one browser in, once, within an
// hour. Show it only to the person who is to decide: it admits for 12 hours. Origin is where the
// page is served, such as "http://127.0.0.1:8080"; by names the person, "" for none.
func (in *Inbox) Link(origin, by string) string {
	token := rand.Text()
	now := time.Now()
	d := &in.doors
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.links, func(_ secret, l link) bool { return !now.Before(l.until) })
	d.links[hash(token)] = link{by, now.Add(linkLifetime)}
	return strings.TrimSuffix(origin, "/") + in.o.Path + "?token=" + url.QueryEscape(token)
}

// enter takes a token, once, and begins a session. Each wrong one costs a guess.
func (d *doors) enter(token string) (id string, err error) {
	now := time.Now()
	if d.guess.Tokens() < 1 {
		return "", errHurry
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.links[hash(token)]
	if !ok || !now.Before(l.until) {
		d.guess.Allow()
		return "", errLink
	}
	delete(d.links, hash(token))
	maps.DeleteFunc(d.sessions, func(_ secret, s *session) bool { return !now.Before(s.until) })
	id = rand.Text()
	d.sessions[hash(id)] = &session{by: l.by, until: now.Add(sessionLifetime), guess: attempts()}
	return id, nil
}

// session returns the session of a request, by its cookie or by the user whom the host has authenticated.
func (d *doors) session(r *http.Request) (*session, error) {
	c, err := r.Cookie(d.cookie)
	if err != nil && d.user != nil {
		return d.known(d.user(r))
	}
	if err != nil {
		return nil, errNobody
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sessions[hash(c.Value)]
	if s == nil || !time.Now().Before(s.until) {
		return nil, errNobody
	}
	return s, nil
}

func (d *doors) known(user string, may bool) (*session, error) {
	if !may || user == "" {
		return nil, errStranger
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users[user] == nil {
		d.users[user] = &session{by: user, guess: attempts()}
	}
	return d.users[user], nil
}

// setCookie is strict: no other site's page can make a browser send it.
func (in *Inbox) setCookie(w http.ResponseWriter, r *http.Request, id string) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // loopback has no TLS, and a server with TLS gets a Secure cookie
		Name: in.doors.cookie, Value: id, Path: in.o.Path, MaxAge: int(sessionLifetime / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
}
