package audit

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
)

// A Kind is the kind of a record.
type Kind string

// The kinds of records.
const (
	Intent    Kind = "intent"    // a call is about to be made
	End       Kind = "end"       // it has ended; one for each call
	Recovered Kind = "recovered" // the damage of an interrupted writer was repaired
	Continued Kind = "continued" // the record goes on in this file after an earlier one
)

// An Outcome is how a call ended.
type Outcome string

// The outcomes.
const (
	OK            Outcome = "ok"             // there is a result
	ToolError     Outcome = "tool_error"     // the result reports a failure
	InputRequired Outcome = "input_required" // the server asks for input first
	Denied        Outcome = "denied"         // a person denied it, or did not answer
	Refused       Outcome = "refused"        // a middleware or the server refused it, and it did not happen
	NotSent       Outcome = "not_sent"       // it did not leave
	Cancelled     Outcome = "cancelled"      // the caller gave up
	TimedOut      Outcome = "timed_out"      // a time limit ended it
	Panicked      Outcome = "panicked"       // something in the chain or the executor did
	Failed        Outcome = "failed"         // any other error
	Unknown       Outcome = "unknown"        // it left, it is not safe, and may or may not have happened
)

var outcomes = [...]Outcome{OK, ToolError, InputRequired, Denied, Refused, NotSent, Cancelled, TimedOut, Panicked, Failed, Unknown}

// A Record is one line of a trail. Run and N name the call: an intent and an end with the same two belong
// together. An empty field was not recorded at this tool's level, or does not apply.
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
	Waited   time.Duration `json:"waited_ns,omitempty"` // of that, for a person
	From     string        `json:"from,omitempty"`      // "cache" or "server", of a result
	Approval string        `json:"approval,omitempty"`  // the question that a person approved
	By       string        `json:"by,omitempty"`        // the person that decided, as the confirmer reported
	Via      string        `json:"via,omitempty"`       // how the person was reached: "form", "page", "terminal", "policy", …
	Attempts int           `json:"attempts,omitempty"`  // how often retry handed the call on; 0 without a retry
	// Decisions are what the stages decided about the call, in order; why only in full, and for a hit of the cache.
	Decisions []Decision `json:"decisions,omitempty"`
	// Sources are where the arguments of a call that a person is asked about came from, if
	// package flow traced them: without their texts.
	Sources []Source `json:"sources,omitempty"`

	// Caller is who makes the call, as [Options].Caller has it: in the first record of the call that is written.
	Caller *Caller `json:"caller,omitempty"`
	// Client is what the client calls this call, its turn and its conversation in _meta, a JSON object: in the first
	// record of the call that is written.
	Client json.RawMessage `json:"client,omitempty"`

	// Definition is the digest of the tool's definition and Evidence why it has its
	// class: of Dangerous and Unknown tools, and in full, in the first record of a call.
	Definition string   `json:"definition,omitempty"`
	Evidence   []string `json:"evidence,omitempty"`

	// Without secrets; all but the arguments only in full. A text that is too long is replaced
	// by its size. The digests are those of [Digest], with Options.Key.
	Arguments       json.RawMessage `json:"arguments,omitempty"`
	ArgumentsDigest string          `json:"arguments_digest,omitempty"`
	Input           json.RawMessage `json:"input,omitempty"` // the responses of [middleware.Input], recorded with the arguments
	Result          json.RawMessage `json:"result,omitempty"`
	ResultDigest    string          `json:"result_digest,omitempty"`
	Error           string          `json:"error,omitempty"`

	// Undo is the call that takes this one back, if there is one and the arguments may be recorded; of a call that a
	// person was asked about.
	Undo *Undo `json:"undo,omitempty"`

	// Durable requires that Write returns only once the record outlives a loss of power.
	Durable bool `json:"-"`
}

// A Caller is who makes a call. Its texts are cut if they are too long.
type Caller struct {
	User   string `json:"user,omitempty"`   // the person, as the host has verified it
	Client string `json:"client,omitempty"` // the OAuth client that the person's token was given to
	// Actors act for the person by the token (act of RFC 8693): the one that made the call, then the one that it acts for,
	// and so on. The last one is the closest to the person.
	Actors []string `json:"actors,omitempty"`
	Agent  string   `json:"agent,omitempty"` // what the client calls itself, unverified
}

// An Undo is a call that takes another one back, as far as the names of their tools show.
type Undo struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // not there if anything was taken out of them
	// Without names the arguments that were taken out: they have the form of a secret, as a path with a long random name
	// does, or are too long.
	Without []string `json:"without,omitempty"`
}

// A Source is where one argument of the call came from, see [middleware.Source]. A record has neither its Value nor
// other texts of arguments and results.
type Source = middleware.Source

// references returns sources without the texts of arguments and results.
func references(sources []Source) []Source {
	out := slices.Clone(sources)
	for i := range out {
		out[i].Value, out[i].Around, out[i].Note = "", "", ""
	}
	return out
}

// A Decision is what one middleware decided about the call.
type Decision struct {
	Stage string `json:"stage"`
	What  string `json:"what"`
	Why   string `json:"why,omitempty"`
}
