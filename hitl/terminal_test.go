package hitl_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/terminal"
)

// The dialog begins with what runs and its real name, whatever title it goes by.
func TestTheRealNameComesFirst(t *testing.T) {
	t.Parallel()
	t.Run("B033", func(t *testing.T) {
		t.Parallel()
		out, request := new(screen), asks(t, `{}`)
		request.Tool.Definition.Name, request.Tool.Definition.Title = "drop_table", "Safe read"
		_, _ = terminal.New(strings.NewReader("n\n"), out).Confirm(t.Context(), request)
		if got := strings.TrimSpace(out.String()); !strings.HasPrefix(got, "╭─ Drop table of files\n  │ ! It cannot be undone here.\n  │ The agent asks for files/drop_table\n") || strings.Contains(got, "Safe read") {
			t.Errorf("got\n%s", got)
		}
	})
}

// What a model puts in the way of the eye is counted and not drawn.
func TestBlankLinesInArgumentsPushNothingOutOfSight(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"B247: 200 blank lines", "ok" + strings.Repeat("\n", 200) + "rm -rf /", "  │   ok\n  │   \n  │   ⟦198 newlines⟧rm -rf /\n"},
		{"B247: 200 lines of spaces", "ok" + strings.Repeat(" ", 200) + "rm -rf /", `"ok⟦200 spaces⟧rm -rf /"`},
		{"B247: 200 blank lines after a backslash and an n", `C:\new` + strings.Repeat("\n", 200) + "x", "  │   C:\\\\new\n  │   \n  │   ⟦198 newlines⟧x\n"},
		{"two lines are two lines", "a\nb", "  │   a\n  │   b\n"},
		{"a backslash and an n are not a new line", `C:\new\\n\n`, `text         "C:\\new\\\\n\\n"`},
		{"a count cannot be faked", `⟦200 newlines⟧`, `text         "\u27e6200 newlines\u27e7"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			arguments, err := json.Marshal(map[string]string{"text": tt.text})
			if err != nil {
				t.Fatal(err)
			}
			out := new(screen)
			_, _ = terminal.New(strings.NewReader("n\n"), out).Confirm(t.Context(), asks(t, string(arguments)))
			if got := out.String(); !strings.Contains(got, tt.want) || strings.Contains(got, "\n\n\n") {
				t.Errorf("no %s in\n%s", tt.want, got)
			}
		})
	}
	t.Run("B247: what does not fit is announced", func(t *testing.T) {
		t.Parallel()
		out := new(screen)
		_, _ = terminal.New(strings.NewReader("n\n"), out).Confirm(t.Context(), asks(t, fmt.Sprintf(`{"text":"ok%srm -rf /"}`, strings.Repeat(`\r\n`, 400))))
		if got := out.String(); !strings.Contains(got, " are not shown; d shows them") {
			t.Errorf("got\n%s", got)
		}
	})
}

func TestTerminalShowsTheCaution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := new(screen)
		_, _ = terminal.New(strings.NewReader("e\n{\"a\":\"p\\u0430y\"}\nn\n"), out).Confirm(t.Context(), asks(t, `{"path":"p\u0430ypal"}`))
		if got := out.String(); strings.Count(got, "│ ! It has characters") != 2 {
			t.Errorf("want a caution for each of two questions:\n%s", got)
		}
	})
}

func TestTerminalRemembersWhatItOffers(t *testing.T) {
	t.Parallel()
	offers := []hitl.Offer{{Longest: hitl.Always, Lifetime: 24 * time.Hour}, {Pattern: hitl.Pattern{{Name: "path", Glob: "*.txt\n"}}, Longest: hitl.Session}}
	for _, tt := range []struct {
		typed  string
		offers []hitl.Offer
		want   hitl.Decision
	}{
		{"y", offers, yes},
		{"s", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session}},
		{"A", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Always, Lifetime: 24 * time.Hour}},
		{"s2", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session, Offer: 1}},
		{"s 2", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session, Offer: 1}},
		{"a2", offers, hitl.Decision{}},
		{"s3", offers, hitl.Decision{}},
		{"s0", offers, hitl.Decision{}},
		{"arguments-always", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Always, Lifetime: 24 * time.Hour}},
		{"tool-session", append(offers, hitl.Offer{Tool: true, Longest: hitl.Session}), hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session, Offer: 2}},
		{"f path\ns", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session, Free: []string{"path"}}},
		{"f path\na", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Always, Lifetime: 24 * time.Hour, Free: []string{"path"}}},
		{"f path\ns2", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session, Offer: 1}},
		{"f path\ny", offers, yes},
		{"f path", offers, hitl.Decision{}},
		{"f dir\ns", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session}},
		{"f path\ns", nil, hitl.Decision{}},
		{"e\n{\"path\":\"b\"}\nf path\ns", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session, Arguments: json.RawMessage(`{"path":"b"}`)}},
		{"stop", offers, hitl.Decision{}},
		{"archive it", offers, hitl.Decision{}},
		{"s", nil, hitl.Decision{}},
		{"a", offers[1:], hitl.Decision{}},
		{"e\n{\"path\":\"b\"}\ns2", offers, hitl.Decision{}}, // the pattern was not about this
		{"e\n{\"path\":\"b\"}\ns", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session, Arguments: json.RawMessage(`{"path":"b"}`)}},
	} {
		t.Run(tt.typed, func(t *testing.T) {
			t.Parallel()
			out := new(screen)
			r := asks(t, `{"path":"a.txt"}`)
			if r.Offers = tt.offers; tt.offers != nil {
				r.Free = approvals.FreeMembers(r.Arguments)
			}
			got, err := terminal.New(strings.NewReader(tt.typed+"\nn\n"), out).Confirm(t.Context(), r)
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tt.want) || err != nil {
				t.Errorf("got %+v and error %v, want %+v", got, err, tt.want)
			}
			if want := "s2           Do not ask about files/delete with path like \"*.txt\\n\", for"; len(tt.offers) > 1 && !strings.Contains(out.String(), want) {
				t.Errorf("not shown: %s", out)
			}
		})
	}
}

func TestTerminalShowsDrafts(t *testing.T) {
	t.Parallel()
	out := new(screen)
	r := asks(t, `{"draft_id":["d1","d2"]}`)
	r.Drafts = []hitl.Draft{
		{ID: `"d1"`, Shown: `{"id":"d1","to":"Ann"}`},
		{ID: `"d2"`, Shown: "to: Bob\x1b[2J" + strings.Repeat("\n", 200) + "and Mallory" + strings.Repeat("\nmore", 20)},
	}
	if _, err := terminal.New(strings.NewReader("d\ny\n"), out).Confirm(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"its id": `"d1" id      "d1"`, "one member a line": `"d1" to      "Ann"`, "the other": `"d2"         `, "what controls a terminal": `to: Bob\x1b[2J`,
		"B247: blank lines are counted": `⟦198 newlines⟧and Mallory`, "B247: what is left out is announced": "are not shown; d shows them",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: no %q in %s", name, want, out)
		}
	}
}

func TestTerminalAnnouncesWhatIsBelowTheFold(t *testing.T) {
	t.Parallel()
	out := new(screen)
	defer func() {
		if want := "  │   a\n  │   \n  │   \\nb \\\\n\\\\n\\\\n\\\\n\\\\n\n"; !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out)
		}
	}()
	r := asks(t, `{"text":"hello`+strings.Repeat(`\n`, 200)+`rm -rf /","kept":"a\n\n\nb \\n\\n\\n\\n\\n"}`)
	if _, err := terminal.New(strings.NewReader("y\n"), out).Confirm(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "  │   hello\n  │   \n  │   ⟦198 newlines⟧rm -rf /\n") {
		t.Errorf("B247: the payload is not beside what it hides behind: %s", out)
	}
}

// A screen is what a terminal shows.
type screen struct{ bytes.Buffer }

func asks(tb testing.TB, arguments string) hitl.Request {
	tb.Helper()
	return hitl.Request{
		Tool: tool(tb, "delete", annotation.Destructive()), Arguments: json.RawMessage(arguments), Deadline: time.Now().Add(30 * time.Second),
	}
}
