package inbox_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/inbox"
)

// hostile does all that a text can do to a page, a terminal and an eye.
const hostile = "\x1b[8m</pre><script>alert(1)</script>\u202egpj\u200b\U000e0041\x00\"'><img src=x onerror=alert(1)>{{.}}\\x1b"

// What a server, a model and a person wrote is shown and never obeyed.
func TestHostileTextIsSeen(t *testing.T) {
	for _, tt := range []struct {
		name string
		put  func(r *hitl.Request)
	}{
		{"the tool's name", func(r *hitl.Request) { r.Tool.Definition.Name = hostile }},
		{"the server's id", func(r *hitl.Request) { r.Tool.Server = hostile }},
		{"the description", func(r *hitl.Request) { r.Tool.Definition.Description = hostile }},
		{"why", func(r *hitl.Request) { r.Why = hostile }},
		{"undo", func(r *hitl.Request) { r.Undo = hostile }},
		{"whose call", func(r *hitl.Request) { r.Scope = hostile }},
		{"the call's id", func(r *hitl.Request) { r.CallID = hostile }},
		{"a value", func(r *hitl.Request) { r.Arguments = object(hostile, "x") }},
		{"a value in a list", func(r *hitl.Request) { r.Arguments, _ = json.Marshal(map[string]any{"a": []string{hostile}}) }},
		{"a member's name", func(r *hitl.Request) { r.Arguments = object("x", hostile) }},
		{"no JSON", func(r *hitl.Request) { r.Arguments = json.RawMessage(hostile) }},
		{"a draft", func(r *hitl.Request) { r.Drafts = []hitl.Draft{{ID: hostile, Shown: hostile}} }},
		{"an offer", func(r *hitl.Request) {
			r.Offers = []hitl.Offer{{Pattern: approvals.Pattern{{Name: hostile, Glob: hostile}}, Longest: hitl.Always}}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
				b := enters(t, n, in, hostile)
				r := asks(t, "one", `{"path":"a.txt"}`)
				tt.put(&r)
				a := ask(t.Context(), in, r)
				for _, path := range []string{"/approvals/", "/approvals/question/one"} {
					wantHarmless(t, b.get(path).text)
				}
				if text := b.get("/approvals/question/one").text; !strings.Contains(text, `\u202egpj`) {
					t.Errorf("it is not to be seen:\n%s", text)
				}
				b.decides("one", "deny", "reason", hostile).want(t, http.StatusOK)
				reason := a.want(t, hitl.Denied).Reason
				if strings.ContainsFunc(reason, func(r rune) bool { return unicode.Is(unicode.C, r) }) {
					t.Errorf("the reason is %q", reason)
				}
				wantHarmless(t, b.get("/approvals/").text)
			})
		})
	}
	t.Run("B235: a reason with ANSI and a script", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b := enters(t, n, in, "")
			a := ask(t.Context(), in, asks(t, "one", `{}`))
			b.decides("one", "deny", "reason", "\x1b[31m<script>no</script>").want(t, http.StatusOK, "“[31m&lt;script&gt;no&lt;/script&gt;”")
			a.want(t, hitl.Denied)
		})
	})
}

func object(value, name string) json.RawMessage {
	text, _ := json.Marshal(map[string]string{name: value}) // two texts
	return text
}

var (
	scripts   = regexp.MustCompile(`<script[^>]*>`)
	ownScript = `<script src="/approvals/script.js" defer>`
)

func wantHarmless(t *testing.T, text string) {
	t.Helper()
	for _, tag := range scripts.FindAllString(text, -1) {
		if tag != ownScript {
			t.Errorf("got %s", tag)
		}
	}
	if strings.Contains(text, "<img") {
		t.Error("got an image")
	}
	shown := html.UnescapeString(text)
	if i := strings.IndexFunc(shown, func(r rune) bool { return r != '\n' && (unicode.Is(unicode.C, r) || r == '\ufffd') }); i >= 0 {
		t.Errorf("%q reaches the page", shown[max(0, i-20):min(len(shown), i+20)])
	}
}

func TestPageCautions(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		a := ask(t.Context(), in, asks(t, "one", `{"path":"p\u0430ypal"}`))
		for _, path := range []string{"/approvals/", "/approvals/question/one"} {
			b.get(path).want(t, http.StatusOK, "It has characters that can be taken for others")
		}
		b.decides("one", "deny").want(t, http.StatusOK)
		a.want(t, hitl.Denied)
	})
}

// A person sees what belongs to the question, and what is different this time.
func TestPageShowsTheWholeQuestion(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		long := strings.Repeat("a long line. ", 20)
		r := asks(t, "one", fmt.Sprintf(`{"path":"a.txt","mode":1,"body":%q}`, long))
		r.Why, r.Undo = "to make room", "it is kept for a week"
		r.Offers = []hitl.Offer{{Longest: hitl.Session}, {Tool: true, Longest: hitl.Always, Lifetime: 10 * 24 * time.Hour}}
		r.Lifetimes = approvals.Lifetimes(10 * 24 * time.Hour)
		r.Drafts = []hitl.Draft{{ID: "7", Shown: `{"to":"bob"}`}}
		first := ask(t.Context(), in, r)
		for _, path := range []string{"/approvals/", "/approvals/question/one"} {
			b.get(path).want(t, http.StatusOK, "files/delete", "dangerous", "<li>destructive yes inferred by &#34;delete&#34;", "Delete a file.", "to make room",
				"it is kept for a week", "ann", "call-1", "1 min left", "&#34;a.txt&#34;", "Delete a.txt of files", "260 bytes, 1 line")
		}
		b.get("/approvals/question/one").want(t, http.StatusOK, long, "<bdi>7 to</bdi>", "&#34;bob&#34;")
		b.get("/approvals/").want(t, http.StatusOK, " are not shown.")
		b.get("/approvals/question/one").want(t, http.StatusOK, `value="arguments-session" checked> <bdi>Do not ask about files/delete with exactly the arguments that were shown, for this session alone`)
		b.get("/approvals/question/one").want(t, http.StatusOK, `value="tool-always">`, `value="tool-always-1-week">`, `value="tool-always-10-days">`)
		b.decides("one", "approve", "remember", "tool-always-30-days").want(t, http.StatusBadRequest, "no such thing to remember")
		b.decides("one", "approve").want(t, http.StatusOK)
		first.want(t, hitl.Approved)

		ask(t.Context(), in, asks(t, "two", `{}`))
		b.get("/approvals/question/two").want(t, http.StatusOK, "No arguments.")
		b.decides("two", "deny")
	})
}

// What a list leaves out cannot be approved from it.
func TestListApprovesOnlyWhatItShows(t *testing.T) {
	many := make(map[string]int)
	for i := range 100 {
		many[fmt.Sprint("member ", i)] = i
	}
	members, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		r     func(r *hitl.Request)
		whole bool
	}{
		{"a little", func(*hitl.Request) {}, true},
		{"a long value", func(r *hitl.Request) { r.Arguments = object(strings.Repeat("x", 5000)+"rm -rf", "a") }, false},
		{"a long name", func(r *hitl.Request) { r.Arguments = object("a", strings.Repeat("x", 5000)+"rm -rf") }, false},
		{"many members", func(r *hitl.Request) { r.Arguments = members }, false},
		{"a long description, of which nothing is approved", func(r *hitl.Request) { r.Tool.Definition.Description = strings.Repeat("x", 5000) }, true},
		{"a value that is longer than the list has room for, by a little", func(r *hitl.Request) { r.Arguments = object(strings.Repeat("x", 400), "a") }, false},
		{"a long draft", func(r *hitl.Request) { r.Drafts = []hitl.Draft{{ID: "1", Shown: strings.Repeat("x", 5000)}} }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
				b := enters(t, n, in, "")
				r := asks(t, "one", `{"path":"a.txt"}`)
				tt.r(&r)
				ask(t.Context(), in, r)
				list := b.get("/approvals/").text
				if got := strings.Contains(list, `value="approve"`); got != tt.whole {
					t.Errorf("the list approves: %t, want %t", got, tt.whole)
				}
				b.get("/approvals/question/one").want(t, http.StatusOK, `value="approve"`)
				if !tt.whole { // nor by a form of the list that somebody makes
					b.decides("one", "approve", "shown", "").want(t, http.StatusForbidden, "Not all of it was shown")
					b.get("/approvals/").want(t, http.StatusOK, "1 waiting")
				}
				if len(list) > 64<<10 {
					t.Errorf("the list has %d bytes", len(list))
				}
				b.decides("one", "deny")
			})
		})
	}
}

// What was typed is not lost with a mistake in it.
func TestMistakeKeepsWhatWasTyped(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		a := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`))
		b.decides("one", "edit", "arguments", `{"path":"<b>.txt",}`).want(t, http.StatusBadRequest, `role="alert"`, "&lt;b&gt;.txt&#34;,}</textarea>")
		b.decides("one", "deny", "reason", strings.Repeat("long ", inbox.MaxReason)).want(t, http.StatusBadRequest, "long long", "at most 4096")
		a.waits(t)
		b.decides("one", "deny")
	})
}

// Landmarks, labels and headings, without a browser.
func TestPageWorksOnAnyScreenAndKeyboard(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		a := ask(t.Context(), in, asks(t, "one", `{"path":"a.txt"}`))
		b.get("/approvals/").want(t, http.StatusOK, `<html lang="en">`, "width=device-width", "<main>", "<h1>", `class="skip"`, `role="status"`,
			`aria-label="Approve: Delete a.txt of files"`, `aria-labelledby="t-one"`, `<noscript><meta http-equiv="refresh" content="10; url=/approvals/">`)
		p := b.get("/approvals/question/one")
		p.want(t, http.StatusOK, `<label for="reason">`, `<label for="arguments">`, "<main>", "<nav")
		if strings.Contains(p.text, "http-equiv") {
			t.Error("the page with the editor reloads under the person's hands")
		}
		b.get("/approvals/style.css").want(t, http.StatusOK, "color-scheme: light dark", "max-width: 36rem")
		b.decides("one", "deny").want(t, http.StatusOK, `role="status" tabindex="-1" autofocus`)
		a.want(t, hitl.Denied)
	})
}

func TestVersionCountsTheChanges(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		version := func(want string) {
			t.Helper()
			if got := b.get("/approvals/version"); got.status != http.StatusOK || got.text != want {
				t.Errorf("got %d %q, want %q", got.status, got.text, want)
			}
		}
		version("0")
		a := ask(t.Context(), in, asks(t, "one", `{}`))
		version("1")
		b.decides("one", "deny")
		<-a.over
		version("2")
	})
}

// The page of a question shows the latest decisions on the same tool, and on no other.
func TestEarlierDecisions(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "bob")
		for i := range 6 {
			ask(t.Context(), in, asks(t, fmt.Sprint("q", i), fmt.Sprintf(`{"path":"%d.txt"}`, i)))
			b.decides(fmt.Sprint("q", i), "deny", "reason", fmt.Sprint("because ", i))
		}
		other := asks(t, "other", `{"path":"other.txt"}`)
		other.Tool = new(*other.Tool)
		other.Tool.Server = "mail"
		ask(t.Context(), in, other)
		page := b.get("/approvals/question/other")
		page.want(t, http.StatusOK, "mail/delete")
		if strings.Contains(page.text, "Earlier") {
			t.Errorf("it shows those of another tool:\n%s", page.text)
		}
		ask(t.Context(), in, asks(t, "now", `{"path":"now.txt"}`))
		page = b.get("/approvals/question/now")
		page.want(t, http.StatusOK, "Earlier decisions on this tool", "1.txt", "because 5")
		if strings.Contains(page.text, "0.txt") {
			t.Errorf("more than five are shown:\n%s", page.text)
		}
	})
}
