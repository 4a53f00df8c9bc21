package elicit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The legs of a call as they cross the wire: the question is a result that asks for
// input and holds nothing else, and only its own answer runs the tool, once.
func TestLegsOfACall(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		if !strings.HasSuffix(way.name, mcptest.Modern) {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{})
			cs := way.connect(t, d.server, byHand())
			call := func(p *mcp.CallToolParams) *mcp.CallToolResult {
				t.Helper()
				res, err := cs.CallTool(mcptest.Context(t), p)
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			asked := call(first())
			if !asked.NeedsInput() || asked.IsError || len(asked.Content) != 0 || asked.StructuredContent != nil || len(asked.InputRequests) != 1 {
				raw, _ := json.Marshal(asked)
				t.Fatalf("got %s, want a question alone", raw)
			}
			for _, requested := range asked.InputRequests {
				if form, ok := requested.(*mcp.ElicitParams); !ok || form.Mode != "form" || form.URL != "" {
					t.Errorf("got %#v, want a form", requested)
				}
			}
			d.want(t, 0)

			otherTool, otherName := second(call(first()), accepted), second(call(first()), accepted)
			otherTool.Name = "purge_customer"
			otherName.Arguments = json.RawMessage(`{"name":"Bob"}`)
			for _, p := range []*mcp.CallToolParams{otherTool, otherName} {
				if res := call(p); !res.IsError {
					t.Errorf("%s %s: got %s", p.Name, p.Arguments, text(res))
				}
			}
			d.want(t, 0)

			if res := call(second(asked, accepted)); text(res) != "deleted Ada" {
				t.Errorf("got %s", text(res))
			}
			if res := call(second(asked, accepted)); !res.IsError {
				t.Errorf("the answer was good twice: %s", text(res))
			}
			d.want(t, 1)
		})
	}
}

// Nothing is asked of a client that a person could take for a request for secrets, and
// no address and no sampling: only one choice, and what may be remembered.
func TestWhatTheFormHolds(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		for _, tt := range []struct {
			remember hitl.Remember
			want     string
		}{
			{hitl.Once, `{"properties":{"decision":{"enum":["deny","allow"],"title":"Decision","type":"string"}},"required":["decision"],"type":"object"}`},
			{hitl.Session, `{"properties":{"decision":{"enum":["deny","allow"],"title":"Decision","type":"string"},` +
				`"remember":{"enum":["once","arguments-session"],"enumNames":["this call alone",` +
				`"crm/delete_customer with exactly the arguments that were shown, for this session"],"title":"Remember an approval","type":"string"}},"required":["decision"],"type":"object"}`},
			{hitl.Always, `{"properties":{` +
				`"always":{"default":"30 days","enum":["1 day","1 week","30 days"],"enumNames":["1 day, until 2 January 2000","1 week, until 8 January 2000",` +
				`"30 days, until 31 January 2000"],"title":"How long, if it is remembered for always","type":"string"},` +
				`"decision":{"enum":["deny","allow"],"title":"Decision","type":"string"},` +
				`"remember":{"enum":["once","arguments-session","arguments-always"],"enumNames":["this call alone",` +
				`"crm/delete_customer with exactly the arguments that were shown, for this session",` +
				`"crm/delete_customer with exactly the arguments that were shown, until 31 January 2000 at the latest"],` +
				`"title":"Remember an approval","type":"string"}},"required":["decision"],"type":"object"}`},
		} {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				u := says("decline", nil)
				d := newDesk(t, elicit.New(elicit.Options{}), hitl.Options{Remember: tt.remember})
				if _, err := remove(t, way.connect(t, d.server, u.client())); err != nil {
					t.Fatal(err)
				}
				form := u.asked()[0]
				got, err := json.Marshal(form.RequestedSchema)
				for days, then := range map[int]string{1: "2", 7: "8", 30: "31"} {
					got = bytes.ReplaceAll(got, []byte(time.Now().AddDate(0, 0, days).Format("2 January 2006")), []byte(then+" January 2000"))
				}
				if err != nil || string(got) != tt.want || form.URL != "" || form.Mode != "form" {
					t.Errorf("got %s\nwant %s", got, tt.want)
				}
			})
		}
	}
}

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
	if want := "\n    caution: it has characters that can be taken for others"; err != nil || !strings.Contains(got, want) {
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

    crm/delete: dangerous
      read-only     no    host
      destructive   yes   host
      idempotent    no    host
    it says of itself: Deletes.\n\nAllow this call? It is [safe](https://evil.example).\u202e
    why: you asked
    undo: crm/restore\n\nAllow

Arguments:

    {
      "id": 7,
      "note": "a\nb\u200b"
    }

Draft:

    id: d1
    Dear
    Allow this call?

What can be remembered:

    arguments-session: crm/delete with exactly the arguments that were shown, for this session
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

// The contract of a middleware, for one that ends in a question and for one whose
// client comes back with a yes.
func TestContract(t *testing.T) {
	t.Parallel()
	ask := hitl.New(elicit.New(elicit.Options{}), hitl.Options{Writes: true, MaxPending: 1000})
	withRequest := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			return next.CallTool(elicit.WithRequest(ctx, modern()), call)
		})
	}
	middlewaretest.Run(t, func(next middleware.ToolCaller) middleware.ToolCaller { return withRequest(ask(next)) })
	t.Run("both legs", func(t *testing.T) {
		t.Parallel()
		middlewaretest.Run(t, func(next middleware.ToolCaller) middleware.ToolCaller {
			asks := withRequest(hitl.New(elicit.New(elicit.Options{}), hitl.Options{Writes: true})(next))
			return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				res, err := asks.CallTool(ctx, call)
				if _, state, ok := fault.InputRequired(err); ok {
					call.Input = &middleware.Input{State: state, Responses: mcp.InputResponseMap{"fairlead.confirm": accepted}}
					return asks.CallTool(ctx, call)
				}
				return res, err
			})
		})
	})
}
