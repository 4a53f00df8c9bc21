// Package inbox asks people on a web page: what waits, why it is dangerous, and buttons for yes and no. It is a
// [hitl.Confirmer] for the chain and an [http.Handler] for the host's own server, made for loopback.
//
// A person comes in by a link that works once, or as one whom the host's server has authenticated and [Options.User]
// names. There is no other way in, and so none for the model or the tool that asks.
package inbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// Options are the settings of [New]. The zero value is ready.
type Options struct {
	// Path is where the page is, as a browser sees it; "" means "/approvals/". It begins and ends with a slash.
	Path string
	// Hosts are the names, without ports, by which the page may be reached. Nil means localhost, 127.0.0.1 and
	// ::1; any other is refused, since a name that leads here may be somebody else's (DNS rebinding).
	Hosts []string
	// MaxPending is how many questions may wait at once; 0 means 1000. The one after that is denied.
	MaxPending int
	// OwnCalls lets a person approve calls whose scope is that person's own name. The
	// default is that somebody else has to.
	OwnCalls bool
	// User returns the name of the person who sent a request that the host's server has authenticated, and whether
	// that person may decide. It lets people in at every replica, without a link. Nil leaves the links.
	User func(*http.Request) (name string, ok bool)
	// Board has the questions that the page of any replica shows; nil means that this process
	// shows only its own. Links and sessions are one replica's in any case.
	Board approvals.Board
	// Store is the hitl.Options.Store of the chain, whose remembered approvals the page shows, each with a button
	// that takes it back; nil means that it shows none.
	Store approvals.Store
	// Logger gets a line for each decision and for each request that was refused; nil is silent.
	Logger *slog.Logger
}

// Limits of one inbox.
const (
	maxHistory   = 200 // decided questions that the page shows
	maxNameShown = 300 // bytes of a tool's name
	maxPast      = 300 // bytes of arguments in the history
	maxKept      = 200 // remembered approvals that the page shows

	maxBody   = 16 << 20 // of a request; arguments of 4 MiB, percent-encoded
	maxReason = 4096     // bytes
	slowBody  = 10 * time.Second

	sessionLifetime = 12 * time.Hour
	linkLifetime    = time.Hour
)

// An Inbox holds the questions that wait for a person. Make one with [New].
type Inbox struct {
	o      Options // with the defaults
	hosts  map[string]bool
	mux    http.Handler
	doors  doors
	shared bool // the board, with other replicas

	mu      sync.Mutex
	pending []*question          // oldest first
	waiting map[string]*question // the same by ID
	past    map[string]*record
	history []*record       // newest last
	version int             // counts the changes
	odd     map[string]bool // what hangs on the board and cannot be shown here
	blind   bool            // the board did not answer
}

var _ hitl.Confirmer = (*Inbox)(nil)

// New returns an empty inbox. Give it to [hitl.New] as the confirmer, with a Timeout that leaves people time to
// look, and serve it: by [Inbox.ListenAndServe], or as a handler for Options.Path. It panics on a path without
// a slash at both ends, an empty host and a negative number.
func New(o Options) *Inbox {
	o.Path = cmp.Or(o.Path, "/approvals/")
	if !strings.HasPrefix(o.Path, "/") || !strings.HasSuffix(o.Path, "/") || strings.ContainsAny(o.Path, "{}?# ;,\"\\") {
		panic(fmt.Sprintf("inbox: Options.Path %q does not begin and end with a slash, or is no plain path", o.Path))
	}
	if o.MaxPending < 0 {
		panic("inbox: Options.MaxPending is negative")
	}
	if o.Hosts == nil {
		o.Hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	in := &Inbox{
		hosts: make(map[string]bool), doors: newDoors(o.User), shared: o.Board != nil,
		waiting: make(map[string]*question), past: make(map[string]*record), odd: make(map[string]bool),
	}
	o.MaxPending = cmp.Or(o.MaxPending, 1000)
	o.Board = cmp.Or[approvals.Board](o.Board, approvals.NewBoard())
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	in.o = o
	for _, host := range o.Hosts {
		if host == "" {
			panic("inbox: one of Options.Hosts is empty")
		}
		in.hosts[strings.ToLower(strings.Trim(host, "[]"))] = true
	}
	in.mux = in.routes()
	return in
}

func (in *Inbox) hostAllowed(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return in.hosts[strings.ToLower(strings.Trim(host, "[]"))]
}

// attempts bounds how fast somebody may guess: twenty at once, then one a second.
func attempts() *rate.Limiter { return rate.NewLimiter(1, 20) }

// ListenAndServe serves the page on a loopback address, such as "127.0.0.1:0", until ctx is
// done, and returns nil then. It first calls ready with the origin, such as
// "http://127.0.0.1:41234", for [Inbox.Link]. Any other address is an error.
func (in *Inbox) ListenAndServe(ctx context.Context, address string, ready func(origin string)) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("inbox: the address %q: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("inbox: %s is not loopback; mount the inbox in a server of your own, with TLS and Options.Hosts", address)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	ready("http://" + listener.Addr().String())
	return in.serve(ctx, listener)
}

func (in *Inbox) serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           in,
		ReadHeaderTimeout: slowBody,
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(in.o.Logger.Handler(), slog.LevelWarn),
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), slowBody)
		defer cancel()
		if server.Shutdown(within) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(listener)
	if !stop() {
		<-closed
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("inbox: %w", err)
}

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

type question struct {
	ctx     context.Context
	request hitl.Request
	digest  string    // of all that is shown; a decision has to name it
	remote  bool      // another replica's
	hung    time.Time // when a look at the board brought it, where it is
}

type record struct {
	past

	digest string
	late   bool // without a decision
}

// Confirm puts the request on the page and waits for a decision or the end of ctx. A full
// inbox, and an ID that is empty or was used before, is an error, and so a denial.
func (in *Inbox) Confirm(ctx context.Context, request hitl.Request) (hitl.Decision, error) {
	q, err := in.add(ctx, request)
	if err != nil {
		return hitl.Decision{}, err
	}
	d, err := in.askBoard(ctx, q)
	if err != nil {
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
			<-ctx.Done() // its timer may not have run yet
		}
		err = cmp.Or(context.Cause(ctx), err)
		in.expire(q)
		return hitl.Decision{}, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.waiting[q.request.ID] == q { // decided at another replica, or right now
		in.decided(ctx, q, d)
	}
	return d, nil
}

func (in *Inbox) add(ctx context.Context, request hitl.Request) (*question, error) {
	if request.Tool == nil || request.Tool.Definition == nil || request.ID == "" {
		return nil, errors.New("inbox: a request without a tool or an ID cannot be shown")
	}
	if deadline, ok := ctx.Deadline(); ok && (request.Deadline.IsZero() || deadline.Before(request.Deadline)) {
		request.Deadline = deadline
	}
	q := &question{ctx: ctx, request: request, digest: request.Digest()}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.waiting[request.ID] != nil || in.past[request.ID] != nil:
		return nil, fmt.Errorf("inbox: a question with the ID %.40q is known already; IDs must not be used twice", request.ID)
	case len(in.waiting) >= in.o.MaxPending:
		return nil, fmt.Errorf("inbox: %d questions already wait for an answer", len(in.waiting))
	}
	in.waiting[request.ID] = q // in.pending once the board has it
	return q, nil
}

const silent = "denied: nobody answered in time"

func (in *Inbox) expire(q *question) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.waiting[q.request.ID] != q {
		return
	}
	what := silent
	if errors.Is(context.Cause(q.ctx), context.Canceled) {
		what = "given up by the caller, or answered elsewhere"
	}
	in.end(q, record{past: past{What: what}, late: true})
}

// end moves a question to the history. The caller holds the lock.
func (in *Inbox) end(q *question, r record) {
	r.ID, r.digest = q.request.ID, q.digest
	r.Tool = safetext.Cut(safetext.Line(q.request.Tool.String()), maxNameShown)
	r.Arguments = brief(q.request.Arguments)
	delete(in.waiting, r.ID)
	in.pending = slices.DeleteFunc(in.pending, func(p *question) bool { return p == q })
	in.keep(r)
}

// keep adds to the history. The caller holds the lock.
func (in *Inbox) keep(r record) {
	r.At, r.By, r.Reason = time.Now(), safetext.Cut(safetext.Line(r.By), maxNameShown), safetext.Text(r.Reason)
	in.past[r.ID] = &r
	if in.history = append(in.history, &r); len(in.history) > maxHistory {
		delete(in.past, in.history[0].ID)
		in.history = slices.Delete(in.history, 0, 1)
	}
	in.version++
}

type answer struct {
	decision hitl.Decision
	digest   string // that was shown
}

// decide gives a question its answer, the first and only one, for the replica that waits
// for it. A refusal leaves it as it was.
func (in *Inbox) decide(ctx context.Context, id string, a answer, s *session) error {
	a.decision.By = s.by
	q, err := in.mayDecide(id, a, s)
	if err != nil {
		return err
	}
	return in.answerOnBoard(ctx, q, a.decision)
}

func (in *Inbox) mayDecide(id string, a answer, s *session) (*question, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	q, over := in.waiting[id], in.past[id]
	switch {
	case over != nil:
		return nil, over.refuses(a.digest)
	case q == nil:
		return nil, errUnknown
	case q.digest != a.digest:
		return nil, errOther
	case q.late():
		return nil, errLate
	case a.decision.Verdict == hitl.Approved && !in.mayApprove(s, q):
		return nil, errOwn
	}
	return q, nil
}

// mayApprove reports whether the call is another person's, or people may approve their own.
func (in *Inbox) mayApprove(s *session, q *question) bool {
	return in.o.OwnCalls || s.by == "" || !safetext.SameName(s.by, q.request.Scope)
}

// decided moves a question with its answer to the history. The caller holds the lock.
func (in *Inbox) decided(ctx context.Context, q *question, d hitl.Decision) {
	r := record{past: past{What: "denied", By: d.By, Reason: d.Reason}}
	if d.Verdict == hitl.Approved {
		if r.What = "approved"; d.Arguments != nil {
			r.What = "approved as edited"
		}
	}
	in.end(q, r)
	in.o.Logger.LogAttrs(ctx, slog.LevelInfo, "inbox: decided", slog.String("id", q.request.ID), slog.String("tool", q.request.Tool.String()),
		slog.String("outcome", r.What), slog.String("by", r.By))
}

func (q *question) late() bool {
	return q.ctx.Err() != nil || !q.request.Deadline.IsZero() && !time.Now().Before(q.request.Deadline)
}

func (r *record) refuses(digest string) error {
	switch {
	case r.digest != digest:
		return errOther
	case r.late:
		return errLate
	}
	by := ""
	if r.By != "" {
		by = " by " + r.By
	}
	return refuse(http.StatusConflict, "This was decided already: %s%s. It stays so.", r.What, by)
}

// edited returns the arguments of an edit: nil where they say what was asked, in another spelling maybe.
func (q *question) edited(text string) (json.RawMessage, error) {
	form, err := canonical.AppendObject(nil, []byte(text))
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace([]byte(text))) == 0 {
		return nil, errors.New("empty; write {} for none")
	}
	asked, err := canonical.AppendObject(nil, q.request.Arguments)
	if err == nil && bytes.Equal(form, asked) {
		return nil, nil
	}
	return json.RawMessage(text), nil
}

// together is the query by which the page of its tool shows the question beside others.
func (q *question) together() string {
	return "?" + url.Values{"server": {q.request.Tool.Server}, "tool": {q.request.Tool.Name()}}.Encode()
}

func (in *Inbox) find(id string) (*question, *record) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.waiting[id], in.past[id]
}

// Waiting returns the requests that wait for a person, oldest first.
func (in *Inbox) Waiting() []hitl.Request {
	in.mu.Lock()
	defer in.mu.Unlock()
	var all []hitl.Request
	for _, q := range in.pending {
		all = append(all, q.request)
	}
	return all
}

// lastLook is how long the board has for an answer that was given just before the end.
const lastLook = time.Second

var (
	errElsewhere = refuse(http.StatusConflict, "This was decided already, at another replica, or is over. It stays so.")
	errBoard     = refuse(http.StatusServiceUnavailable, "What the replicas share does not answer, so nothing was decided. Try again; silence is a no.")
)

// A sheet is a question as other replicas read it. The request is without its tool and the
// bytes that are sent, which are beside it as they are.
type sheet struct {
	Version    int             `json:"v"`
	Digest     string          `json:"digest"` // of the request; a replica that cannot show exactly that shows nothing
	Request    hitl.Request    `json:"request"`
	Arguments  []byte          `json:"arguments"`
	Extra      []byte          `json:"extra,omitempty"`
	Server     string          `json:"server"`
	Definition json.RawMessage `json:"definition"`
	Known      []byte          `json:"known"`               // gob: JSON would leave out where it is known from
	NeverRate  bool            `json:"neverRate,omitempty"` // a limit of 0, and a cost, which gob takes for none
	FreeCost   bool            `json:"freeCost,omitempty"`
}

// A reply is a decision as the replica that asked reads it.
type reply struct {
	Version  int           `json:"v"`
	Digest   string        `json:"digest"` // of what was shown
	Decision hitl.Decision `json:"decision"`
	// Arguments are the decision's, nil where nobody edited them: null would be some.
	Arguments []byte `json:"arguments,omitempty"`
}

const sheetVersion = 3

func (q *question) sheet() ([]byte, error) {
	r := q.request
	definition, err := json.Marshal(r.Tool.Definition)
	if err != nil {
		return nil, fmt.Errorf("inbox: the definition of %s: %w", r.Tool, err)
	}
	known := r.Tool.Annotations
	s := sheet{
		Version: sheetVersion, Digest: q.digest, Request: r, Arguments: r.Arguments, Extra: r.Extra, Server: r.Tool.Server, Definition: definition,
		NeverRate: known.RateLimitHint != nil && *known.RateLimitHint == 0, FreeCost: known.CostHint != nil && *known.CostHint == 0,
	}
	s.Request.Tool, s.Request.Arguments, s.Request.Extra = nil, nil, nil
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(known); err != nil {
		return nil, fmt.Errorf("inbox: what is known of %s: %w", r.Tool, err)
	}
	s.Known = b.Bytes()
	return json.Marshal(s) //nolint:musttag // the names are the fields'; nobody else reads it
}

func readSheet(n approvals.Notice) (*question, error) {
	var s sheet
	definition := new(mcp.Tool)
	var known annotation.Annotations
	err := json.Unmarshal(n.Question, &s) //nolint:musttag // as it is written
	if err == nil && s.Version != sheetVersion {
		return nil, fmt.Errorf("inbox: a question of another replica has version %d, and this one reads %d", s.Version, sheetVersion)
	}
	if err == nil {
		err = errors.Join(json.Unmarshal(s.Definition, definition), gob.NewDecoder(bytes.NewReader(s.Known)).Decode(&known))
	}
	if err != nil {
		return nil, fmt.Errorf("inbox: a question of another replica: %w", err)
	}
	if s.NeverRate {
		known.RateLimitHint = new(float64)
	}
	if s.FreeCost {
		known.CostHint = new(float64)
	}
	tool, err := middleware.NewTool(s.Server, definition, known)
	if err != nil {
		return nil, fmt.Errorf("inbox: a question of another replica: %w", err)
	}
	q := &question{ctx: context.Background(), remote: true, request: s.Request}
	q.request.ID, q.request.Deadline, q.request.Tool = n.ID, n.Until, tool
	q.request.Arguments, q.request.Extra = s.Arguments, s.Extra
	if q.digest = q.request.Digest(); q.digest != s.Digest {
		return nil, errors.New("inbox: a question of another replica cannot be shown here as it was asked; are these two of one version?")
	}
	return q, nil
}

// askBoard hangs the question up for all replicas and waits for the first answer, here or elsewhere.
func (in *Inbox) askBoard(ctx context.Context, q *question) (hitl.Decision, error) {
	form, err := q.sheet()
	if err != nil {
		return hitl.Decision{}, err
	}
	id, until := q.request.ID, q.request.Deadline
	if until.IsZero() {
		until = time.Now().Add(sessionLifetime) // while somebody waits
	}
	if err = in.o.Board.Post(ctx, approvals.Notice{ID: id, Until: until, Question: form}); err != nil {
		return hitl.Decision{}, fmt.Errorf("inbox: the question could not be hung up: %w", err)
	}
	in.mu.Lock()
	if in.waiting[id] == q {
		in.pending = append(in.pending, q)
		in.version++
	}
	in.mu.Unlock()
	given, err := in.o.Board.Wait(ctx, id)
	if err != nil {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
		defer cancel()
		_ = in.o.Board.TakeDown(within, id) // its time will be over, in any case
		var none error
		if given, none = in.o.Board.Wait(within, id); none != nil { // somebody may have decided just before
			return hitl.Decision{}, fmt.Errorf("inbox: no answer: %w", err)
		}
	}
	var a reply
	switch err := json.Unmarshal(given, &a); { //nolint:musttag // as it is written
	case err != nil:
		return hitl.Decision{}, fmt.Errorf("inbox: an answer that cannot be read: %w", err)
	case a.Version != sheetVersion:
		return hitl.Decision{}, fmt.Errorf("inbox: an answer of version %d, and this replica reads %d", a.Version, sheetVersion)
	case a.Digest != q.digest:
		return hitl.Decision{}, errors.New("inbox: an answer to something else than was asked")
	}
	a.Decision.Arguments = a.Arguments
	return a.Decision, nil
}

// answerOnBoard gives the answer to whichever replica waits for it. The caller does not hold the lock.
func (in *Inbox) answerOnBoard(ctx context.Context, q *question, d hitl.Decision) error {
	form, err := json.Marshal(reply{sheetVersion, q.digest, d, d.Arguments}) //nolint:musttag // as it is read
	if err != nil {
		return errBoard
	}
	err = in.o.Board.Answer(ctx, q.request.ID, form)
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case errors.Is(err, approvals.ErrNoEffect):
		if in.waiting[q.request.ID] == q && q.remote {
			in.end(q, record{past: past{What: "over"}, late: true})
		}
		return errElsewhere
	case err != nil:
		in.o.Logger.LogAttrs(ctx, slog.LevelError, "inbox: an answer could not be given", slog.String("id", q.request.ID), slog.Any("err", err))
		return errBoard
	}
	if in.waiting[q.request.ID] == q {
		in.decided(ctx, q, d)
	}
	return nil
}

// look brings what other replicas ask onto this page, and takes off what is over.
func (in *Inbox) look(ctx context.Context) {
	if !in.shared {
		return
	}
	began := time.Now()
	notices, err := in.o.Board.Open(ctx)
	in.mu.Lock()
	defer in.mu.Unlock()
	if failed := err != nil && ctx.Err() == nil; failed != in.blind {
		in.blind = failed
		in.o.Logger.LogAttrs(ctx, slog.LevelWarn, "inbox: questions of other replicas are shown", slog.Bool("shown", !failed), slog.Any("err", err))
	}
	if err != nil {
		return
	}
	hanging := make(map[string]bool, len(notices))
	for _, n := range notices {
		hanging[n.ID] = true
		if in.waiting[n.ID] != nil || in.past[n.ID] != nil || in.odd[n.ID] || len(in.waiting) >= in.o.MaxPending {
			continue
		}
		q, err := readSheet(n)
		if err != nil {
			in.odd[n.ID] = true
			in.o.Logger.LogAttrs(ctx, slog.LevelWarn, "inbox: a question of another replica is not shown", slog.String("id", n.ID), slog.Any("err", err))
			continue
		}
		q.hung = time.Now()
		in.pending = append(in.pending, q)
		in.waiting[n.ID] = q
		in.version++
	}
	maps.DeleteFunc(in.odd, func(id string, _ bool) bool { return !hanging[id] })
	for _, q := range slices.Clone(in.pending) {
		if q.remote && !hanging[q.request.ID] && q.hung.Before(began) { // a look that was overtaken does not have later ones
			what := "decided at another replica, or given up"
			if q.late() {
				what = silent
			}
			in.end(q, record{past: past{What: what}, late: true})
		}
	}
}
