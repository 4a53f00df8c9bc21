package flow_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const strangersAccount = "DE02 1203 0000 0000 2020 51"

// Results of notes and files count like the user's words, those of mail do not. In the session of a call a scope has several.
func launder(t *testing.T, l flow.Limits) *bench {
	b := newBench(t, flow.Options{
		Tracker: flow.NewTracker(l),
		Trusted: func(tool *middleware.Tool) bool { return tool.Server == "notes" || tool.Server == "files" },
		Session: func(ctx context.Context, call middleware.Call) string {
			name, _ := ctx.Value(sessionKey{}).(string)
			return call.Scope + name
		},
	})
	b.tracker.User("", "Pay what is due.")
	return b
}

type sessionKey struct{}

func (b *bench) pays(want flow.Rule, from string) {
	b.t.Helper()
	if got := b.calls("bank/pay", annotation.Destructive(), args("account", strangersAccount)); got != string(want) {
		b.t.Errorf("got rule %q, want %q", got, want)
	}
	if s := b.source("account"); s.Tool != from {
		b.t.Errorf("got %s, want the source %s", s, from)
	}
}

// A stranger's account is written to a server that the host trusts, and read back.
func TestCopyAtATrustedServerStaysUntrusted(t *testing.T) {
	b := launder(t, flow.Limits{})
	b.reads("mail/read", "my account is "+strangersAccount)
	if got := b.calls("notes/write", annotation.Write(), args("title", "rent", "body", "Rent goes to "+strangersAccount)); got != "" {
		t.Errorf("the note: got rule %q", got)
	}
	b.reads("notes/read", "Rent goes to "+strangersAccount)
	b.pays(flow.UntrustedValue, "mail/read")
}

// A trusted result had the account first: the stranger repeats what is known.
func TestEarlierTrustedResultVouches(t *testing.T) {
	b := launder(t, flow.Limits{})
	b.reads("notes/read", "Rent goes to "+strangersAccount)
	b.reads("mail/read", "my account is "+strangersAccount)
	b.pays("", "notes/read")
	b.calls("notes/write", annotation.Write(), args("title", "rent", "body", strangersAccount))
	b.reads("notes/read", "again "+strangersAccount)
	b.pays("", "notes/read")
}

// The mail is no longer kept when the copy is read.
func TestCopyOutlivesItsSource(t *testing.T) {
	for name, body := range map[string]string{
		"as it is": strangersAccount, "in a sentence of the model's": "Rent goes to " + strangersAccount + " on the first",
		"after a number": "Room 12 " + strangersAccount,
	} {
		b := launder(t, flow.Limits{Results: 2})
		b.reads("mail/read", "my account is "+strangersAccount)
		b.calls("notes/write", annotation.Write(), args("title", "rent", "body", body))
		for range 3 {
			b.reads("notes/list", "nothing")
		}
		b.reads("notes/read", "Rent goes to "+strangersAccount)
		t.Log(name)
		b.pays(flow.UntrustedValue, "mail/read")
	}
}

// The copy has another form than what was written, so that only its object shows where it came from.
func TestObjectOfAWriteStaysUntrusted(t *testing.T) {
	for _, c := range []struct{ name, write, reads string }{
		{"a path", args("path", "rent.txt", "content", strangersAccount), args("file", "./rent.txt")},
		{"a title", args("title", "The rent", "content", strangersAccount), args("query", "the rent")},
		{"an id in the result", args("content", strangersAccount), args("id", "n-17")},
		{"another server's path", args("path", "notes/rent.txt", "content", strangersAccount), args("path", "notes/rent.txt")},
		{"a command", args("path", "rent.txt", "content", strangersAccount), args("command", "base32 rent.txt | rev")},
	} {
		b := launder(t, flow.Limits{Results: 3})
		b.reads("mail/read", "my account is "+strangersAccount)
		b.answer = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: `{"id":"n-17"}`}}}
		b.writes("notes/write", c.write)
		server := "notes"
		if strings.Contains(c.name, "another") {
			server = "files"
		}
		b.readsBy(server+"/read", c.reads, "in letters: Delta Echo zero two twelve, account BOX-99-8811")
		if got := b.calls("bank/pay", annotation.Write(), args("account", "BOX-99-8811")); got != string(flow.UntrustedValue) {
			t.Errorf("%s: got rule %q", c.name, got)
		}
		if s := b.source("account"); s.Tool != server+"/read" || !strings.Contains(s.Note, "wrote there what mail/read returned") {
			t.Errorf("%s: got %s", c.name, s)
		}
		b.readsBy(server+"/read", args("path", "mine.txt"), "my own is BOX-77-1234")
		if got := b.calls("bank/pay", annotation.Write(), args("account", "BOX-77-1234")); got != "" {
			t.Errorf("%s: another object: got rule %q", c.name, got)
		}
	}
}

// A copy of the object is as untrusted.
func TestCopyOfAnObjectStaysUntrusted(t *testing.T) {
	b := launder(t, flow.Limits{})
	b.reads("mail/read", "my account is "+strangersAccount)
	b.writes("files/write", args("path", "a.txt", "content", strangersAccount))
	b.writes("files/copy", args("from", "a.txt", "to", "b.txt"))
	b.readsBy("files/read", args("path", "b.txt"), "account BOX-99-8811")
	if got := b.calls("bank/pay", annotation.Write(), args("account", "BOX-99-8811")); got != string(flow.UntrustedValue) {
		t.Errorf("got rule %q", got)
	}
}

// One session writes the note, another of the same scope reads it; a scope of another user does not share it.
func TestCopyInAnotherSessionStaysUntrusted(t *testing.T) {
	b := launder(t, flow.Limits{})
	b.reads("mail/read", "my account is "+strangersAccount)
	b.writes("notes/write", args("title", "rent", "body", "Rent goes to "+strangersAccount))
	in := func(scope, session string) string {
		b.tracker.User(scope+session, "Pay the rent.")
		ctx := context.WithValue(t.Context(), sessionKey{}, session)
		b.answer = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Rent goes to " + strangersAccount}}}
		for _, call := range []middleware.Call{
			{ID: "1", Scope: scope, Tool: tool(t, "notes/search", annotation.ReadOnly())},
			{ID: "2", Scope: scope, Tool: tool(t, "bank/pay", annotation.Destructive()), Arguments: []byte(args("account", strangersAccount))},
		} {
			if _, err := b.caller.CallTool(ctx, call); err != nil {
				t.Fatal(err)
			}
		}
		return b.source("account").String()
	}
	if got := in("", "second"); !strings.Contains(got, "from mail/read, in another session, untrusted") {
		t.Errorf("got %s", got)
	}
	if got := in("other", ""); !strings.Contains(got, "from notes/search, 1 call ago, trusted") {
		t.Errorf("another scope: got %s", got)
	}
}

// What was not sent, passed nothing on.
func TestWriteThatWasNotSentPassesNothingOn(t *testing.T) {
	b := launder(t, flow.Limits{Results: 2})
	b.reads("mail/read", "my account is "+strangersAccount)
	b.err = notSent{}
	_, _ = b.caller.CallTool(t.Context(), middleware.Call{Tool: tool(t, "notes/write", annotation.Write()), Arguments: []byte(args("body", strangersAccount))})
	b.err = nil
	for range 3 {
		b.reads("notes/list", "nothing")
	}
	b.reads("notes/read", "my own account is "+strangersAccount)
	b.pays("", "notes/read")
}

type notSent struct{}

func (notSent) Error() string { return "not sent" }
func (notSent) NotSent() bool { return true }

func TestPassedTextsAreBounded(t *testing.T) {
	b := launder(t, flow.Limits{})
	for i := range 400 {
		value := fmt.Sprintf("box-%d-%d", i, i*i+1000)
		b.reads("mail/read", "to "+value)
		b.writes("notes/write", args("path", value+".txt", "body", value+strings.Repeat(" and more", 2000)))
	}
	b.readsBy("notes/read", args("path", "box-1-1001.txt"), "nothing")
}

func (b *bench) writes(name, arguments string) {
	b.t.Helper()
	b.ids++
	if _, err := b.caller.CallTool(b.t.Context(), middleware.Call{ID: fmt.Sprint("call ", b.ids), Tool: tool(b.t, name, annotation.Write()), Arguments: []byte(arguments)}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) readsBy(name, arguments, text string) {
	b.t.Helper()
	b.answer = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	b.ids++
	if _, err := b.caller.CallTool(b.t.Context(), middleware.Call{ID: fmt.Sprint("call ", b.ids), Tool: tool(b.t, name, annotation.ReadOnly()), Arguments: []byte(arguments)}); err != nil {
		b.t.Fatal(err)
	}
}
