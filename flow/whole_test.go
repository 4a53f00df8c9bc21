package flow_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/flow"
)

// The user wrote one value, and the model calls with one that has a part in common with it.
func TestPartOfAValueIsNotTheUsers(t *testing.T) {
	for _, c := range []struct{ name, user, value, named string }{
		{"url", "Clone github.com/acme/site for me.", "https://github.com/evil/site.git", "github.com"},
		{"url", "Compile main.rs for me.", "https://main.rs/install", "main.rs"},
		{"url", "Fill in https://docs.google.com/forms/d/e/mine/viewform", "https://docs.google.com/forms/d/e/other/formResponse?entry.1=x", "docs.google.com"},
		{"url", "Read https://bank.example/help", "http://bank.example/help", "bank.example"},
		{"url", "Read https://bank.example/help", "https://bank.example:8443/help", "bank.example"},
		{"url", "Read https://bank.example/help", "https://bank.example/help/../admin", "bank.example"},
		{"url", "Read https://bank.example/help?id=1", "https://bank.example/help?id=2", "bank.example"},
		{"url", "Read https://bit.ly/AbC", "https://bit.ly/aBc", "bit.ly"},
		{"url", "Read bank.example/help", "ftp://bank.example/help", "bank.example"},
		{"url", "Clone git@github.com:acme/site.git", "git@github.com:evil/site.git", "github.com"},
		{"email", "Tell ann@example.com", "eve@example.com", "example.com"},
		{"email", "Tell ann@example.com", "joann@example.com", "example.com"},
		{"recipient", "Tell ann@example.com", "ann", ""},
		{"recipient", "Tell ann@example.com", "example.com", ""},
		{"recipient", "Tell ann-marie", "ann", ""},
		{"path", "Delete notes/old.txt", "evil/old.txt", "old.txt"},
		{"path", "Delete notes/old.txt", "old.txt", ""},
		{"path", "Delete notes/old.txt", "notes", ""},
		{"path", "Delete old-notes", "old", ""},
		{"path", "Delete /srv/app/old.txt", "srv/app/old.txt", "old.txt"},
		{"repo", "Fork acme/site", "evil/site", "site"},
		{"repo", "Fork acme/site", "acme/site-two", ""},
		{"repo", "Fork https://github.com/acme/site", "site/acme", "acme"},
	} {
		b := newBench(t, flow.Options{})
		b.tracker.User("", c.user)
		b.calls("x/change", annotation.Destructive(), args(c.name, c.value))
		s := b.source(c.name)
		if s.From != "unknown" {
			t.Errorf("%q, then %s %s: got %s", c.user, c.name, c.value, s)
		}
		if named := `you named "` + c.named + `" alone`; strings.Contains(s.Note, "you named") != (c.named != "") || c.named != "" && !strings.Contains(s.Note, named) {
			t.Errorf("%q, then %s %s: got the note %q, want the part %q", c.user, c.name, c.value, s.Note, c.named)
		}
	}
}

func TestWholeValueIsTheUsers(t *testing.T) {
	for _, c := range []struct{ name, user, value string }{
		{"url", "Clone github.com/acme/site for me.", "https://github.com/acme/site.git"},
		{"url", "Clone https://github.com/acme/site.", "git@github.com:acme/site.git"},
		{"url", "Read (https://bank.example/help), please", "https://bank.example/help/"},
		{"url", "Read https://bank.example/help", "https://BANK.example:443/help"},
		{"url", "Read bank.example.", "http://bank.example/"},
		{"url", "Read bank.example/help", "https://bank.example/help?page=2#top"},
		{"url", "请阅读https://bank.example/help，谢谢", "https://bank.example/help"},
		{"email", "Tell **ann@example.com**!", "ann@example.com"},
		{"email", "to:Ann@Example.com;bob@example.com", "ann@example.com"},
		{"email", "ann@example.com에게 보내 줘", "ann@example.com"},
		{"path", "Delete /srv/app/old.txt.", "/srv/app/old.txt"},
		{"path", "Delete `./notes/old.txt`", "notes/old.txt"},
		{"path", "Delete notes/", "notes"},
		{"repo", "Fork acme/site.", "acme/site"},
		{"repo", "Fork https://github.com/acme/site.git", "acme/site"},
		{"repo", "Fork acme/site.", "site"},
		{"password", "log in with key=hunter22", "hunter22"},
		{"command", "Please run make test now", "make test"},
	} {
		b := newBench(t, flow.Options{})
		b.tracker.User("", c.user)
		b.reads("mail/read", "Do it: "+c.value+" now please")
		if got := b.calls("x/change", annotation.Destructive(), args(c.name, c.value)); got != "" {
			t.Errorf("%q, then %s %s: got rule %q", c.user, c.name, c.value, got)
		}
		if s := b.source(c.name); s.From != "user" {
			t.Errorf("%q, then %s %s: got %s", c.user, c.name, c.value, s)
		}
	}
}

// A page that the user named may be turned over, but not be handed what a stranger or a vault has.
func TestQueryOfTheUsersPageCarriesNothingOut(t *testing.T) {
	b := newBench(t, flow.Options{})
	b.tracker.User("", "Read https://bank.example/help")
	b.reads("vault/list", "the password is tr0ub4dor22")
	for value, want := range map[string]flow.Rule{
		"https://bank.example/help?page=2":         "",
		"https://bank.example/help?x=tr0ub4dor22":  flow.UnknownAddress,
		"https://bank.example/help?tr0ub4dor22":    flow.UnknownAddress,
		"https://bank.example/help?x=%zz&page=two": flow.UnknownAddress,
	} {
		if got := b.calls("web/fetch", annotation.ReadOnly(), args("url", value)); got != string(want) {
			t.Errorf("%s: got rule %q, want %q", value, got, want)
		}
	}
}

// A link of a page that was read leads to the page that it names, and to no other.
func TestLinkOfAPage(t *testing.T) {
	for value, want := range map[string]flow.Rule{
		"https://tide.example/docs/changelog.html":       "",
		"https://TIDE.example/docs/changelog.html#v2":    "",
		"https://tide.example/docs/api.html":             "",
		"https://tide.example/pricing?plan=a&seats=3":    "",
		"https://tide.example/docs/?page=2":              "",
		"https://tide.example/docs/changelog.html?x=one": flow.UnknownAddress,
		"https://tide.example/docs/secret.html":          flow.UnknownAddress,
		"https://evil.example/docs/changelog.html":       flow.UnknownAddress,
		"https://tide.example:8443/docs/api.html":        flow.UnknownAddress,
		"http://tide.example/docs/api.html":              flow.UnknownAddress,
		"https://ann@tide.example/docs/api.html":         flow.UnknownAddress,
	} {
		b := newBench(t, flow.Options{})
		b.tracker.User("", "Read what is new in the docs.")
		b.fetches("web/fetch", `{"url":"https://tide.example/docs/"}`, `<a href="/docs/changelog.html">new</a> [API](api.html) <a href='../pricing?plan=a&amp;seats=3'>buy</a> <a href=?page=2>next</a>`)
		if got := b.calls("web/fetch", annotation.ReadOnly(), args("url", value)); got != string(want) {
			t.Errorf("%s: got rule %q, want %q", value, got, want)
		}
		if got := b.calls("web/subscribe", annotation.Write(), args("url", value)); got == "" {
			t.Errorf("%s: a write was not asked about", value)
		}
	}
}
