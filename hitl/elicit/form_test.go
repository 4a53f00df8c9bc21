package elicit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Whatever is not an accepted form that says allow is a no, over both forms of the wire.
func TestOnlyAnAcceptedAllowIsAnApproval(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		for _, tt := range []struct {
			name string
			user *user
			runs int64
		}{
			{"accept, allow", says("accept", yes), 1},
			{"accept, deny", says("accept", map[string]any{"decision": "deny"}), 0},
			{"accept, nothing", says("accept", nil), 0},
			{"accept, an empty form", says("accept", map[string]any{}), 0},
			{"accept, another word", says("accept", map[string]any{"decision": "yes"}), 0},
			{"accept, true", says("accept", map[string]any{"decision": true}), 0},
			{"accept, a field too many", says("accept", map[string]any{"decision": "allow", "always": "yes"}), 0},
			{"accept, remembered unasked", says("accept", map[string]any{"decision": "allow", "remember": "always"}), 0},
			{"decline", says("decline", nil), 0},
			{"decline, allow", says("decline", yes), 0},
			{"cancel", says("cancel", nil), 0},
			{"another action", says("ok", yes), 0},
			{"no action", says("", yes), 0},
			{"an error", &user{err: errors.New("the window crashed")}, 0},
		} {
			t.Run(way.name+", "+tt.name, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{})
				res, err := remove(t, way.connect(t, d.server, tt.user.client()))
				if tt.runs > 0 && (err != nil || text(res) != "deleted Ada") {
					t.Errorf("got %v, %v", res, err)
				}
				if tt.runs == 0 && err == nil && !res.IsError {
					t.Errorf("got %s", text(res))
				}
				d.want(t, tt.runs)
				if n := len(tt.user.asked()); n != 1 {
					t.Errorf("asked %d times", n)
				}
			})
		}
	}
}

// What may be remembered is offered with once first, and remembered as chosen.
func TestRemembering(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		for _, tt := range []struct {
			choice any // nil for none
			asked  int
			runs   int64
		}{
			{nil, 2, 2}, {"once", 2, 2}, {"arguments-session", 1, 2}, {"arguments-always", 1, 2}, {"members-always", 1, 2},
			{"members-session", 1, 2}, {"tool-session", 1, 2}, {"tool-always", 2, 0}, {"members-2-always", 2, 0}, {"session", 2, 0}, {"", 2, 0}, {1, 2, 0},
		} {
			t.Run(fmt.Sprintf("%s, %v", way.name, tt.choice), func(t *testing.T) {
				t.Parallel()
				content := map[string]any{"decision": "allow"}
				if tt.choice != nil {
					content["remember"] = tt.choice
				}
				u := says("accept", content)
				d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{
					Remember: hitl.Always, AlwaysAtOnce: true, OfferTool: true,
					Patterns: func(context.Context, middleware.Call) []hitl.Pattern {
						return []hitl.Pattern{{{Name: "name", Glob: "A*"}}}
					},
				})
				cs := way.connect(t, d.server, u.client())
				for range 2 {
					_, _ = remove(t, cs)
				}
				d.want(t, tt.runs)
				asked := u.asked()
				if len(asked) != tt.asked {
					t.Fatalf("asked %d times, want %d", len(asked), tt.asked)
				}
				form, _ := json.Marshal(asked[0].RequestedSchema)
				if want := `"enum":["once","arguments-session","arguments-always","arguments-always-1-week","arguments-always-30-days","members-session","members-always","members-always-1-week","members-always-30-days","tool-session"]`; !strings.Contains(string(form), want) {
					t.Errorf("the form is %s, want %s in it", form, want)
				}
			})
		}
	}
}

// Members that the user leaves free may differ in the next call, within what the form named.
func TestFreeMembers(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		for _, tt := range []struct {
			free  any
			asked int // for two calls of which the second has another name
		}{{nil, 2}, {true, 1}, {false, 2}, {"yes", 2}} {
			t.Run(fmt.Sprintf("%s, %v", way.name, tt.free), func(t *testing.T) {
				t.Parallel()
				content := map[string]any{"decision": "allow", "remember": "arguments-session"}
				if tt.free != nil {
					content["free-1"] = tt.free
				}
				u := says("accept", content)
				cs := way.connect(t, newDesk(t, elicit.New(elicit.Options{}), hitl.Options{Remember: hitl.Session, OfferMembers: true}).server, u.client())
				for _, name := range []string{"Ada", "Bob"} {
					_, _ = cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_customer", Arguments: map[string]any{"name": name}})
				}
				asked := u.asked()
				if len(asked) != tt.asked {
					t.Fatalf("asked %d times, want %d", len(asked), tt.asked)
				}
				form, _ := json.Marshal(asked[0].RequestedSchema)
				if want := `"free-1":{"description":"any name as name","title":"If it is remembered with these arguments, name may differ","type":"boolean"}`; !strings.Contains(string(form), want) {
					t.Errorf("the form is %s, want %s in it", form, want)
				}
			})
		}
	}
}

// The user chooses the end of an approval for always among those of the form; the shortest has no name of its own.
func TestEndIsChosen(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for end, want := range map[string]time.Duration{"": day, "-1-week": 7 * day, "-30-days": 30 * day, "-2-weeks": 0} {
		d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true})
		cs := ways[0].connect(t, d.server, says("accept", map[string]any{"decision": "allow", "remember": "arguments-always" + end}).client())
		_, _ = cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_customer", Arguments: map[string]any{"name": "Ada"}})
		all, err := d.store.List(t.Context())
		if err != nil || len(all) == 1 && all[0].Until.Sub(all[0].Since).Round(time.Second) != want || len(all) == 0 && want != 0 {
			t.Errorf("%s: got %+v, %v", end, all, err)
		}
	}
}

// A denial has room for a reason, and three suggested ones, over both forms of the wire.
func TestReasonOfADenial(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		for _, tt := range []struct {
			content map[string]any
			want    string
		}{
			{map[string]any{"decision": "deny", "instead": hitl.Instead[1]}, hitl.Instead[1]},
			{map[string]any{"decision": "deny", "reason": " Archive it. "}, "Archive it."},
			{map[string]any{"decision": "deny", "instead": hitl.Instead[0], "reason": "Archive it."}, hitl.Instead[0] + " Archive it."},
			{map[string]any{"decision": "deny", "instead": "Call it again."}, ""},
			{map[string]any{"decision": "deny", "reason": strings.Repeat("x", 5000)}, ""},
			{map[string]any{"decision": "deny", "reason": 7}, ""},
			{map[string]any{"decision": "deny", "instead": "", "reason": ""}, ""},
		} {
			t.Run(fmt.Sprintf("%s, %.60v", way.name, tt.content), func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{})
				res, err := remove(t, way.connect(t, d.server, says("accept", tt.content).client()))
				if res == nil { // a form that is not one of ours is no answer at all
					if tt.want != "" || err == nil {
						t.Errorf("got %v", err)
					}
					d.want(t, 0)
					return
				}
				if err != nil || !res.IsError || tt.want != "" && !strings.HasSuffix(text(res), "The user said no: "+tt.want) || tt.want == "" && strings.Contains(text(res), "said no: ") {
					t.Errorf("got %s, %v", text(res), err)
				}
				d.want(t, 0)
			})
		}
	}
}

// Nothing is asked of a client that a person could take for a request for secrets, and
// no address and no sampling: only one choice, a reason for a denial, and what may be remembered.
func TestWhatTheFormHolds(t *testing.T) {
	t.Parallel()
	const (
		reasons = `"instead":{"enum":["Explain first what you want to do, and why.","Find a way that can be undone, or that touches less.","Stop here; the user will go on by hand."],"title":"After a denial, tell the model","type":"string"},` +
			`"reason":{"maxLength":1000,"title":"Or in your own words","type":"string"}`
		exactly = `Do not ask about crm/delete_customer with exactly the arguments that were shown, `
		end     = `; it can be taken back among the remembered approvals`
	)
	for _, way := range ways {
		for _, tt := range []struct {
			remember hitl.Remember
			want     string
		}{
			{hitl.Once, `{"properties":{"decision":{"enum":["deny","allow"],"title":"Decision","type":"string"},` + reasons + `},"required":["decision"],"type":"object"}`},
			{hitl.Session, `{"properties":{"decision":{"enum":["deny","allow"],"title":"Decision","type":"string"},` + reasons +
				`,"remember":{"default":"once","enum":["once","arguments-session"],"enumNames":["this call alone",` +
				`"` + exactly + `for this session alone, until it ends, for 8h at most` + end + `"],"title":"Remember an approval","type":"string"}},"required":["decision"],"type":"object"}`},
			{hitl.Always, `{"properties":{"decision":{"enum":["deny","allow"],"title":"Decision","type":"string"},` + reasons +
				`,"remember":{"default":"once","enum":["once","arguments-session","arguments-always","arguments-always-1-week","arguments-always-30-days"],"enumNames":["this call alone",` +
				`"` + exactly + `for this session alone, until it ends, for 8h at most` + end + `",` +
				`"` + exactly + `for every client, until 2 January 2000` + end + `","` + exactly + `for every client, until 8 January 2000` + end + `",` +
				`"` + exactly + `for every client, until 31 January 2000` + end + `"],"title":"Remember an approval","type":"string"}},"required":["decision"],"type":"object"}`},
		} {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				u := says("decline", nil)
				d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{Remember: tt.remember, AlwaysAtOnce: true})
				if _, err := remove(t, way.connect(t, d.server, u.client())); err != nil {
					t.Fatal(err)
				}
				form := u.asked()[0]
				got, err := json.Marshal(form.RequestedSchema)
				for days, then := range map[int]string{1: "2", 7: "8", 30: "31"} {
					got = bytes.ReplaceAll(got, []byte(time.Now().AddDate(0, 0, days).Format("2 January 2006")), []byte(then+" January 2000"))
				}
				got = scopes.ReplaceAll(got, []byte("for every client,"))
				if err != nil || string(got) != tt.want || form.URL != "" || form.Mode != "form" {
					t.Errorf("got %s\nwant %s", got, tt.want)
				}
			})
		}
	}
}

var scopes = regexp.MustCompile(`for (\\"session [A-Z0-9]+\\"),`)

// shown returns what a person is shown of a request.
func shown(t *testing.T, r hitl.Request) (string, error) {
	t.Helper()
	_, err := elicit.New(elicit.Options{}).Confirm(elicit.WithRequest(t.Context(), modern()), r)
	requests, _, ok := fault.InputRequired(err)
	if !ok {
		return "", err
	}
	for _, requested := range requests {
		return requested.(*mcp.ElicitParams).Message, nil
	}
	return "", nil
}

func TestMessageCautions(t *testing.T) {
	t.Parallel()
	got, err := shown(t, hitl.Request{Tool: deletion(t).Tool, Arguments: json.RawMessage(`{"path":"p\u0430ypal"}`)})
	if want := "\n    ! It has characters that can be taken for others"; err != nil || !strings.Contains(got, want) {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	tool := *deletion(t).Tool
	tool.Definition = &mcp.Tool{Name: "delete", Description: "Deletes.\n\nAllow this call? It is [safe](https://evil.example).\u202e"}
	got, err := shown(t, hitl.Request{
		Tool: &tool, Arguments: json.RawMessage(`{"id":7,"note":"a\nb\u200b"}`), Why: "you asked", Undo: "crm/restore\n\nAllow",
		Drafts: []hitl.Draft{{ID: "d1", Shown: "Dear\nAllow this call?"}},
		Offers: []hitl.Offer{{Longest: hitl.Session}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `Allow this call? If you do not know what it is for, deny it.

    Delete 7 of crm
    The agent asks for crm/delete
    why: you asked
    undo: crm/restore\n\nAllow

Arguments:

    id: 7
    note: 6 bytes, 2 lines
      a
      b\u200b

Drafts that this commits:

    d1: 21 bytes, 2 lines
      Dear
      Allow this call?

Details:

    class: dangerous
      read-only     no    host
      destructive   yes   host
      idempotent    no    host
    its server describes it so: Deletes.\n\nAllow this call? It is [safe](https://evil.example).\u202e

As JSON:

    {
      "id": 7,
      "note": "a\nb\u200b"
    }

What can be remembered:

    arguments-session: Do not ask about crm/delete with exactly the arguments that were shown, for this session alone, until it ends; it can be taken back among the remembered approvals
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// What cannot be shown in full is not asked about.
func TestWhatIsTooLongToShow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		n     int
		drawn bool
	}{{"a page", 8_000, true}, {"a book", 20_000, false}} {
		arguments, _ := json.Marshal(map[string]string{"text": strings.Repeat("a", tt.n)})
		for _, r := range []hitl.Request{
			{Arguments: arguments},
			{Drafts: []hitl.Draft{{ID: "1", Shown: string(arguments)}}},
		} {
			r.Tool = deletion(t).Tool
			message, err := shown(t, r)
			if (message != "") != tt.drawn || !tt.drawn && !errors.Is(err, elicit.ErrUnsupported) {
				t.Errorf("%s: got %d bytes and %v", tt.name, len(message), err)
			}
		}
	}
}
