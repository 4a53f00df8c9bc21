package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/inbox"
)

// A person on the page of one replica decides what another waits for, in every way
// that its own page has.
func TestPersonDecidesForAnotherReplica(t *testing.T) {
	offers := []hitl.Offer{{Longest: hitl.Session}, {Pattern: approvals.Pattern{{Name: "path", Glob: "*.txt"}}, Longest: hitl.Always, Lifetime: 10 * 24 * time.Hour}}
	for _, tt := range []struct {
		name, decision string
		more           []string
		want           hitl.Decision
	}{
		{"yes", "approve", nil, hitl.Decision{Verdict: hitl.Approved, By: "bob"}},
		{"yes, for always, a pattern", "approve", []string{"remember", "members-always"}, hitl.Decision{Verdict: hitl.Approved, By: "bob", Remember: hitl.Always, Offer: 1, Lifetime: 24 * time.Hour}},
		{"yes, for a week", "approve", []string{"remember", "members-always-1-week"}, hitl.Decision{Verdict: hitl.Approved, By: "bob", Remember: hitl.Always, Offer: 1, Lifetime: 7 * 24 * time.Hour}},
		{"no, and why", "deny", []string{"reason", "archive it"}, hitl.Decision{By: "bob", Reason: "archive it"}},
		{"yes, edited", "edit", []string{"arguments", `{"path":"b.txt"}`}, hitl.Decision{Verdict: hitl.Approved, By: "bob", Arguments: []byte(`{"path":"b.txt"}`)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			board := approvals.NewBoard()
			served(t, inbox.Options{Board: board}, func(t *testing.T, in *inbox.Inbox, n *network) {
				b, other := enters(t, n, in, "bob"), inbox.New(inbox.Options{Board: board})
				r := asks(t, "one", `{"path":"a.txt"}`)
				r.Offers, r.Lifetimes, r.Why, r.Undo = offers, approvals.Lifetimes(10*24*time.Hour), "it is old", "from the backup"
				r.Drafts = []hitl.Draft{{ID: "d1", Shown: "the draft", Digest: "x"}}
				a := ask(t.Context(), other, r)
				b.get("/approvals/").want(t, http.StatusOK, "1 waiting", "files/delete", "it is old", "from the backup", "the draft")
				form := b.form("one", tt.decision, tt.more...)
				b.post("/approvals/question/one/decision", form).want(t, http.StatusOK, "Nothing waits", "by <bdi>bob</bdi>")
				got := a.want(t, tt.want.Verdict)
				if fmt.Sprintf("%+v %s", got, got.Arguments) != fmt.Sprintf("%+v %s", tt.want, tt.want.Arguments) {
					t.Errorf("got %+v, want %+v", got, tt.want)
				}
				b.post("/approvals/question/one/decision", form).want(t, http.StatusConflict, "decided already")
			})
		})
	}
}

// What the replica that asked gave up, nobody can decide any more.
func TestQuestionOfAnotherReplicaGoesWithItsCaller(t *testing.T) {
	board := approvals.NewBoard()
	served(t, inbox.Options{Board: board}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b, other := enters(t, n, in, ""), inbox.New(inbox.Options{Board: board})
		ctx, cancel := contextWithCancel(t)
		a := ask(ctx, other, asks(t, "one", `{}`))
		form := b.form("one", "approve")
		cancel()
		synctest.Wait()
		<-a.over
		b.post("/approvals/question/one/decision", form).want(t, http.StatusConflict, "over")
		b.get("/approvals/").want(t, http.StatusOK, "Nothing waits")
	})
}

// The page of the replica that asked works as ever, and both show the same.
func TestQuestionCanBeDecidedWhereItWasAsked(t *testing.T) {
	board := approvals.NewBoard()
	served(t, inbox.Options{Board: board}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "bob")
		a := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`))
		b.decides("one", "approve").want(t, http.StatusOK, "approved")
		if got := a.want(t, hitl.Approved); got.By != "bob" {
			t.Errorf("got %+v", got)
		}
	})
}

// A page hears of what other replicas ask.
func TestPageShowsQuestionsOfOtherReplicas(t *testing.T) {
	board := approvals.NewBoard()
	served(t, inbox.Options{Board: board}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b, other := enters(t, n, in, ""), inbox.New(inbox.Options{Board: board})
		b.get("/approvals/version").want(t, http.StatusOK, "0")
		ctx, cancel := contextWithCancel(t)
		ask(ctx, other, asks(t, "one", `{}`))
		b.get("/approvals/version").want(t, http.StatusOK, "1")
		cancel()
	})
}

// A forger writes to the board.
type forger struct {
	approvals.Board

	question func([]byte) []byte
	answer   func([]byte) []byte
}

func (f *forger) Open(ctx context.Context) ([]approvals.Notice, error) {
	notices, err := f.Board.Open(ctx)
	for i := range notices {
		notices[i].Question = f.question(notices[i].Question)
	}
	return notices, err
}

func (f *forger) Wait(ctx context.Context, id string) ([]byte, error) {
	answer, err := f.Board.Wait(ctx, id)
	return f.answer(answer), err
}

// What is shown is what was asked: another version, a part of it, or something else
// under the same digest is not shown, and an answer to something else is a no.
func TestBoardIsNotTrusted(t *testing.T) {
	same := func(b []byte) []byte { return b }
	change := func(old, with string) func([]byte) []byte {
		return func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), old, with)) }
	}
	for name, question := range map[string]func([]byte) []byte{
		"another version":    change(`"v":4`, `"v":1`),
		"cut off":            func(b []byte) []byte { return b[:len(b)/2] },
		"nothing":            func([]byte) []byte { return nil },
		"another tool":       change(`"name":"delete"`, `"name":"read"`),
		"another server":     change(`"server":"files"`, `"server":"notes"`),
		"no longer the same": change(`"arguments":"`, `"arguments":"e30`),
		"another reason":     change(`it is old`, `nobody needs it`),
		"another way back":   change(`from the backup`, `it comes back by itself`),
	} {
		t.Run(name, func(t *testing.T) {
			board := approvals.NewBoard()
			served(t, inbox.Options{Board: &forger{board, question, same}}, func(t *testing.T, in *inbox.Inbox, n *network) {
				b, other := enters(t, n, in, ""), inbox.New(inbox.Options{Board: board})
				ctx, cancel := contextWithCancel(t)
				r := asks(t, "one", `{"path":"a.txt"}`)
				r.Why, r.Undo = "it is old", "from the backup"
				ask(ctx, other, r)
				b.get("/approvals/").want(t, http.StatusOK, "Nothing waits")
				cancel()
			})
		})
	}
	for name, answer := range map[string]func([]byte) []byte{
		"another version": change(`"v":4`, `"v":7`),
		"another digest":  change(`"digest":"`, `"digest":"0`),
		"nothing":         func([]byte) []byte { return nil },
		"rubbish":         func([]byte) []byte { return []byte("yes") },
	} {
		t.Run("answer: "+name, func(t *testing.T) {
			board := approvals.NewBoard()
			served(t, inbox.Options{Board: board}, func(t *testing.T, in *inbox.Inbox, n *network) {
				b, other := enters(t, n, in, ""), inbox.New(inbox.Options{Board: &forger{board, same, answer}})
				a := ask(t.Context(), other, asks(t, "one", `{"path":"a.txt"}`))
				b.get("/approvals/").want(t, http.StatusOK, "1 waiting")
				b.decides("one", "approve")
				if <-a.over; a.err == nil || a.decision.Verdict == hitl.Approved {
					t.Errorf("got %+v and error %v", a.decision, a.err)
				}
			})
		})
	}
}

// What is sent beside the arguments is on the page, at any replica, exactly as it is.
func TestPageShowsMetaAndInput(t *testing.T) {
	board := approvals.NewBoard()
	served(t, inbox.Options{Board: board}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b, other := enters(t, n, in, ""), inbox.New(inbox.Options{Board: board})
		r := asks(t, "one", `{"path":"a.txt"}`)
		r.Extra = json.RawMessage(`{"_meta":{"dry_run":"<no>"},"requestState":"opaque"}`)
		a := ask(t.Context(), other, r)
		b.get("/approvals/").want(t, http.StatusOK, "Also sent")
		b.get("/approvals/question/one").want(t, http.StatusOK, "&lt;no&gt;")
		b.decides("one", "approve").want(t, http.StatusOK)
		a.want(t, hitl.Approved)
	})
}

// A slow board's next look takes until it is let go.
type slow struct {
	approvals.Board

	next  atomic.Bool
	letGo chan struct{}
}

func (s *slow) Open(ctx context.Context) ([]approvals.Notice, error) {
	notices, err := s.Board.Open(ctx)
	if s.next.CompareAndSwap(true, false) {
		<-s.letGo
	}
	return notices, err
}

// A look at the board that began before a question was put up says nothing of it.
func TestLookThatIsOvertakenEndsNoQuestion(t *testing.T) {
	board := approvals.NewBoard()
	slow := &slow{Board: board}
	served(t, inbox.Options{Board: slow}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b, other := enters(t, n, in, "bob"), inbox.New(inbox.Options{Board: board})
		slow.letGo = make(chan struct{})
		overtaken := make(chan struct{})
		slow.next.Store(true)
		go func() {
			defer close(overtaken)
			b.get("/approvals/")
		}()
		synctest.Wait()
		time.Sleep(time.Second)
		a := ask(t.Context(), other, asks(t, "one", `{}`))
		b.get("/approvals/").want(t, http.StatusOK, "1 waiting")
		close(slow.letGo)
		<-overtaken
		b.get("/approvals/").want(t, http.StatusOK, "1 waiting")
		b.decides("one", "approve").want(t, http.StatusOK, "approved")
		a.want(t, hitl.Approved)
	})
}

type brokenBoard struct{ approvals.Board }

var errBroken = errors.New("out of order")

func (brokenBoard) Post(context.Context, approvals.Notice) error     { return errBroken }
func (brokenBoard) Open(context.Context) ([]approvals.Notice, error) { return nil, errBroken }
func (brokenBoard) Wait(context.Context, string) ([]byte, error)     { return nil, errBroken }
func (brokenBoard) Answer(context.Context, string, []byte) error     { return errBroken }
func (brokenBoard) Remove(context.Context, string) error             { return errBroken }

// A board that does not work is a no, a page all the same, and a line in the log
// for each change.
func TestBrokenBoardIsADenial(t *testing.T) {
	log := new(logged)
	served(t, inbox.Options{Board: brokenBoard{}, Logger: log.logger()}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		d, err := in.Confirm(t.Context(), asks(t, "one", `{}`))
		if !errors.Is(err, errBroken) || d.Verdict == hitl.Approved {
			t.Errorf("got %+v and %v", d, err)
		}
		for range 3 {
			b.get("/approvals/").want(t, http.StatusOK, "Nothing waits")
		}
		if got := strings.Count(log.String(), "questions of other replicas"); got != 1 {
			t.Errorf("%d lines in the log, want 1", got)
		}
	})
}
