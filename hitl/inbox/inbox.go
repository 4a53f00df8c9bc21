// Package inbox asks people on a web page: what waits, why it is dangerous, and buttons for yes and no. It is a
// [hitl.Confirmer] for the chain and an [http.Handler] for the host's own server, made for loopback.
//
// A person comes in by a link that works once, or as one whom the host's server has authenticated and [Options.User]
// names. There is no other way in, and so none for the model or the tool that asks.
package inbox

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
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

// An Inbox holds the questions that wait for a person. Make one with [New]. It is safe for concurrent use.
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
		panic(fmt.Sprintf("inbox: Options.Path %q does not begin and end with a slash, or has other characters than those of a plain path", o.Path))
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
