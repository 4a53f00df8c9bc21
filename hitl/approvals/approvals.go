// Package approvals keeps what people were asked, what came of it, and which approvals
// are remembered. It decides nothing: a call needs a grant, which is in the memory of
// the process that asked and is good only while the store has its approval.
package approvals

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// A Store keeps approvals and remembered approvals. It is safe for concurrent use. A change is
// durable, and seen by every process, once its method has returned nil. An error of any method
// is a denial of the call that it was for.
type Store interface {
	// Add writes down a new approval: one that is Pending, or one that is Approved because
	// of a remembered approval, whose Uses it counts. An ID that is known already is an error,
	// and ErrNoEffect a remembered approval that is not there any more.
	Add(ctx context.Context, a Approval) error
	// Advance changes an approval's state, if the table of [State] has that step and its
	// time is not over, and to Spent only while the remembered approval that answered is there.
	// Of concurrent steps the first one wins. Any other step has no effect, is recorded as
	// such if the store keeps a record, and returns an error that is [ErrNoEffect].
	Advance(ctx context.Context, id string, change Change) error
	// Remember records a remembered approval.
	Remember(ctx context.Context, s Standing) error
	// Remembered returns the remembered approvals of a scope that have not expired, for one
	// tool of one server, or for all where server and tool are empty.
	Remembered(ctx context.Context, scope, server, tool string) ([]Standing, error)
	// List returns the remembered approvals of all scopes that have not expired.
	List(ctx context.Context) ([]Standing, error)
	// Forget ends a remembered approval of this scope, and makes the approval with its ID, if it is
	// Approved, Void. One that is not there is no error.
	Forget(ctx context.Context, scope, id string) error
}

// A State is how far an approval has come:
//
//	pending  → approved, denied, void
//	approved → spent, void
//	spent    → done, void
//
// Denied, done and void are final. No step goes back, and none is spent twice.
type State string

// The states.
const (
	Pending  State = "pending"  // the question is open
	Approved State = "approved" // not used yet
	Denied   State = "denied"
	Spent    State = "spent" // the call is being handed over, or was
	Done     State = "done"  // the call has returned
	Void     State = "void"  // there was no answer, the approval was not used, or the process ended
)

var steps = map[State][]State{
	Pending:  {Approved, Denied, Void},
	Approved: {Spent, Void},
	Spent:    {Done, Void},
}

// CanBecome reports whether the table has the step from s to next.
func (s State) CanBecome(next State) bool { return slices.Contains(steps[s], next) }

// Open reports whether something may still come of an approval in this state.
func (s State) Open() bool { return len(steps[s]) > 0 }

// An Approval is one question and what came of it. Of the arguments it holds a hash, never the text.
type Approval struct {
	ID         string    `json:"id"` // unguessable
	State      State     `json:"state"`
	Server     string    `json:"server"`
	Tool       string    `json:"tool"`
	Definition string    `json:"definition"` // the digest of the tool's definition
	Class      string    `json:"class"`
	Scope      string    `json:"scope"`
	CallID     string    `json:"callId,omitempty"`
	Arguments  string    `json:"arguments"`          // SHA-256 of the exact bytes, in hexadecimal
	Extra      string    `json:"extra,omitempty"`    // the same of what is sent beside the arguments, "" for nothing
	Drafts     []Draft   `json:"drafts,omitempty"`   // that were shown with it
	Standing   string    `json:"standing,omitempty"` // the remembered approval that answered, if one did
	By         string    `json:"by,omitempty"`
	Edited     bool      `json:"edited,omitempty"`
	Until      time.Time `json:"until"` // when the question ends; of an approval, when it expires
}

// A Draft names what a call is to commit, and pins its content.
type Draft struct {
	ID     string `json:"id"`
	Digest string `json:"digest"` // SHA-256 of what was shown, in hexadecimal
}

// A Change is a step of an approval.
type Change struct {
	To State `json:"to"`
	// By names who answered.
	By string `json:"by,omitempty"`
	// Until is when the approval expires; only for Approved, and needed there.
	Until time.Time `json:"until,omitzero"`
	// Scope and Standing are those of an approval that a standing one answered.
	Scope    string `json:"-"`
	Standing string `json:"-"`
	// Edited is set if other arguments were approved than were asked about; Arguments is their hash.
	Edited    bool   `json:"edited,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

// ErrNoEffect is in the tree of the error of every step that the table does not have, or that comes too late.
var ErrNoEffect = errors.New("approvals: no effect")

// A NoEffectError has the reason for which an answer had no effect.
type NoEffectError struct {
	ID  string
	Was State // "" if the store has no such approval
	To  State
}

func (e *NoEffectError) Error() string {
	switch {
	case e.Was == "":
		return fmt.Sprintf("approvals: no effect: %s is not known, or was decided long ago", e.ID)
	case e.Was.CanBecome(e.To):
		return fmt.Sprintf("approvals: no effect: the time of %s is over, it cannot become %s", e.ID, e.To)
	}
	return fmt.Sprintf("approvals: no effect: %s is %s, it cannot become %s", e.ID, e.Was, e.To)
}

func (e *NoEffectError) Is(target error) bool { return target == ErrNoEffect }

// A Standing is an approval that a person wanted remembered. It covers calls of one
// scope, of one tool under exactly one definition and in one class, with exactly one set
// of arguments, with any, or with what its pattern names. The zero value covers nothing.
type Standing struct {
	ID         string    `json:"id"`
	Session    string    `json:"session,omitempty"` // "" where it outlives a session
	Scope      string    `json:"scope"`
	Server     string    `json:"server"`
	Tool       string    `json:"tool"`
	Definition string    `json:"definition"`
	Class      string    `json:"class"`
	Arguments  string    `json:"arguments,omitempty"` // [ExactArguments] or [AnyArguments], if there is no pattern
	Pattern    Pattern   `json:"pattern,omitempty"`
	By         string    `json:"by,omitempty"`
	Since      time.Time `json:"since,omitzero"`
	Until      time.Time `json:"until"`
	Uses       int       `json:"uses,omitempty"` // calls that it approved; the store counts them

	// Once is the decision of the question with this ID that was made while no call waited: an approval, or with
	// Denied a denial. One call takes it that is the same and is asked about for the same reasons, of
	// both of which Arguments is a digest. It covers no other call.
	Once   bool   `json:"once,omitempty"`
	Denied bool   `json:"denied,omitempty"`
	Reason string `json:"reason,omitempty"` // of the denial
}

// An End is for how long an approval may last that outlives a session.
type End struct {
	Name     string // such as "1 day", "1 week" or "30 days"; the dialogs and the policy file have it
	Lifetime time.Duration
}

// String returns the name, and when that is from now.
func (e End) String() string {
	return e.Name + ", until " + time.Now().Add(e.Lifetime).Format("2 January 2006")
}

// Ends returns what a person may choose from, the longest, which is the host's limit, last.
func Ends(longest time.Duration) []End {
	const day = 24 * time.Hour
	limit := End{longest.String(), longest}
	if longest%day == 0 {
		limit.Name = fmt.Sprintf("%d days", longest/day)
	}
	var ends []End
	for _, e := range []End{{"1 day", day}, {"1 week", 7 * day}, {"30 days", 30 * day}} {
		if e.Lifetime == longest {
			limit = e
		} else if e.Lifetime < longest {
			ends = append(ends, e)
		}
	}
	return append(ends, limit)
}

// AnyArguments is the Standing.Arguments that covers all calls of the tool.
const AnyArguments = "any"

// String describes what is covered, safe to show to a person.
func (s Standing) String() string {
	what := "exactly the arguments that were shown"
	switch {
	case s.Denied:
		what += ", denied for one call"
	case s.Once:
		what += ", for one call"
	case s.Pattern != nil:
		what = s.Pattern.String()
	case s.Arguments == AnyArguments:
		what = "any arguments"
	}
	return safetext.Line(s.Server+"/"+s.Tool) + " with " + what
}

// Terms describes for whom it is and by whom, since when and until when, and how often it
// was used, safe to show to a person.
func (s Standing) Terms() string {
	end := ""
	if s.Session != "" {
		end = " or the end of the session"
	}
	return fmt.Sprintf("for %s, by %s, since %s, until %s%s, used %d times", cmp.Or(safetext.Line(s.Scope), "any client"),
		cmp.Or(safetext.Line(s.By), "a person without a name"), s.Since.Local().Format(time.DateTime), s.Until.Local().Format(time.DateTime), end, s.Uses)
}

// Covers reports whether the call is one that the person approved, in whichever session.
func (s Standing) Covers(call middleware.Call) bool {
	if call.Tool == nil || call.Tool.Digest == (middleware.Digest{}) || !time.Now().Before(s.Until) ||
		s.Scope != call.Scope || s.Server != call.Tool.Server || s.Tool != call.Tool.Name() ||
		s.Definition != call.Tool.Digest.String() || s.Class != call.Tool.Safety().String() {
		return false
	}
	if s.Arguments == AnyArguments {
		_, err := canonical.AppendObject(nil, call.Arguments)
		return err == nil && s.Pattern == nil
	}
	if s.Arguments != "" {
		exact, err := ExactArguments(call.Arguments)
		return err == nil && exact == s.Arguments && s.Pattern == nil
	}
	return s.Pattern.Covers(call.Arguments)
}

// Check returns what keeps a remembered approval from being recorded.
func (s Standing) Check() error {
	switch {
	case s.ID == "" || s.Tool == "" || s.Definition == "" || s.Class == "":
		return errors.New("approvals: a remembered approval needs an ID, a tool, its definition and its class")
	case (s.Arguments == "") == (s.Pattern == nil):
		return errors.New("approvals: a remembered approval is to arguments or to a pattern")
	case s.Pattern != nil:
		return s.Pattern.Check()
	}
	return nil
}

// ExactArguments is the hash under which exact arguments are remembered: the same for every spelling of the
// same value. An error means that they are no unambiguous JSON object.
func ExactArguments(arguments json.RawMessage) (string, error) {
	form, err := canonical.AppendObject(nil, arguments)
	if err != nil {
		return "", fmt.Errorf("approvals: the arguments: %w", err)
	}
	return digest(form), nil
}

// A Pattern is which arguments a remembered approval covers. It names every member that they have: a call with
// one more, or one less, is not covered. A pattern that names none covers nothing.
type Pattern []Member

// A Member is one member of the arguments: exactly a value, a text that fits a glob, or
// anything. It has one of these.
type Member struct {
	Name   string          `json:"name"`
	Value  json.RawMessage `json:"value,omitempty"`  // in any spelling
	Digest string          `json:"digest,omitempty"` // SHA-256 of the value's canonical form
	// Glob is as in [path.Match], each part between slashes by itself: * is any run of characters, one at
	// least. A text that could climb out of it or be more than one thing fits no glob: with a part that is
	// empty or of dots, with .., with one of \ % * ? [ ] { } ~ $, or with what [safetext.Line] escapes.
	Glob string `json:"glob,omitempty"`
	Any  bool   `json:"any,omitempty"`
}

// String describes what the member may be, safe to show to a person.
func (m Member) String() string {
	text := m.Name + " as it was shown"
	folder, one := strings.CutSuffix(m.Glob, "*")
	switch {
	case m.Any:
		text = "any " + m.Name
	case m.Value != nil:
		text = m.Name + " = " + string(m.Value)
	case m.Glob == "*":
		text = "any name as " + m.Name
	case one && strings.HasSuffix(folder, "/") && !strings.ContainsAny(folder, `*?[\`):
		text = m.Name + " under " + folder + ", any name"
	case m.Glob != "":
		text = m.Name + " like " + m.Glob
	}
	return safetext.Line(text)
}

// String describes what the pattern covers, safe to show to a person.
func (p Pattern) String() string {
	var parts []string
	for _, m := range p {
		parts = append(parts, m.String())
	}
	return strings.Join(parts, ", ")
}

// Free returns the members of arguments that a person may leave free, each with what it may
// be then: a text that may be a path stays in its folder, and a longer text, or what is no
// text, may be anything. One that cannot be kept in its folder is left out.
func Free(arguments json.RawMessage) Pattern {
	var free Pattern
	for _, m := range exactly(arguments) {
		if m.loose.Name != "" {
			free = append(free, m.loose)
		}
	}
	return free
}

// Freed returns the pattern of exactly these arguments with the named members left free,
// and nil if one of them cannot be.
func Freed(arguments json.RawMessage, names []string) Pattern {
	var p Pattern
	left := len(names)
	for _, m := range exactly(arguments) {
		if !slices.Contains(names, m.Name) {
			p = append(p, m.Member)
			continue
		}
		left--
		if p = append(p, m.loose); m.loose.Name == "" {
			return nil
		}
	}
	if left != 0 || len(names) == 0 {
		return nil
	}
	return p
}

// Rule returns the pattern of arguments with those members left free in which they differ
// from earlier ones, if it covers these, and nil if it does not or if there are none.
func Rule(arguments json.RawMessage, earlier []json.RawMessage) Pattern {
	var differ []string
	for _, m := range exactly(arguments) {
		same := Pattern{m.Member}
		if slices.ContainsFunc(earlier, func(its json.RawMessage) bool { return !same.covers(its, false) }) {
			differ = append(differ, m.Name)
		}
	}
	p := Freed(arguments, differ)
	if len(earlier) == 0 || slices.ContainsFunc(earlier, func(its json.RawMessage) bool { return !p.Covers(its) }) {
		return nil
	}
	return p
}

// A freeable is a member as it is, and as it may be if it is left free.
type freeable struct {
	Member

	loose Member // no name if it cannot be
}

func exactly(arguments json.RawMessage) []freeable {
	form, err := canonical.AppendObject(nil, arguments)
	if err != nil {
		return nil
	}
	members, _ := strictjson.Members(form)
	var all []freeable
	for _, m := range members {
		all = append(all, freeable{Member{Name: m.Name, Digest: digest(m.Value)}, loose(m.Name, m.Value)})
	}
	return all
}

// bodies are members that are no paths and no names.
var bodies = []string{"body", "comment", "content", "description", "message", "subject", "text", "title"}

func loose(name string, value json.RawMessage) Member {
	var text string
	if json.Unmarshal(value, &text) != nil || strings.Contains(text, "\n") || slices.Contains(bodies, name) {
		return Member{Name: name, Any: true}
	}
	if m := (Member{Name: name, Glob: text[:strings.LastIndexByte(text, '/')+1] + "*"}); m.covers(value) {
		return m
	}
	return Member{}
}

func digest(value []byte) string { return middleware.Digest(sha256.Sum256(value)).String() }

// Check returns what is wrong with a pattern.
func (p Pattern) Check() error {
	seen := make(map[string]bool, len(p))
	for _, m := range p {
		_, bad := path.Match(m.Glob, "")
		ways := slices.DeleteFunc([]bool{m.Value != nil, m.Digest != "", m.Glob != "", m.Any}, func(way bool) bool { return !way })
		switch {
		case seen[m.Name]:
			return fmt.Errorf("approvals: a pattern names the member %q twice", m.Name)
		case len(ways) != 1:
			return fmt.Errorf("approvals: the member %q of a pattern needs a value or a glob", m.Name)
		case bad != nil:
			return fmt.Errorf("approvals: the glob %q: %w", m.Glob, bad)
		}
		seen[m.Name] = true
	}
	if len(p) == 0 {
		return errors.New("approvals: a pattern names no member")
	}
	return nil
}

// Covers reports whether the arguments are what the pattern names.
func (p Pattern) Covers(arguments json.RawMessage) bool { return p.covers(arguments, true) }

func (p Pattern) covers(arguments json.RawMessage, all bool) bool {
	form, err := canonical.AppendObject(nil, arguments)
	if err != nil || p.Check() != nil {
		return false
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(form, &members); err != nil || all && len(members) != len(p) {
		return false
	}
	for _, m := range p {
		value, ok := members[m.Name]
		if !ok || !m.covers(value) {
			return false
		}
	}
	return true
}

// covers takes a value in canonical form.
func (m Member) covers(value json.RawMessage) bool {
	switch {
	case m.Any:
		return true
	case m.Digest != "":
		return m.Digest == digest(value)
	case m.Value != nil:
		form, err := canonical.Append(nil, m.Value)
		return err == nil && bytes.Equal(form, value)
	}
	var text string
	if !bytes.HasPrefix(value, []byte{'"'}) || json.Unmarshal(value, &text) != nil {
		return false
	}
	if strings.Contains(text, "..") || strings.ContainsAny(text, `\%*?[]{}~$`) || safetext.Line(text) != text {
		return false
	}
	globs, parts := strings.Split(m.Glob, "/"), strings.Split(text, "/")
	if len(globs) != len(parts) {
		return false
	}
	for i, part := range parts {
		fits, err := path.Match(globs[i], part)
		if err != nil || !fits || part == "." || part == "" && globs[i] != "" {
			return false
		}
	}
	return true
}
