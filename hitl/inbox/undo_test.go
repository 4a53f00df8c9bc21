package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/middleware"
)

// The history offers to take a call back, by a form that starts it once at a time and keeps the button if it fails.
func TestHistoryOffersToTakeACallBack(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "bob")
		of := asks(t, "one", `{"path":"a.txt"}`)
		of.Caller = hitl.Caller{User: "ann", Client: "<i>desk"}
		a := ask(t.Context(), in, of)
		b.decides("one", "approve")
		a.want(t, hitl.Approved)
		b.post("/approvals/undo", url.Values{"id": {"one"}}).want(t, http.StatusGone, "nothing that takes it back")

		started, results := make(chan string), make(chan error)
		in.Undoable(middleware.Call{Tool: asks(t, "", `{}`).Tool}, hitl.Undo{Question: "one", Server: "files", Tool: "restore<b>", Arguments: json.RawMessage(`{"path":"a.txt"}`)},
			func(_ context.Context, person string) error {
				started <- person
				return <-results
			})
		p := b.get("/approvals/")
		p.want(t, http.StatusOK, "Undo…", "files/restore&lt;b&gt;", "asked about first", "approved", "<bdi>on behalf of ann, by a token for &#34;&lt;i&gt;desk&#34;</bdi>:")
		if got := strings.Count(p.text, "data-past="); got != 1 {
			t.Errorf("the history has %d entries, want the one of the question", got)
		}
		for i, result := range []error{errors.New("hitl: denied\n\u202eby ann"), nil} {
			b.post("/approvals/undo", url.Values{"id": {"one"}}).want(t, http.StatusOK, "being taken back, once that is approved")
			if by := <-started; by != "bob" {
				t.Errorf("started by %q", by)
			}
			b.post("/approvals/undo", url.Values{"id": {"one"}}).want(t, http.StatusConflict, "or that is being asked about")
			results <- result
			synctest.Wait()
			p = b.get("/approvals/")
			if again := strings.Contains(p.text, "Undo…"); again != (i == 0) {
				t.Errorf("the button is there: %v\n%s", again, p.text)
			}
			if result != nil {
				p.want(t, http.StatusOK, `not taken back: hitl: denied\n\u202eby ann`)
			}
		}
		p.want(t, http.StatusOK, "<bdi>taken back</bdi>")
		b.post("/approvals/undo", url.Values{"id": {"one"}}).want(t, http.StatusConflict, "taken back already")
	})
}

// A call that nobody was asked about gets an entry of its own; a panic is an error, and a stranger takes nothing back.
func TestCallWithoutAQuestionIsTakenBack(t *testing.T) {
	log := new(logged)
	served(t, inbox.Options{Logger: log.logger()}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		in.Undoable(middleware.Call{Tool: tool(t, "move", ""), Arguments: json.RawMessage(`{"source":"a"}`)}, hitl.Undo{Server: "files", Tool: "move"},
			func(context.Context, string) error { panic("boom") })
		p := b.get("/approvals/")
		p.want(t, http.StatusOK, "<bdi>files/move</bdi>", "made without a question here", "{&#34;source&#34;:&#34;a&#34;}", "Undo…")
		_, id, _ := strings.Cut(p.text, `data-past="`)
		id, _, _ = strings.Cut(id, `"`)
		stranger := newBrowser(t, n)
		stranger.post("/approvals/undo", url.Values{"id": {id}}).want(t, http.StatusUnauthorized)
		if strings.Contains(log.String(), "boom") {
			t.Fatal("a stranger started it")
		}
		b.post("/approvals/undo", url.Values{"id": {id}})
		synctest.Wait()
		b.get("/approvals/").want(t, http.StatusOK, "not taken back: it panicked", "Undo…")
	})
}
