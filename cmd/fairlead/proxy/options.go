package proxy

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/cmd/fairlead/health"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tail"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry/doubt"
)

// A Server is behind the proxy: a URL, a command that speaks MCP on its standard streams, or a stream of this process.
// One of URL, Command and Open is set.
type Server struct {
	Name    string            // in the policy, the record, and with several servers before the names of tools
	URL     string            // of streamable HTTP
	Header  map[string]string // of each request to the URL
	Command []string          // with its arguments
	Env     []string          // beside the proxy's own, "NAME=value"
	Dir     string            // "" is the proxy's own
	Stderr  *tail.Tail        // set by [New], for errors

	// Offers reports whether clients may have a tool, by its name on the server; nil offers all.
	Offers func(tool string) bool
	// Open returns a new connection to a server in this process; nil means a URL or a command.
	Open func() (io.ReadWriteCloser, error)
	// RoundTripper sends the requests to the URL; nil means a pool of connections.
	RoundTripper http.RoundTripper
}

// open opens a link to the server.
func (s Server) open(log *slog.Logger, to sink) (link, error) {
	switch {
	case s.URL != "":
		return newRemote(s, log, to), nil
	case s.Open != nil:
		return openStream(s, log, to)
	}
	return startChild(s, log, to)
}

// Options are the settings of [New].
type Options struct {
	// Servers are those behind the proxy, at least one.
	Servers []Server
	// Policy is what a person has decided, asked again for every call; nil decides nothing.
	Policy func() *policy.Policy
	// Confirm asks a person; nil denies what needs one.
	Confirm hitl.Confirmer
	// Waits returns where a person finds the question of a call that has ended, such as "on the approvals
	// page", and "" for a call that waits until its question ends. Nil means that all wait.
	Waits func(ctx context.Context) string
	// Share changes the options of middlewares before they are made, for what replicas share; nil changes nothing.
	Share func(*cache.Options, *ratelimit.Options, *hitl.Options)
	// Audit gets a record of each call; nil records nothing.
	Audit audit.Sink
	// Sessions keeps what replicas behind one load balancer share of their clients' sessions, so that each can go on with
	// any; nil means that a session is at this process alone.
	Sessions Sessions
	// Doubt keeps the calls that may have happened; nil means a ledger in memory.
	Doubt *doubt.Ledger
	// Writes announces writes to the user's other processes, and theirs to this one; nil means that it is alone.
	Writes *Writes
	// Undoable gets each call that was made and can be taken back by another one, and how, see
	// hitl.Options.OnUndoable; nil gets none.
	Undoable func(call middleware.Call, by hitl.Undo, takeBack Returning)
	// Telemetry measures calls; nil measures nothing.
	Telemetry Telemetry
	// Lock pins the tools' definitions; nil takes what is listed.
	Lock *pins.Lock
	// Trust lets the declarations of all servers lower a class; by default they only raise it.
	Trust bool
	// NoKnown leaves out the classes of public servers in package catalog/known.
	NoKnown bool
	// ReadOnly shows the tools alone that have a Safe call, and refuses all other calls.
	ReadOnly bool
	// Annotate lists the tools with the hints that count here, and beside them what their servers declared;
	// the default passes definitions on as they were written.
	Annotate bool
	// Observe sends each call once and as it came, without a question, and records what would have been done. What
	// the policy denies stays denied.
	Observe bool
	// Scopes are what the clients may do; nil with the policy's unset means everything.
	Scopes []catalog.Scope
	// Access lets clients of other machines in; nil takes those of this machine alone.
	Access *access.Access
	// Page is the page of approvals, which Access serves below /approvals/; nil serves no page.
	Page http.Handler
	// Health keeps which dependencies are there; nil means one with the servers alone.
	Health *health.Monitor
	// Credentials returns what sends a caller's requests to a server's URL with the user's own credential; nil sends them as
	// they are. It is not called for a server with a RoundTripper.
	Credentials func(caller access.Caller, s Server) (http.RoundTripper, error)
	// SignIn is the page where users sign in at servers, which Access serves below /credentials/; nil serves none.
	SignIn http.Handler
	// Drain is how long calls that a server has may take to end once the proxy is to stop; 0 means none.
	Drain time.Duration
	// InFlight is how many bytes of what servers have sent are held at once, until clients have them; 0 means a quarter of
	// Go's memory limit (GOMEMLIMIT), or 512 MB without one. It is at least 80 MB, since one message may have 64 MB.
	InFlight int64
	// Stderr gets what the servers' processes write there; nil is os.Stderr.
	Stderr io.Writer
	// Logger gets the proxy's log; nil is silent.
	Logger *slog.Logger
}

// A Telemetry measures calls, attempts, and waits for a person, as contrib/otel does. Its methods return what measures
// what they are given, and are safe for concurrent use.
type Telemetry interface {
	Call(next middleware.ToolCaller) middleware.ToolCaller
	Attempt(next middleware.ToolCaller) middleware.ToolCaller
	Confirmer(next hitl.Confirmer) hitl.Confirmer
}
