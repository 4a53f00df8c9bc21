package inbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/inbox"
)

func TestPersonDecides(t *testing.T) {
	offers := []hitl.Offer{
		{Longest: hitl.Session},
		{Pattern: approvals.Pattern{{Name: "path", Glob: "*.txt"}}, Longest: hitl.Always},
	}
	for _, tt := range []struct {
		name, decision string
		more           []string
		want           hitl.Decision
		history        string
	}{
		{"yes", "approve", nil, hitl.Decision{Verdict: hitl.Approved, By: "bob"}, "approved"},
		{"yes, for this call only", "approve", []string{"remember", "once"}, hitl.Decision{Verdict: hitl.Approved, By: "bob"}, "approved"},
		{"yes, for the session", "approve", []string{"remember", "arguments-session"}, hitl.Decision{Verdict: hitl.Approved, By: "bob", Remember: hitl.Session}, "approved"},
		{"yes, for always, a pattern", "approve", []string{"remember", "members-always"}, hitl.Decision{Verdict: hitl.Approved, By: "bob", Remember: hitl.Always, Offer: 1}, "approved"},
		{
			"yes, with a member left free", "approve", []string{"remember", "arguments-session", "free-0", "on"},
			hitl.Decision{Verdict: hitl.Approved, By: "bob", Remember: hitl.Session, Free: []string{"path"}}, "approved",
		},
		{"a free member of nothing", "approve", []string{"remember", "once", "free-0", "on"}, hitl.Decision{Verdict: hitl.Approved, By: "bob"}, "approved"},
		{"no", "deny", nil, hitl.Decision{By: "bob"}, "denied"},
		{"no, and why", "deny", []string{"reason", " archive it\r\ninstead "}, hitl.Decision{By: "bob", Reason: "archive it\ninstead"}, "archive it"},
		{"yes, edited", "edit", []string{"arguments", `{"path":"b.txt"}`}, hitl.Decision{Verdict: hitl.Approved, By: "bob", Arguments: json.RawMessage(`{"path":"b.txt"}`)}, "approved as edited"},
		{
			"yes, edited to digits past 2^53", "edit", []string{"arguments", `{"n":9007199254740993,"x":0.1000000000000000055}`},
			hitl.Decision{Verdict: hitl.Approved, By: "bob", Arguments: json.RawMessage(`{"n":9007199254740993,"x":0.1000000000000000055}`)}, "approved as edited",
		},
		{"an edit that changes nothing", "edit", []string{"arguments", "{\r\n  \"path\": \"a.txt\"\r\n}"}, hitl.Decision{Verdict: hitl.Approved, By: "bob"}, "approved"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
				b := enters(t, n, in, "bob")
				r := asks(t, "one", `{"path":"a.txt"}`)
				r.Offers, r.Free = offers, approvals.FreeMembers(r.Arguments)
				a := ask(t.Context(), in, r)
				b.decides("one", tt.decision, tt.more...).want(t, http.StatusOK, "files/delete", tt.history, "Nothing waits", "by <bdi>bob</bdi>")
				got := a.want(t, tt.want.Verdict)
				if fmt.Sprintf("%+v %s", got, got.Arguments) != fmt.Sprintf("%+v %s", tt.want, tt.want.Arguments) {
					t.Errorf("got %+v, want %+v", got, tt.want)
				}
			})
		})
	}
}

func TestSilenceIsNoAnswer(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		a := ask(t.Context(), in, asks(t, "one", `{}`))
		b.get("/approvals/").want(t, http.StatusOK, "1 waiting", "1 min left")
		time.Sleep(50 * time.Second)
		b.get("/approvals/").want(t, http.StatusOK, "10 s left")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		<-a.over
		if !errors.Is(a.err, errSilent) || a.decision.Verdict == hitl.Approved {
			t.Errorf("got %+v and error %v", a.decision, a.err)
		}
		b.get("/approvals/").want(t, http.StatusOK, "Nothing waits", "denied: nobody answered in time")
		b.get("/approvals/question/one").want(t, http.StatusGone, "nobody answered in time")
	})
}

func TestCallerThatGivesUpTakesItsQuestionAlong(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		ctx, cancel := contextWithCancel(t)
		a := ask(ctx, in, asks(t, "one", `{}`))
		form := b.form("one", "approve")
		cancel()
		synctest.Wait()
		<-a.over
		b.post("/approvals/question/one/decision", form).want(t, http.StatusGone)
		b.get("/approvals/").want(t, http.StatusOK, "given up by the caller")
	})
}

// A question that cannot be shown, or told from another, is a no.
func TestRequestThatCannotBeShownIsDeniedB323(t *testing.T) {
	served(t, inbox.Options{MaxPending: 2}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		first := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`))
		refused := func(r hitl.Request, want string) {
			t.Helper()
			d, err := in.Confirm(t.Context(), r)
			if err == nil || d.Verdict == hitl.Approved || !strings.Contains(err.Error(), want) {
				t.Errorf("got %+v and error %v, want one that says %q", d, err, want)
			}
		}
		refused(asks(t, "", `{}`), "without a tool or an ID")
		refused(hitl.Request{ID: "x"}, "without a tool or an ID")
		refused(asks(t, "one", `{"path":"/"}`), "known already") // B323: while it waits
		first.waits(t)
		b.decides("one", "deny").want(t, http.StatusOK)
		first.want(t, hitl.Denied)
		refused(asks(t, "one", `{"path":"/"}`), "known already") // and once it is decided
		ask(t.Context(), in, asks(t, "two", `{}`))
		ask(t.Context(), in, asks(t, "three", `{}`))
		refused(asks(t, "four", `{}`), "2 questions already wait")
		time.Sleep(time.Minute)
	})
}

func TestThousandPending(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		for i := range 1000 {
			ask(t.Context(), in, asks(t, fmt.Sprintf("q%d", i), `{"path":"a.txt"}`))
			// A thousand goroutines that wake at one instant end the race detector by a check of its own.
			time.Sleep(time.Millisecond)
		}
		if _, err := in.Confirm(t.Context(), asks(t, "q1000", `{}`)); err == nil {
			t.Error("the one after the last was taken")
		}
		p := b.get("/approvals/")
		p.want(t, http.StatusOK, "1000 waiting", fmt.Sprintf("%d more wait", 1000-inbox.MaxCards))
		if got := strings.Count(p.text, "<article"); got != inbox.MaxCards {
			t.Errorf("got %d on the page, want %d", got, inbox.MaxCards)
		}
		t.Logf("the page has %d KiB", len(p.text)>>10)
		b.decides("q999", "approve").want(t, http.StatusOK, "999 waiting")
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(in.Waiting()) != 0 || in.Kept() != inbox.MaxHistory {
			t.Errorf("%d wait and %d are kept, want 0 and %d", len(in.Waiting()), in.Kept(), inbox.MaxHistory)
		}
	})
}

func TestNewRefusesWhatHasNoMeaning(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]inbox.Options{
		"no slash in front":    {Path: "approvals/"},
		"no slash at the end":  {Path: "/approvals"},
		"a pattern":            {Path: "/{tenant}/"},
		"a query":              {Path: "/a?b/"},
		"nobody's host":        {Hosts: []string{""}},
		"less than no pending": {MaxPending: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if v := recover(); v == nil || !strings.HasPrefix(fmt.Sprint(v), "inbox: ") {
					t.Errorf("got panic %v", v)
				}
			}()
			inbox.New(o)
		})
	}
}
