// Package middleware holds the contract of the chain: what a call is, what calls it, and what may wrap it.
// Every package of Fairlead imports this one and the annotations; this package imports none of the others.
package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A ToolCaller calls a tool.
//
// CallTool returns exactly one of result and error. A failure that the tool itself reported is a result with
// IsError set. The call, its Tool and its Arguments are only read; a result belongs to the caller once it is
// returned. CallTool returns soon after ctx is done, with an error that reports that. It is safe for concurrent use and
// leaves no goroutine behind.
//
// package middlewaretest checks these sentences.
type ToolCaller interface {
	CallTool(ctx context.Context, call Call) (*mcp.CallToolResult, error)
}

// A ToolCallerFunc is a function that calls a tool.
type ToolCallerFunc func(ctx context.Context, call Call) (*mcp.CallToolResult, error)

func (f ToolCallerFunc) CallTool(ctx context.Context, call Call) (*mcp.CallToolResult, error) {
	return f(ctx, call)
}

// A Middleware wraps a ToolCaller. It may answer by itself, refuse, change a copy of the call, or
// call next, more than once if that is harmless, but never after it has returned.
type Middleware func(next ToolCaller) ToolCaller

// A Call is one call of a tool on its way through the chain. It travels by value and costs no allocation;
// change the copy and pass it on.
type Call struct {
	// ID is one per call that the model asked for; all attempts share it. No rule rests on it.
	ID string
	// Scope names the tenant, user or session. Nothing is shared across scopes. The empty scope is one of its
	// own, for a single user.
	Scope string
	// Tool is shared and read-only: replace it, never write to it.
	Tool *Tool
	// Arguments is a JSON object, or nil for {}. The exact bytes that were approved are sent.
	Arguments json.RawMessage
	// Meta is sent as the request's _meta. Read-only.
	Meta mcp.Meta
	// Input is the second leg of an input_required exchange, nil for nearly every call.
	Input *Input
}

// Input answers what a server asked for in the middle of a call.
type Input struct {
	Responses mcp.InputResponseMap
	State     string // the server's requestState, opaque
}

// A Describer is a ToolCaller that describes itself.
type Describer interface {
	Describe() Description
}

// A Description is what a ToolCaller, or a whole chain, does. Package chain and the system prompt rely on it.
type Description struct {
	// Kind names the middleware: "hitl", "cache", "retry" and so on.
	Kind string
	// Next is the ToolCaller that it wraps; nil for a guard and an executor.
	Next ToolCaller
	// Will returns in a few words what it does with the calls of a tool, such as "ask first", or "". Nil
	// means nothing.
	Will func(tool *Tool) string

	Guards         bool // Dangerous and Unknown calls are refused without an approval
	Confirms       bool // a person is asked before Dangerous and Unknown calls
	ConfirmsWrites bool // and before every other write
	Caches         bool // repeated Safe calls may be answered from a cache
	Retries        bool // what is safe to repeat is repeated after a failure
	Limits         bool // calls are limited in rate
	Deadlines      bool // every attempt has a time limit
}

// An error reports facts about its call by these methods. A package reads them through the functions below and
// needs none of the types of others:
//
//	NotSent() bool              the call was certainly not sent
//	Refused() bool              the server rejected it before executing it
//	Permanent() bool            the same call would only fail again
//	RetryAfter() time.Duration  how long calling again is of no use
//	ForModel() string           what a model may read about it
//	InputRequired() (mcp.InputRequestMap, string)
//	                            what must be asked, and the state that comes back as [Call.Input]

// NotSent reports whether the call was certainly not sent. Whatever its class, it may be made again.
func NotSent(err error) bool {
	var e interface{ NotSent() bool }
	return errors.As(err, &e) && e.NotSent()
}

// Refused reports whether the server rejected the call before executing it, as with HTTP 429.
func Refused(err error) bool {
	var e interface{ Refused() bool }
	return errors.As(err, &e) && e.Refused()
}

// Permanent reports whether the same call would only fail again.
func Permanent(err error) bool {
	var e interface{ Permanent() bool }
	return errors.As(err, &e) && e.Permanent()
}

// RetryAfter returns how long calling again is of no use, and whether the error reports it.
func RetryAfter(err error) (time.Duration, bool) {
	var e interface{ RetryAfter() time.Duration }
	if !errors.As(err, &e) {
		return 0, false
	}
	d := e.RetryAfter()
	return d, d > 0
}

// ForModel returns what a model may read about the error: what happened and what the model can do now. It
// reveals nothing of the host (no paths, addresses, stacks or keys, and no text of another error). It is ""
// for an error with a text for the log alone.
func ForModel(err error) string {
	if e := interface{ ForModel() string }(nil); errors.As(err, &e) {
		return e.ForModel()
	}
	return ""
}

// A NotSentError marks the error of a call that was given up before it was sent.
type NotSentError struct{ Err error }

func (e *NotSentError) Error() string { return "middleware: the call was not sent: " + e.Err.Error() }

func (e *NotSentError) Unwrap() error { return e.Err }

// NotSent reports that the call was not sent.
func (e *NotSentError) NotSent() bool { return true }

// An OutcomeUnknownError reports that a call may have happened: it was sent, and no result came back.
type OutcomeUnknownError struct {
	Tool *Tool
	// Check is the instruction to the model: which effect to look for before it does anything else.
	Check string
	Err   error
}

// OutcomeUnknown returns err as the error of an attempt at call: an [*OutcomeUnknownError] if the call may have
// happened and repeating it is not harmless, and err itself otherwise.
func OutcomeUnknown(call Call, err error) error {
	if err == nil || call.Tool.Safety() == annotation.Safe || NotSent(err) || Refused(err) || Permanent(err) {
		return err
	}
	if _, ok := errors.AsType[*OutcomeUnknownError](err); ok {
		return err
	}
	return &OutcomeUnknownError{
		Tool: call.Tool,
		Check: fmt.Sprintf("%s may or may not have happened. Do not call it again now. Look first, with a tool that only reads, "+
			"whether what it was to change has changed, and tell the user if you cannot see it.", call.Tool.ModelName()),
		Err: err,
	}
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("middleware: the outcome of %s is unknown: %v", e.Tool, e.Err)
}

func (e *OutcomeUnknownError) ForModel() string { return e.Check }

func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// A Tool is one tool of one server. It is shared between calls and read-only: copy it to change it.
type Tool struct {
	// Server is the id that the host gave the server, never the server's own name or a replica's.
	Server string
	// Definition is the tool as the server sent it, a private copy.
	Definition *mcp.Tool
	// Annotations are the effective ones: inferred, declared and set by the host.
	Annotations annotation.Annotations
	// Digest is over the whole definition, declared annotations included; zero if it was not computed.
	Digest Digest
}

// A Digest identifies a tool's definition.
type Digest [sha256.Size]byte

// String returns the digest as lower-case hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// NewTool returns a tool with its digest and a private copy of the definition, which must be valid JSON.
func NewTool(server string, definition *mcp.Tool, a annotation.Annotations) (*Tool, error) {
	buf := forms.Get().(*[]byte)
	defer forms.Put(buf)
	form, err := canonical.AppendTool((*buf)[:0], definition)
	private := new(mcp.Tool)
	if err == nil {
		err = json.Unmarshal(form, private)
	}
	if err != nil {
		return nil, fmt.Errorf("middleware: the definition of %s/%s: %w", server, definition.Name, err)
	}
	if cap(form) <= maxPooled {
		*buf = form
	}
	return &Tool{Server: server, Definition: private, Annotations: a, Digest: sha256.Sum256(form)}, nil
}

var forms = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 256 << 10

// Name returns the name that the server gave the tool, "" for no tool.
func (t *Tool) Name() string {
	if t == nil || t.Definition == nil {
		return ""
	}
	return t.Definition.Name
}

// String returns "server/tool", as rules, files and logs write it.
func (t *Tool) String() string {
	if t == nil {
		return "no tool"
	}
	return t.Server + "/" + t.Name()
}

// Safety returns the class, Unknown for no tool.
func (t *Tool) Safety() annotation.Safety {
	if t == nil {
		return annotation.Unknown
	}
	a := &t.Annotations // Annotations.Safety would copy all of them
	return annotation.SafetyOf(a.ReadOnly, a.Destructive, a.RequiresConfirmation)
}

// maxModelName is the longest name that common model APIs accept.
const maxModelName = 64

// maxModelPrefix leaves space for two underscores and the digits of a hash.
const maxModelPrefix = maxModelName - len("__") - hashed

// hashed is the length of the hash that makes a name unique.
const hashed = len("_01234567")

// ModelName returns the name that a model is given: "server__tool". The part before the first two underscores
// follows from the server's id alone, so a server cannot name a tool like that of another. Characters that
// model APIs refuse are replaced, and a name that had to be changed or cut ends in digits of a hash.
func (t *Tool) ModelName() string {
	server := ""
	if t != nil {
		server = t.Server
	}
	full := modelPrefix(server) + "__" + t.Name()
	changed := len(full) > maxModelName
	name := strings.Map(func(r rune) rune {
		if foreignToModels(r) {
			changed = true
			return '_'
		}
		return r
	}, full)
	if !changed {
		return name
	}
	return name[:min(len(name), maxModelName-hashed)] + shortHash(server+"\x00"+t.Name())
}

// modelPrefix returns the id if it has no two underscores in a row and none at its end, and otherwise another form.
func modelPrefix(server string) string {
	if len(server) <= maxModelPrefix && !strings.ContainsFunc(server, foreignToModels) &&
		!strings.Contains(server, "__") && !strings.HasSuffix(server, "_") {
		return server
	}
	words := strings.FieldsFunc(server, func(r rune) bool { return r == '_' || foreignToModels(r) })
	form := strings.Join(words, "_")
	form = form[:min(len(form), maxModelPrefix-hashed)]
	return strings.TrimSuffix(form, "_") + shortHash(server)
}

func foreignToModels(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

func shortHash(of string) string {
	sum := sha256.Sum256([]byte(of))
	return "_" + hex.EncodeToString(sum[:(hashed-1)/2])
}

// Explain returns the class of the tool and why, one line for each hint that is known:
//
//	files/delete_file: dangerous
//	  destructive   yes   inferred: "delete" leads the name
func (t *Tool) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", t, t.Safety())
	if t == nil {
		return b.String()
	}
	a := t.Annotations
	for _, known := range []struct {
		word  string
		field annotation.Field
		value string
	}{
		{"read-only", annotation.ReadOnlyHint, a.ReadOnly.String()},
		{"destructive", annotation.DestructiveHint, a.Destructive.String()},
		{"confirmation", annotation.RequiresConfirmation, a.RequiresConfirmation.String()},
		{"idempotent", annotation.IdempotentHint, a.Idempotent.String()},
		{"open-world", annotation.OpenWorldHint, a.OpenWorld.String()},
		{"freshness", annotation.FreshnessHint, string(a.Freshness)},
		{"secret", annotation.SecretHint, a.Secret.String()},
	} {
		if known.value == "" || known.value == annotation.Unset.String() {
			continue
		}
		e, _ := a.EvidenceOf(known.field) // none is the host's own word
		fmt.Fprintf(&b, "  %-13s %-5s %s\n", known.word, known.value, e)
	}
	if a.Safety() == annotation.Unknown {
		b.WriteString("  nothing known: no trusted declaration, and no word of the name that is understood\n")
	}
	return b.String()
}
