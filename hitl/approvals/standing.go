package approvals

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
)

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

	// Value is a value that a person approved by its source, quoted, and Kind what it means as an argument. Such an
	// approval covers no call: package flow does not ask about the value again. From is the tool that returned it.
	Value string `json:"value,omitempty"`
	Kind  string `json:"kind,omitempty"`
	From  string `json:"from,omitempty"`
}

// A Lifetime is for how long an approval may last that outlives a session.
type Lifetime struct {
	Name     string // such as "1 day", "1 week" or "30 days"; the dialogs and the policy file have it
	Duration time.Duration
}

// String returns the name, and when that is from now.
func (l Lifetime) String() string {
	return l.Name + ", until " + time.Now().Add(l.Duration).Format("2 January 2006")
}

// Lifetimes returns what a person may choose from, the longest, which is the host's limit, last.
func Lifetimes(longest time.Duration) []Lifetime {
	const day = 24 * time.Hour
	limit := Lifetime{longest.String(), longest}
	if longest%day == 0 {
		limit.Name = fmt.Sprintf("%d days", longest/day)
	}
	var lifetimes []Lifetime
	for _, l := range []Lifetime{{"1 day", day}, {"1 week", 7 * day}, {"30 days", 30 * day}} {
		if l.Duration == longest {
			limit = l
		} else if l.Duration < longest {
			lifetimes = append(lifetimes, l)
		}
	}
	return append(lifetimes, limit)
}

// AnyArguments is the Standing.Arguments that covers all calls of the tool.
const AnyArguments = "any"

// String describes what is covered, safe to show to a person.
func (s Standing) String() string {
	if s.Value != "" {
		from := "nowhere known"
		if s.From != "" {
			from = safetext.Word(s.From, maxShown)
		}
		return safetext.Line(s.Value) + " as " + safetext.Line(s.Kind) + ", which came from " + from
	}
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
	return safetext.Word(s.Server+"/"+s.Tool, maxShown) + " with " + what
}

// Sentence states the whole of what is approved: which calls, for whom, until when, and how it ends before that. It is the
// same in the dialog that offers it and in the list of what is remembered.
func (s Standing) Sentence() string {
	whom := "every client"
	if s.Scope != "" {
		whom = safetext.Word(s.Scope, 100)
	}
	until := "until " + s.Until.Local().Format("2 January 2006")
	if s.Session != "" {
		whom = "this session alone"
		until = "until it ends"
		if longest := s.Until.Sub(s.Since).Round(time.Minute); longest > 0 {
			until += ", for " + strings.TrimSuffix(strings.TrimSuffix(longest.String(), "0s"), "0m") + " at most"
		}
	}
	about := "about"
	if s.Value != "" {
		about = "about the source of"
	}
	return fmt.Sprintf("Do not ask "+about+" %s, for %s, %s; it can be taken back among the remembered approvals", s, whom, until)
}

// Terms describes by whom and since when it is, and how often it was used, safe to show to a person.
func (s Standing) Terms() string {
	if s.Value != "" { // such uses are not counted
		return fmt.Sprintf("by %s, since %s", cmp.Or(safetext.Line(s.By), "a person without a name"), s.Since.Local().Format(time.DateTime))
	}
	return fmt.Sprintf("by %s, since %s, used %d times", cmp.Or(safetext.Line(s.By), "a person without a name"), s.Since.Local().Format(time.DateTime), s.Uses)
}

// Covers reports whether the call is one that the person approved, in whichever session.
func (s Standing) Covers(call middleware.Call) bool {
	if s.Value != "" || call.Tool == nil || call.Tool.Digest == (middleware.Digest{}) || !s.holds(time.Now()) ||
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

// clocksDiffer is by how much the clocks of replicas that share a store may differ.
const clocksDiffer = 5 * time.Minute

// holds reports whether a time is between that of the approval and its end. Before it was given it does not hold: then
// the clock was set back since, and the end is further away than the person wanted.
func (s Standing) holds(now time.Time) bool {
	return now.Before(s.Until) && !now.Add(clocksDiffer).Before(s.Since)
}

// Check returns what keeps a remembered approval from being recorded.
func (s Standing) Check() error {
	switch {
	case s.Value != "" && s.ID != "" && s.Kind != "" && s.Session != "" && s.Arguments == "" && s.Pattern == nil:
		return nil
	case s.Value != "":
		return errors.New("approvals: an approval of a value needs an ID, a kind and a session, and has no arguments")
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
// same value. An error means that they are not an unambiguous JSON object.
func ExactArguments(arguments json.RawMessage) (string, error) {
	form, err := canonical.AppendObject(nil, arguments)
	if err != nil {
		return "", fmt.Errorf("approvals: the arguments: %w", err)
	}
	return digest(form), nil
}
