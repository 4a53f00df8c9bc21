package inbox_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
)

const ofDelete = "/approvals/together?server=files&tool=delete"

// ticks sends the form of the questions of one tool, as the page shows it.
func (b *browser) ticks(decision string, ids ...string) page {
	b.tb.Helper()
	text, form := b.get(ofDelete).text, url.Values{"decision": {decision}}
	for _, id := range ids {
		form.Set("q-"+id, field(text, "q-"+id))
	}
	return b.post(strings.Replace(ofDelete, "together", "decide", 1), form)
}

// What is ticked is decided, and nothing else, each question as it was shown.
func TestDecideTogether(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "bob")
		one, other := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`)), asks(t, "other", `{}`)
		other.Tool = tool(t, "delete_all", "Delete all.")
		apart := ask(t.Context(), in, other)
		if text := b.get("/approvals/").text; strings.Contains(text, "together?") {
			t.Errorf("one question of a tool is decided together:\n%s", text)
		}
		two, three := ask(t.Context(), in, asks(t, "two", `{"path":"b.txt"}`)), ask(t.Context(), in, asks(t, "three", `{"path":"c.txt"}`))
		b.get("/approvals/").want(t, http.StatusOK, "together?server=files&amp;tool=delete\"")
		shown := b.get(ofDelete)
		shown.want(t, http.StatusOK, "files/delete</bdi>: 3 shown", "&#34;a.txt&#34;", "&#34;b.txt&#34;", "&#34;c.txt&#34;")
		if strings.Contains(shown.text, "delete_all") || strings.Count(shown.text, `type="checkbox"`) != 3 || strings.Contains(shown.text, "checked") {
			t.Errorf("it shows another tool, or ticks for the person:\n%s", shown.text)
		}
		b.ticks("approve").want(t, http.StatusBadRequest, "Nothing was ticked", `role="alert"`)
		b.ticks("edit", "one").want(t, http.StatusBadRequest, "neither yes nor no")
		one.waits(t)
		b.ticks("approve", "one", "three").want(t, http.StatusOK, `&#34;a.txt&#34;}</bdi>: approved.`, `&#34;c.txt&#34;}</bdi>: approved.`, "2 waiting")
		for _, a := range []*asked{one, three} {
			if got := a.want(t, hitl.Approved); got.By != "bob" || got.Arguments != nil || got.Remember != hitl.Once {
				t.Errorf("got %+v", got)
			}
		}
		two.waits(t)
		apart.waits(t)
		b.ticks("deny", "two").want(t, http.StatusOK, "files/delete</bdi>: denied.")
		two.want(t, hitl.Denied)
		b.get(ofDelete).want(t, http.StatusOK, "nothing waits")
		b.decides("other", "deny")
	})
}

// A box is good for what was shown beside it, and what is folded, left out or the person's
// own has none.
func TestTickedIsWhatWasShown(t *testing.T) {
	for name, change := range map[string]func(r *hitl.Request, form url.Values){
		"another question's": func(_ *hitl.Request, form url.Values) { form.Set("q-one", form.Get("q-two")) },
		"none":               func(_ *hitl.Request, form url.Values) { form.Set("q-one", "") },
		"folded":             func(r *hitl.Request, _ url.Values) { r.Arguments = object(strings.Repeat("word ", 100), "a") },
		"left out":           func(r *hitl.Request, _ url.Values) { r.Arguments = object(strings.Repeat("x", 5000), "a") },
		"a long draft": func(r *hitl.Request, _ url.Values) {
			r.Drafts = []hitl.Draft{{ID: "1", Shown: strings.Repeat("x", 600)}}
		},
		"own": func(r *hitl.Request, _ url.Values) { r.Scope = "Bob" },
	} {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b, r, form := enters(t, n, in, "bob"), asks(t, "one", `{"path":"a.txt"}`), url.Values{"decision": {"approve"}}
			change(&r, form)
			one, two := ask(t.Context(), in, r), ask(t.Context(), in, asks(t, "two", `{"path":"b.txt"}`))
			text := b.get(ofDelete).text
			boxed := regexp.MustCompile(`name="q-one"`).MatchString(text)
			if whole := name == "another question's" || name == "none"; boxed != whole {
				t.Errorf("%s: it has a box: %t", name, boxed)
			}
			form.Set("q-one", field(b.get("/approvals/question/one").text, "digest")) // by hand
			form.Set("q-two", field(text, "q-two"))
			change(&r, form)
			b.post(strings.Replace(ofDelete, "together", "decide", 1), form).want(t, http.StatusOK, ": not decided, it still waits.", ": approved.")
			one.waits(t)
			two.want(t, hitl.Approved)
			b.decides("one", "deny")
		})
	}
}

// One that is over is over, the others are decided, and the list tells which.
func TestTickedThatIsOver(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		one, two := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`)), ask(t.Context(), in, asks(t, "two", `{"path":"b.txt"}`))
		text := b.get(ofDelete).text
		b.decides("one", "deny")
		b.post(strings.Replace(ofDelete, "together", "decide", 1), url.Values{"decision": {"approve"}, "q-one": {field(text, "q-one")}, "q-two": {field(text, "q-two")}}).
			want(t, http.StatusOK, "a.txt&#34;}</bdi>: denied.", "b.txt&#34;}</bdi>: approved.")
		one.want(t, hitl.Denied)
		two.want(t, hitl.Approved)
	})
}
