// Package hitl asks a person before a call that needs one: human in the loop.
// Whatever is not a clear yes is a no.
package hitl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// A Confirmer puts a question to a person and returns the answer. Confirm
// returns soon after ctx is done; an answer that comes later has no effect. It is
// safe for concurrent use.
type Confirmer interface {
	Confirm(ctx context.Context, request Request) (Decision, error)
}

// A ConfirmerFunc is a function that asks a person.
type ConfirmerFunc func(ctx context.Context, request Request) (Decision, error)

// Confirm calls f.
func (f ConfirmerFunc) Confirm(ctx context.Context, request Request) (Decision, error) {
	return f(ctx, request)
}

// TwoPeople returns a Confirmer for calls that need two people: it asks one and,
// after a yes, the other. Both have to give their names, of two people (see [safetext.SameName]), and
// neither may edit, since the other one would not have seen it. Their yes is for
// one call and is not remembered. It panics where one of them is nil.
func TwoPeople(first, second Confirmer) Confirmer {
	if first == nil || second == nil {
		panic("hitl: TwoPeople was given a nil Confirmer")
	}
	return ConfirmerFunc(func(ctx context.Context, request Request) (Decision, error) {
		request.Offers = nil
		one, err := first.Confirm(ctx, request)
		if err != nil || one.Verdict != Approved {
			return one, err
		}
		other, err := second.Confirm(ctx, request)
		switch {
		case err != nil || other.Verdict != Approved:
			return other, err
		case safetext.SameName(one.By, "") || safetext.SameName(other.By, "") || safetext.SameName(one.By, other.By):
			return Decision{}, errors.New("it needs two people, and they have not given two names")
		case one.Arguments != nil || other.Arguments != nil:
			return Decision{}, errors.New("it needs two people, and one of them has edited it")
		}
		return Decision{Verdict: Approved, By: one.By + " and " + other.By}, nil
	})
}

// DangerouslyApproveEveryCallWithoutAsking says yes to everything in nobody's name:
// for a sandbox in which nothing can be lost, and for tests. It is the one way to
// run dangerous calls without a person, and its name is to be found in any search.
// The guard, the grants and the record stay as they are.
func DangerouslyApproveEveryCallWithoutAsking() Confirmer {
	return ConfirmerFunc(func(context.Context, Request) (Decision, error) {
		return Decision{Verdict: Approved, By: "nobody: every call is approved without asking"}, nil
	})
}

// A Request is what a person is asked about. What stands in Tool.Definition is
// the server's text: escape it before you show it.
type Request struct {
	ID        string           // the question's own, under which the store keeps it
	Tool      *middleware.Tool // class and evidence: Tool.Explain()
	Arguments json.RawMessage  // the exact bytes that will be sent after a yes
	// Extra is what the call sends beside its arguments, nil for nothing: a JSON object with
	// what it has of _meta, inputResponses and requestState. Progress tokens, trace context
	// and what else belongs to the transport are left out. An approval covers the rest.
	Extra    json.RawMessage
	CallID   string    // the model's, for display
	Scope    string    // whose call it is
	Why      string    // why the call is wanted, if Options.About knows
	Undo     string    // how it can be taken back, if Options.About knows
	Deadline time.Time // when silence becomes a no, or the caller has gone
	// Drafts are what the call is to commit, each as its tool answered: the server's
	// text. A person who is not shown them cannot agree to them.
	Drafts []Draft
	// Offers are what may be remembered with a yes, the first one exactly these
	// arguments; none where nothing may be.
	Offers []Offer
	// Input is what came back with the second leg of a question that ended with a
	// [*PendingError]; nil where the question is new. It is anybody's text, and not sent.
	Input *middleware.Input
}

// Digest returns a digest of what a person is shown and approves: all of the request but
// its deadline and its Input.
func (r Request) Digest() string {
	r.Deadline, r.Input = time.Time{}, nil
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

// Reasons returns what the call's class rests on, one reason a line, as the tool's
// [middleware.Tool.Explain] has it without its heading: the tool and its class.
func (r Request) Reasons() []string {
	// The tool's name is the server's text, so the heading ends by its length.
	rest := strings.TrimPrefix(r.Tool.Explain(), r.heading()+"\n")
	return strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
}

func (r Request) heading() string { return fmt.Sprintf("%s: %s", r.Tool, r.Tool.Safety()) }

// Choices returns the approvals that the person may choose from, as decisions: for this
// call alone, and then each offer, for the session and for always if it may stand so long.
func (r Request) Choices() []Decision {
	choices := []Decision{{Verdict: Approved}}
	for i, o := range r.Offers {
		for remember := Session; remember <= o.Longest; remember++ {
			choices = append(choices, Decision{Verdict: Approved, Remember: remember, Offer: i})
		}
	}
	return choices
}

// Caution returns why the arguments may not run as they read, on one line that is safe
// to show, and "" if nothing is known against it: characters that can be taken for
// others, which [safetext.Line] escapes.
func (r Request) Caution() string {
	form, err := canonical.AppendObject(nil, r.Arguments)
	if err != nil {
		return "" // such arguments are not sent
	}
	if safetext.Doubtful(r.Tool.String()) || safetext.Doubtful(string(form)) || safetext.Doubtful(string(r.Extra)) {
		return `it has characters that can be taken for others; they are written as \u and their number`
	}
	return ""
}

// A Verdict is a person's answer. The zero value, and any that is not listed
// here, is a no.
type Verdict uint8

// The verdicts.
const (
	Denied Verdict = iota
	Approved
)

// A Decision is a person's answer with what belongs to it. The zero value denies.
type Decision struct {
	Verdict Verdict
	// Reason is guidance for the model after a no: what to do instead.
	Reason string
	// Arguments replace those of the call, where the person edited them before
	// saying yes. Nil means as asked.
	Arguments json.RawMessage
	// By names the person or the policy, for the record.
	By string
	// Remember is how long a yes stands; the zero value is for this call alone. More
	// than the offer's Longest, or what is not listed, is for this call alone too.
	Remember Remember
	// Offer is which of Request.Offers is remembered; the zero value is the first:
	// exactly these arguments, as edited. One that was not shown, or that does not
	// cover the arguments as edited, remembers nothing.
	Offer int
}

// A Store keeps what was asked, what came of it and what is remembered.
// Package approvals has one in memory and one in a file.
type Store = approvals.Store

// A TwoStep pairs a tool that makes a draft with the one that commits it. A commit that
// names drafts is refused unless this chain saw each of them being made, in the same
// scope; then a person is shown what the draft's tool answered and asked, whatever the
// class. The approval is bound to the drafts as they were shown: it ends once one of them
// has changed or was committed, and is never remembered.
//
// A commit that names no draft at all is a direct one, and is asked about.
type TwoStep struct {
	Server        string // the id that the host gave it
	Draft, Commit string // names of its tools
	// ID is the member of the draft's answer, a JSON object, that holds its id; "" means
	// "id".
	ID string
	// Names is the member of the commit's arguments that holds the draft's id, or a
	// list of them; "" means "draft_id".
	Names string
}

// A Draft is one item that a call is to commit.
type Draft struct {
	ID     string
	Shown  string // what the tool answered: the server's text, escape it
	Digest string // SHA-256 of Shown, in hexadecimal
}
