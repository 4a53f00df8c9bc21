package hitl

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Request is what a person is asked about. Tool.Definition has
// the server's texts: escape them before you show it.
type Request struct {
	ID        string           // the question's own, under which the store keeps it
	Tool      *middleware.Tool // class and evidence: Tool.Explain()
	Arguments json.RawMessage  // the exact bytes that will be sent after an approval
	// Extra is what the call sends beside its arguments, nil for nothing: a JSON object with
	// what it has of _meta, inputResponses and requestState, and with other params under params. Progress tokens, trace
	// context and what else belongs to the transport are left out, and so are the ClientIDs. An
	// approval covers the rest.
	Extra json.RawMessage
	// ClientIDs is what else is sent in _meta: how the client calls this call, its turn and its conversation, a JSON
	// object; nil for nothing. It is not a part of what is approved, and there to be looked up.
	ClientIDs json.RawMessage `json:",omitempty"`
	// Changes are texts that the call changes, by Options.Changes, nil for none.
	Changes []Change `json:",omitempty"`
	// Preview is what a trial of the call has shown, by Options.Preview; nil if none was made. An edit is asked about
	// with a preview of its own.
	Preview *Preview `json:",omitempty"`
	// Sources are where the arguments came from, nil unless the chain has package flow. After an edit there are
	// none. A call with a source that has a Rule has no Offers, and no remembered approval covers it.
	Sources []Source
	CallID  string    // the model's, for display
	Scope   string    // whose call it is
	Client  string    // the program or the agent that asks, by Options.Client; "" is not known
	Caller  Caller    `json:",omitzero"` // on whose behalf it asks, by Options.Caller
	Asked   time.Time // when the call began to wait for the answer
	// Turn is which call of its turn it is, of Turns that came together; 0 outside of package batch.
	Turn, Turns int
	// Number is which call of its client it is since that connected, by Options.Number; 0 is not known.
	Number   int       `json:",omitempty"`
	Why      string    // why the call is wanted, by Options.About
	Undo     string    // how it can be taken back, by Options.About or Options.Inverse
	Deadline time.Time // when silence becomes a denial, or the caller has gone
	// InDoubt is when a call with the same effect was made that may have happened, zero
	// for none (package doubt). Caution has it, and nothing is offered to be remembered.
	InDoubt time.Time
	// Anew means that a person has to be asked, by Options.Anew: a rule of the host does not answer either.
	Anew bool `json:",omitempty"`
	// Drafts are what the call is to commit, each as its tool answered: the server's
	// text. A person who is not shown them cannot agree to them.
	Drafts []Draft
	// Offers are what may be remembered with an approval, the first one exactly these
	// arguments; none if nothing may be. Free are the members that the person may leave free
	// in the first, each with what it may be then.
	Offers []Offer
	Free   Pattern
	// Lifetimes are how long an approval for always may last, the host's limit last, which holds if nothing is chosen.
	Lifetimes []approvals.Lifetime
	// Suggestion is what to remember, if the last approvals of this tool follow a rule, as a
	// sentence that is safe to show; "" for none.
	Suggestion string
	// Input is what came back with the second leg of a question that ended with a
	// [*PendingError]; nil where the question is new. It is anybody's text, and not sent.
	Input *middleware.Input
}

// A Caller is on whose behalf a call is made, as far as the host has verified it.
type Caller struct {
	User   string `json:",omitempty"` // the person
	Client string `json:",omitempty"` // the OAuth client that the person's token was given to
	// Actors act for the person, as in the act of a token (RFC 8693): the one that makes the call first, and the one
	// closest to the person last.
	Actors []string `json:",omitempty"`
}

// Digest returns a digest of what a person is shown and approves: all of the request but
// since when it waits, its deadline, its Input, its ClientIDs and its Number.
func (r Request) Digest() string {
	r.Deadline, r.Asked, r.Input, r.ClientIDs, r.Number = time.Time{}, time.Time{}, nil, nil, 0
	form, err := json.Marshal(struct { //nolint:musttag // only its digest is used
		Request

		Tool      []string
		Arguments []byte // exactly, as no RawMessage is written
		Extra     []byte
	}{r, []string{r.Tool.Server, r.Tool.Name(), r.Tool.Digest.String(), r.Tool.Explain()}, r.Arguments, r.Extra})
	if err != nil {
		panic(err) // a pattern that Pattern.Covers accepted is valid JSON, and the rest is text
	}
	return hash(form)
}

// Reasons returns what the call's class rests on, one reason a line, as the tool's [middleware.Tool.Explain]
// has it without its heading: the tool and its class. A line for each of the Sources follows.
func (r Request) Reasons() []string {
	// The tool's name is the server's text, so the heading ends by its length.
	rest := strings.TrimPrefix(r.Tool.Explain(), fmt.Sprintf("%s: %s\n", r.Tool, r.Tool.Safety()))
	reasons := strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
	for _, s := range r.Sources {
		reasons = append(reasons, s.String())
	}
	return reasons
}

// A Choice is an approval that a person may choose.
type Choice struct {
	// Name is "once", or what is remembered ("arguments", "members" or "tool") and for how
	// long ("session" or "always"), such as "arguments-session". "always" alone is the shortest of Request.Lifetimes; the
	// name of another end follows it: "arguments-always-1-week".
	Name     string
	Text     string // a sentence that is safe to show
	Decision Decision
}

// Choices returns the approvals that the person may choose from: for this call alone, and
// then each offer, for the session and, if it may stand so long, for always, the shortest end first.
func (r Request) Choices() []Choice {
	choices := []Choice{{"once", "this call alone", Decision{Verdict: Approved}}}
	named := make(map[string]int)
	for i, o := range r.Offers {
		kind, arguments := "arguments", ""
		switch {
		case o.Tool:
			kind, arguments = "tool", approvals.AnyArguments
		case o.Pattern != nil:
			kind = "members"
		}
		if named[kind]++; named[kind] > 1 {
			kind = fmt.Sprintf("%s-%d", kind, named[kind])
		}
		s := approvals.Standing{Scope: r.Scope, Server: r.Tool.Server, Tool: r.Tool.Name(), Pattern: o.Pattern, Arguments: arguments, Since: time.Now()}
		if o.Longest >= Session {
			session := s
			session.Session, session.Until = "this", s.Since.Add(o.SessionLifetime)
			choices = append(choices, Choice{kind + "-session", session.Sentence(), Decision{Verdict: Approved, Remember: Session, Offer: i}})
		}
		if o.Longest < Always {
			continue
		}
		ends := r.Lifetimes
		if len(ends) == 0 {
			ends = approvals.Lifetimes(o.Lifetime)
		}
		for n, end := range ends {
			name := kind + "-always"
			if n > 0 {
				name += "-" + strings.ReplaceAll(end.Name, " ", "-")
			}
			s.Until = s.Since.Add(end.Duration)
			choices = append(choices, Choice{name, s.Sentence(), Decision{Verdict: Approved, Remember: Always, Offer: i, Lifetime: end.Duration}})
		}
	}
	return choices
}

// Lifetime returns how long the one of Lifetimes with a name is, and for no name the shortest.
func (r Request) Lifetime(name string) (lifetime time.Duration, ok bool) {
	for _, e := range r.Lifetimes {
		if e.Name == name {
			return e.Duration, true
		}
	}
	if name == "" && len(r.Lifetimes) > 0 {
		return r.Lifetimes[0].Duration, true
	}
	return 0, name == ""
}

// WithFree returns the request with the named members left free in its first offer, for a
// dialog that shows what is remembered then. It is false if one of them cannot be.
func (r Request) WithFree(names []string) (Request, bool) {
	p := approvals.WithFree(r.Arguments, names)
	if p == nil || len(r.Free) == 0 || len(r.Offers) == 0 {
		return r, false
	}
	r.Offers = slices.Clone(r.Offers)
	r.Offers[0].Pattern = p
	return r, true
}

// Caution returns what is known against the call, on one line that is safe to show, and "" for nothing: that
// the same call may have happened already, and that the arguments may not run as they read, since they have
// characters that can be taken for others, which [safetext.Line] escapes.
func (r Request) Caution() string {
	var known []string
	if !r.InDoubt.IsZero() {
		known = append(known, fmt.Sprintf("the same call, %v ago, may have happened: its outcome is unknown, and this one may do it again",
			time.Since(r.InDoubt).Round(time.Second)))
	}
	form, _ := canonical.AppendObject(nil, r.Arguments) // ambiguous ones are not sent
	if safetext.Doubtful(r.Tool.String()) || safetext.Doubtful(string(form)) || safetext.Doubtful(string(r.Extra)) {
		known = append(known, `it has characters that can be taken for others; they are written as \u and their number`)
	}
	return strings.Join(known, "; ")
}

// A Source is where one argument came from, see [middleware.Source].
type Source = middleware.Source

// A Change is a text that a call changes, as it is and as it becomes. Both are anybody's text, and shown as a comparison
// in which nothing is folded, before the arguments.
type Change struct {
	Name          string // what is changed, such as a path
	Before, After string // "" is a text that is not there
	// Source is where Before is from, such as the tool that returned it, "files/read_text_file"; "" if the host knows it.
	Source string
}

// A Preview is what a trial of a call has shown.
type Preview struct {
	With   string // what made it a trial, such as "dry_run: true"
	Answer string // the server's text, escape it
	Failed bool   // the server reported that the trial failed, or did not answer
}

// An Inverse is a call that takes another one back.
type Inverse struct {
	Server, Tool string
	// Arguments returns its arguments once the call has a result; false if they cannot be made of it.
	Arguments func(res *mcp.CallToolResult) (json.RawMessage, bool)
}

// An Undo is the call that takes back one that was made.
type Undo struct {
	Question     string // the ID of the question about the call that was made, "" if no person and no rule answered one
	Server, Tool string
	Arguments    json.RawMessage
}

// A Draft is one item that a call is to commit.
type Draft struct {
	ID     string
	Shown  string // what the tool answered: the server's text, escape it
	Digest string // SHA-256 of Shown, in hexadecimal
}
