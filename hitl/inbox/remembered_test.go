package inbox_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/inbox"
)

// A failing store has lost what it had.
type failing struct{ approvals.Store }

func (failing) List(context.Context) ([]approvals.Standing, error) { return nil, errors.New("broken") }

func remember(t *testing.T, store approvals.Store, id, scope, tool string) {
	t.Helper()
	now := time.Now()
	err := store.Remember(t.Context(), approvals.Standing{
		ID: id, Scope: scope, Server: "files", Tool: tool, Definition: "d", Class: "dangerous", By: "ada<b>", Since: now, Until: now.Add(time.Hour),
		Pattern: approvals.Pattern{{Name: "path", Glob: "drafts/*"}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What is remembered is shown with its terms, on the page of a question what is of its tool and
// scope, and a button takes it back.
func TestRememberedIsShownAndTakenBack(t *testing.T) {
	store := approvals.NewMemory()
	served(t, inbox.Options{Store: store}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "bob")
		b.get("/approvals/").want(t, http.StatusOK, "Nothing is remembered.")
		remember(t, store, "s1", "ann", "delete")
		remember(t, store, "s2", "ann", "other")
		remember(t, store, "s3", "eve", "delete")
		a := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`))
		const sentence = "files/delete with path under drafts/, any name"
		for path, want := range map[string]int{"/approvals/": 3, "/approvals/question/one": 1} {
			p := b.get(path)
			p.want(t, http.StatusOK, "<bdi>Do not ask about "+sentence+", for ann, until ", "by ada&lt;b&gt;, since 2000-01-01 ", "used 0 times", `aria-label="Take back: `+sentence)
			if got := strings.Count(p.text, ">Take back<"); got != want {
				t.Errorf("%s: %d are shown, want %d:\n%s", path, got, want, p.text)
			}
		}
		b.post("/approvals/forget", url.Values{"id": {"none"}}).want(t, http.StatusGone, "was taken back already")
		b.post("/approvals/forget", url.Values{"id": {"s1"}}).want(t, http.StatusOK, "<bdi>"+sentence+"</bdi>: taken back.", "by <bdi>bob</bdi>")
		b.post("/approvals/forget", url.Values{"id": {"s1"}}).want(t, http.StatusGone, "was taken back already")
		if left, err := store.List(t.Context()); err != nil || len(left) != 2 {
			t.Errorf("got %+v, %v", left, err)
		}
		b.decides("one", "deny")
		a.want(t, hitl.Denied)
	})
}

// Without a store the page shows nothing and takes nothing back, and with one that does not
// answer it shows that.
func TestRememberedWithoutAnAnswer(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		if text := b.get("/approvals/").text; strings.Contains(text, "emembered") {
			t.Errorf("got\n%s", text)
		}
		b.post("/approvals/forget", url.Values{"id": {"s1"}}).want(t, http.StatusGone)
	})
	served(t, inbox.Options{Store: failing{}}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		b.get("/approvals/").want(t, http.StatusOK, "cannot be read now")
		b.post("/approvals/forget", url.Values{"id": {"s1"}}).want(t, http.StatusServiceUnavailable, "may still be remembered")
	})
}
