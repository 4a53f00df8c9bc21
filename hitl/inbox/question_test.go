package inbox_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
)

// The first answer is the one.
func TestDecidedOnce(t *testing.T) {
	for _, tt := range []struct {
		name, first, then string
		want              hitl.Verdict
		says              string
	}{
		{"B221: approved twice", "approve", "approve", hitl.Approved, "decided already: approved by bob"},
		{"B223: denied, then approved", "deny", "approve", hitl.Denied, "decided already: denied by bob"},
		{"approved, then denied", "approve", "deny", hitl.Approved, "decided already: approved by bob"},
		{"approved, then edited", "approve", "edit", hitl.Approved, "decided already: approved by bob"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
				b := enters(t, n, in, "bob")
				a := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`))
				second := b.form("one", tt.then, "arguments", `{"path":"/"}`)
				b.decides("one", tt.first).want(t, http.StatusOK)
				b.post("/approvals/question/one/decision", second).want(t, http.StatusConflict, tt.says)
				second.Set("digest", "of another")
				b.post("/approvals/question/one/decision", second).want(t, http.StatusConflict, "not what waits")
				a.want(t, tt.want)
			})
		})
	}
}

func TestTooLate(t *testing.T) {
	t.Run("B225: a millisecond after its time", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b := enters(t, n, in, "")
			a := ask(t.Context(), in, asks(t, "one", `{}`))
			form := b.form("one", "approve")
			time.Sleep(time.Minute + time.Millisecond)
			b.post("/approvals/question/one/decision", form).want(t, http.StatusGone, "time is over")
			if <-a.over; a.err == nil {
				t.Errorf("got %+v", a.decision)
			}
		})
	})
	t.Run("B225: before anybody has noticed", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b := enters(t, n, in, "")
			r := asks(t, "one", `{}`)
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan struct{})
			go func() { // no deadline of its own
				defer close(over)
				if d, err := in.Confirm(ctx, r); err == nil {
					t.Errorf("got %+v", d)
				}
			}()
			synctest.Wait()
			form := b.form("one", "approve")
			time.Sleep(time.Minute)
			synctest.Wait() // the idle connection is closed at this instant
			b.post("/approvals/question/one/decision", form).want(t, http.StatusGone)
			cancel()
			<-over
		})
	})
}

// What was sent once counts for nothing else.
func TestReplay(t *testing.T) {
	t.Run("B233: for a new call that is the same", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b := enters(t, n, in, "")
			first := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`))
			captured := b.form("one", "approve")
			b.post("/approvals/question/one/decision", captured).want(t, http.StatusOK)
			first.want(t, hitl.Approved)
			second := ask(t.Context(), in, asks(t, "two", `{"path":"a.txt"}`))
			b.post("/approvals/question/one/decision", captured).want(t, http.StatusConflict, "decided already")
			b.post("/approvals/question/two/decision", captured).want(t, http.StatusConflict, "not what waits")
			second.waits(t)
			b.decides("two", "deny")
			second.want(t, hitl.Denied)
		})
	})
}

// The digest is over everything that a yes is to.
func TestOtherDigest(t *testing.T) {
	for name, change := range map[string]func(r *hitl.Request){
		"the id":              func(r *hitl.Request) { r.ID = "two" },
		"the arguments":       func(r *hitl.Request) { r.Arguments = []byte(`{"path":"/"}`) },
		"spelled otherwise":   func(r *hitl.Request) { r.Arguments = []byte(`{ "path":"a.txt"}`) },
		"the definition":      func(r *hitl.Request) { r.Tool = tool(t, "delete", "Delete all files.") },
		"the tool":            func(r *hitl.Request) { r.Tool = tool(t, "purge", "Delete a file.") },
		"whose call it is":    func(r *hitl.Request) { r.Scope = "carl" },
		"a draft":             func(r *hitl.Request) { r.Drafts = []hitl.Draft{{ID: "1", Shown: "x"}} },
		"what may be offered": func(r *hitl.Request) { r.Offers = []hitl.Offer{{Longest: hitl.Always}} },
	} {
		t.Run(name, func(t *testing.T) {
			var digests []string
			for _, f := range []func(*hitl.Request){func(*hitl.Request) {}, func(*hitl.Request) {}, change} {
				served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
					b := enters(t, n, in, "")
					r := asks(t, "one", `{"path":"a.txt"}`)
					f(&r)
					a := ask(t.Context(), in, r)
					digests = append(digests, b.form(r.ID, "deny").Get("digest"))
					b.decides(r.ID, "deny")
					<-a.over
				})
			}
			if digests[0] == "" || digests[0] != digests[1] || digests[0] == digests[2] {
				t.Errorf("got %q", digests)
			}
		})
	}
}

// The one who asks is not the one who answers.
func TestRequesterCannotApprove(t *testing.T) {
	for _, tt := range []struct {
		name, by string
		options  inbox.Options
		status   int
	}{
		{"B211: by its own name", "ann", inbox.Options{}, http.StatusForbidden},
		{"by its own name, in another case", "Ann ", inbox.Options{}, http.StatusForbidden},
		{"B211: opted in", "ann", inbox.Options{OwnCalls: true}, http.StatusOK},
		{"somebody else", "bob", inbox.Options{}, http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := new(logged)
			tt.options.Logger = log.logger()
			served(t, tt.options, func(t *testing.T, in *inbox.Inbox, n *network) {
				b := enters(t, n, in, tt.by)
				a := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`))
				for _, decision := range []string{"edit", "approve"} {
					if tt.status != http.StatusOK || decision == "approve" {
						b.decides("one", decision, "arguments", `{"path":"b"}`).want(t, tt.status)
					}
				}
				if tt.status == http.StatusOK {
					a.want(t, hitl.Approved)
					return
				}
				a.waits(t)
				if !strings.Contains(log.String(), "status=403") {
					t.Errorf("not in the log:\n%s", log.String())
				}
				if strings.Contains(b.get("/approvals/").text, `value="approve"`) {
					t.Error("the page has a button that does nothing")
				}
				b.decides("one", "deny").want(t, http.StatusOK)
				a.want(t, hitl.Denied)
			})
		})
	}
	t.Run("B211: with all that a model can see and no cookie", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b := enters(t, n, in, "")
			a := ask(t.Context(), in, asks(t, "one", `{}`))
			form := b.form("one", "approve")
			model := newBrowser(t, n)
			model.post("/approvals/question/one/decision", form).want(t, http.StatusUnauthorized)
			model.get("/approvals/").want(t, http.StatusUnauthorized)
			model.get("/approvals/question/one").want(t, http.StatusUnauthorized)
			model.get("/approvals/version").want(t, http.StatusUnauthorized)
			a.waits(t)
			b.decides("one", "deny")
		})
	})
}
