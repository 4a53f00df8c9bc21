package audit

import (
	"context"
	"encoding/json"
	"time"
)

// A Sink keeps records. It is safe for concurrent use. A call waits for it no longer than
// Options.Timeout, and a write that takes longer keeps its goroutine until it returns.
type Sink interface {
	// Write returns nil once the record is kept, and where the record is Durable only
	// once it outlives a loss of power. The context of an outcome is not cancelled
	// with its call.
	Write(ctx context.Context, r Record) error
}

// A SinkFunc is a function that keeps records.
type SinkFunc func(ctx context.Context, r Record) error

// Write calls f.
func (f SinkFunc) Write(ctx context.Context, r Record) error { return f(ctx, r) }

// A Kind says what a record is about.
type Kind string

// The kinds of records.
const (
	Intent    Kind = "intent"    // a call is about to be made
	End       Kind = "end"       // what came of it; one for each call
	Recovered Kind = "recovered" // what a file's last writer left behind was mended
)

// An Outcome is what came of a call.
type Outcome string

// The outcomes.
const (
	OK            Outcome = "ok"             // there is a result
	ToolError     Outcome = "tool_error"     // there is one, and the tool says that it failed
	InputRequired Outcome = "input_required" // the server asks for something first
	Denied        Outcome = "denied"         // a person said no, or nobody said yes
	Refused       Outcome = "refused"        // a link of the chain or the server turned it away, and it did not happen
	NotSent       Outcome = "not_sent"       // it did not leave
	Cancelled     Outcome = "cancelled"      // the caller gave up
	TimedOut      Outcome = "timed_out"      // a time limit ended it
	Panicked      Outcome = "panicked"       // something in the chain or the executor did
	Failed        Outcome = "failed"         // any other error
	Unknown       Outcome = "unknown"        // it left, it matters, and nobody knows whether it happened
)

var outcomes = [...]Outcome{OK, ToolError, InputRequired, Denied, Refused, NotSent, Cancelled, TimedOut, Panicked, Failed, Unknown}

// A Record is one line of a trail. Run and N name the call: an intent and an end
// with the same two belong together. What is empty was not recorded at this tool's
// level, or did not happen.
type Record struct {
	Time time.Time `json:"time"` // when it was made; in UTC in a file
	Kind Kind      `json:"kind"`
	Run  string    `json:"run,omitempty"` // one Trail of one process
	N    int64     `json:"n,omitempty"`   // the call's number in it

	Call   string `json:"call,omitempty"`  // Call.ID, as the host gave it
	Scope  string `json:"scope,omitempty"` // as the host gave it
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`  // its name on that server
	Class  string `json:"class,omitempty"` // "safe", "moderate", "dangerous" or "unknown"

	Outcome  Outcome       `json:"outcome,omitempty"`   // of an end
	Took     time.Duration `json:"took_ns,omitempty"`   // of an end, from the trail's Record on
	Waited   time.Duration `json:"waited_ns,omitempty"` // of that, for people
	From     string        `json:"from,omitempty"`      // "cache" or "server", of a result
	Approval string        `json:"approval,omitempty"`  // the question that a person said yes to
	Attempts int           `json:"attempts,omitempty"`  // how often retry handed the call on; 0 without a retry
	// Decisions are what the stages decided about the call, in order; why only in full, and for a hit of the cache.
	Decisions []Decision `json:"decisions,omitempty"`

	// Definition is the digest of the tool's definition and Evidence why it has its
	// class: of Dangerous and Unknown tools, and in full, in the first record of a call.
	Definition string   `json:"definition,omitempty"`
	Evidence   []string `json:"evidence,omitempty"`

	// In full, without secrets. What was too long stands as its size. The digests are
	// those of [Digest], with Options.Key.
	Arguments       json.RawMessage `json:"arguments,omitempty"`
	ArgumentsDigest string          `json:"arguments_digest,omitempty"`
	Result          json.RawMessage `json:"result,omitempty"`
	ResultDigest    string          `json:"result_digest,omitempty"`
	Error           string          `json:"error,omitempty"`

	// Durable says that Write returns only once the record outlives a loss of power.
	Durable bool `json:"-"`
}

// A Decision is what one middleware decided about the call.
type Decision struct {
	Stage string `json:"stage"`
	What  string `json:"what"`
	Why   string `json:"why,omitempty"`
}
