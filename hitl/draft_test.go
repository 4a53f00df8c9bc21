package hitl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var twoSteps = []hitl.TwoStep{{Server: "files", Draft: "draft", Commit: "commit"}}

// An office makes drafts and commits them.
type office struct {
	tb     testing.TB
	person *person
	shown  [][]hitl.Draft
	caller middleware.ToolCaller
	ran    []string
	answer *mcp.CallToolResult // of the next draft
	before func()              // a commit is handed over
	fail   error
}

func newOffice(tb testing.TB, o hitl.Options) *office {
	tb.Helper()
	f := &office{tb: tb, person: agreeable()}
	o.TwoSteps = twoSteps
	ask := hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
		f.shown = append(f.shown, r.Drafts)
		if r.Offers != nil {
			tb.Error("a commit can be remembered")
		}
		return f.person.Confirm(ctx, r)
	})
	next := guarded(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		f.ran = append(f.ran, call.Tool.Name()+" "+string(call.Arguments))
		if call.Tool.Name() == "draft" {
			return f.answer, nil
		}
		return done, f.fail
	}))
	f.caller = hitl.New(ask, o)(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if f.before != nil && call.Tool.Name() != "draft" {
			f.before()
		}
		return next.CallTool(ctx, call)
	}))
	return f
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func (f *office) draft(scope string, answer *mcp.CallToolResult) {
	f.tb.Helper()
	f.answer = answer
	_, err := f.caller.CallTool(f.tb.Context(), middleware.Call{Scope: scope, Tool: tool(f.tb, "draft", annotation.Write())})
	if err != nil {
		f.tb.Fatal(err)
	}
}

func (f *office) commit(scope, arguments string, a annotation.Annotations) error {
	f.tb.Helper()
	f.ran = nil
	_, err := f.caller.CallTool(f.tb.Context(), middleware.Call{Scope: scope, Tool: tool(f.tb, "commit", a), Arguments: json.RawMessage(arguments)})
	return err
}

func TestCommitNeedsTheDraftThatWasShown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, arguments, scope string
		asked                  int64
		shown                  string
		denied                 string // "" where it runs
	}{
		{"the draft", `{"draft_id":"d1"}`, "ann", 1, `["d1"]`, ""},
		{"a bulk lists its items", `{"draft_id":["d1","d2"]}`, "ann", 1, `["d1" "d2"]`, ""},
		{"a number", `{"draft_id":7}`, "ann", 1, `[7]`, ""},
		{"the number as text", `{"draft_id":"7"}`, "ann", 0, "", "was not made here"},
		{"one that was never made", `{"draft_id":"d9"}`, "ann", 0, "", "was not made here"},
		{"one of a bulk was never made", `{"draft_id":["d1","d9"]}`, "ann", 0, "", "was not made here"},
		{"of another scope", `{"draft_id":"d1"}`, "bob", 0, "", "was not made here"},
		{"an empty list", `{"draft_id":[]}`, "ann", 0, "", "unclear which drafts"},
		{"more than can be shown", `{"draft_id":[` + strings.Repeat(`"d1",`, 100) + `"d1"]}`, "ann", 0, "", "101 ids"},
		{"an empty id", `{"draft_id":""}`, "ann", 0, "", "unclear which drafts"},
		{"two in different cases", `{"draft_id":"d1","Draft_ID":"d2"}`, "ann", 0, "", "only in case"}, // which of them the server takes is its affair
		{"in another case", `{"DRAFT_ID":"d1"}`, "ann", 0, "", "another case"},
		{"null", `{"draft_id":null}`, "ann", 0, "", "unclear which drafts"},
		{"an object", `{"draft_id":{"id":"d1"}}`, "ann", 0, "", "unclear which drafts"},
		{"a direct commit asks", `{"to":"bob"}`, "ann", 1, `[]`, ""},
	} {
		for name, a := range map[string]annotation.Annotations{"dangerous": annotation.Destructive(), "moderate": annotation.Write(), "safe": annotation.ReadOnly()} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				t.Parallel()
				f := newOffice(t, hitl.Options{Remember: hitl.Always, AlwaysAtOnce: true})
				f.draft("ann", text(`{"id":"d1","text":"one"}`))
				f.draft("ann", text(`{"id":"d2","text":"two"}`))
				f.draft("ann", &mcp.CallToolResult{StructuredContent: map[string]any{"id": 7}})
				f.draft("bob", text(`{"id":"d3"}`))
				f.person.want(t, 0)
				err := f.commit(tt.scope, tt.arguments, a)
				f.person.want(t, tt.asked)
				if runs := len(f.ran) == 1; runs != (tt.denied == "") || runs != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.denied) {
					t.Errorf("ran %q, error %v, want %q", f.ran, err, tt.denied)
				}
				if tt.asked == 0 {
					return
				}
				ids := []string{}
				for _, d := range f.shown[0] {
					ids = append(ids, d.ID)
					if d.Shown == "" || len(d.Digest) != 64 {
						t.Errorf("shown as %+v", d)
					}
				}
				if got := fmt.Sprint(ids); got != tt.shown {
					t.Errorf("shown %s, want %s", got, tt.shown)
				}
			})
		}
	}
}

// Ids of drafts differ in their last digit past 2^53: each is its own draft, shown as the tool wrote it.
func TestDraftsOfLongNumbersAreTold(t *testing.T) {
	t.Parallel()
	for name, draft := range map[string]func(answer string) *mcp.CallToolResult{
		"text": text,
		"structured": func(answer string) *mcp.CallToolResult {
			return &mcp.CallToolResult{StructuredContent: json.RawMessage(answer)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newOffice(t, hitl.Options{})
			f.draft("ann", draft(`{"id":9007199254740992,"amount":0.1}`))
			f.draft("ann", draft(`{"id":9007199254740993,"amount":0.1000000000000000055}`))
			if err := f.commit("ann", `{"draft_id":9007199254740994}`, annotation.Write()); err == nil || len(f.ran) > 0 {
				t.Errorf("a draft that was not made: %v, ran %q", err, f.ran)
			}
			if err := f.commit("ann", `{"draft_id":9007199254740993}`, annotation.Write()); err != nil {
				t.Fatal(err)
			}
			if got := f.shown[0]; len(got) != 1 || got[0].ID != "9007199254740993" || got[0].Shown != `{"id":9007199254740993,"amount":0.1000000000000000055}` {
				t.Errorf("shown %+v", got)
			}
			if len(f.ran) != 1 || !strings.HasSuffix(f.ran[0], `{"draft_id":9007199254740993}`) {
				t.Errorf("ran %q", f.ran)
			}
		})
	}
}

func TestDenialOfACommitIsADenial(t *testing.T) {
	t.Parallel()
	f := newOffice(t, hitl.Options{})
	f.draft("ann", text(`{"id":"d1"}`))
	f.person.decision = hitl.Decision{}
	if err := f.commit("ann", `{"draft_id":"d1"}`, annotation.Write()); !errors.Is(err, hitl.ErrDenied) || f.ran != nil {
		t.Errorf("ran %q, error %v", f.ran, err)
	}
}

func TestApprovalIsBoundToTheDraftAsItWasShown(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]annotation.Annotations{"dangerous": annotation.Destructive(), "moderate": annotation.Write()} {
		t.Run("changed between the yes and the commit, "+name, func(t *testing.T) {
			t.Parallel()
			f := newOffice(t, hitl.Options{})
			f.draft("ann", text(`{"id":"d1","amount":1}`))
			var changed bool
			change := func() { changed = true; f.draft("ann", text(`{"id":"d1","amount":1000}`)) }
			if f.before = change; name == "moderate" { // its yes is used at once
				f.before = nil
				ask := f.person
				f.caller = hitl.New(hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
					change()
					return ask.Confirm(ctx, r)
				}), hitl.Options{TwoSteps: twoSteps})(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
					f.ran = append(f.ran, call.Tool.Name())
					return f.answer, nil
				}))
				f.draft("ann", text(`{"id":"d1","amount":1}`))
			}
			err := f.commit("ann", `{"draft_id":"d1"}`, a)
			if !changed || err == nil || !strings.Contains(err.Error(), "the draft has changed since it was shown") || !middleware.NotSent(err) {
				t.Errorf("got error %v", err)
			}
			if got := strings.Join(f.ran, " "); strings.Contains(got, "commit") {
				t.Errorf("ran %q", got)
			}
		})
	}
	t.Run("made again with the same content", func(t *testing.T) {
		t.Parallel()
		f := newOffice(t, hitl.Options{})
		f.draft("ann", text(`{"id":"d1","amount":1}`))
		f.before = func() { f.draft("ann", text(`{"id":"d1","amount":1}`)) }
		if err := f.commit("ann", `{"draft_id":"d1"}`, annotation.Destructive()); err != nil {
			t.Error(err)
		}
	})
	t.Run("an edit that names another draft", func(t *testing.T) {
		t.Parallel()
		f := newOffice(t, hitl.Options{})
		f.draft("ann", text(`{"id":"d1"}`))
		f.draft("ann", text(`{"id":"d2"}`))
		for _, edit := range []string{`{"draft_id":"d2"}`, `{}`, `{"draft_id":["d1","d2"]}`} {
			f.person.decision.Arguments = json.RawMessage(edit)
			if err := f.commit("ann", `{"draft_id":"d1"}`, annotation.Destructive()); !errors.Is(err, hitl.ErrDenied) || !strings.Contains(err.Error(), "other drafts") || f.ran != nil {
				t.Errorf("B181: %s: ran %q, error %v", edit, f.ran, err)
			}
		}
	})
}

func TestDraftIsCommittedOnce(t *testing.T) {
	t.Parallel()
	f := newOffice(t, hitl.Options{})
	f.draft("ann", text(`{"id":"d1"}`))
	f.fail = fact{notSent: true}
	if err := f.commit("ann", `{"draft_id":"d1"}`, annotation.Destructive()); err == nil {
		t.Error("it was sent")
	}
	f.fail = nil // it was not sent, so it may be committed still
	if err := f.commit("ann", `{"draft_id":"d1"}`, annotation.Destructive()); err != nil {
		t.Error(err)
	}
	if err := f.commit("ann", `{"draft_id":"d1"}`, annotation.Destructive()); !errors.Is(err, hitl.ErrDenied) || !strings.Contains(err.Error(), "committed already") {
		t.Errorf("the second commit: %v", err)
	}
	f.person.want(t, 2)
}

// Two commits of one draft are agreed to before either is made.
func TestDraftOfTwoApprovalsIsCommittedOnce(t *testing.T) {
	t.Parallel()
	f := newOffice(t, hitl.Options{})
	f.draft("ann", text(`{"id":"d1"}`))
	var inner error
	f.before = func() {
		f.before = nil
		inner = f.commit("ann", `{"draft_id":"d1","note":"again"}`, annotation.Destructive())
	}
	err := f.commit("ann", `{"draft_id":"d1"}`, annotation.Destructive())
	f.person.want(t, 2)
	if inner != nil || err == nil || !strings.Contains(err.Error(), "committed already") {
		t.Errorf("got errors %v and %v", inner, err)
	}
}

func TestWhatCannotBeShownIsNoDraft(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]*mcp.CallToolResult{
		"an error":          {IsError: true, Content: text(`{"id":"d1"}`).Content},
		"no id":             text(`{"name":"d1"}`),
		"several ids":       text(`{"id":["d1","d2"]}`),
		"no JSON":           text(`made d1`),
		"an image":          {Content: []mcp.Content{&mcp.ImageContent{}}, StructuredContent: map[string]any{"id": "d1"}},
		"too long":          text(`{"id":"d1","x":"` + strings.Repeat("x", 64<<10) + `"}`),
		"an id given twice": text(`{"id":"d1","id":"d2"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newOffice(t, hitl.Options{})
			f.draft("ann", answer)
			if err := f.commit("ann", `{"draft_id":"d1"}`, annotation.Write()); !errors.Is(err, hitl.ErrDenied) {
				t.Errorf("got error %v", err)
			}
			f.person.want(t, 0)
		})
	}
	t.Run("text and content that differ are both shown", func(t *testing.T) {
		t.Parallel()
		f := newOffice(t, hitl.Options{})
		f.draft("ann", &mcp.CallToolResult{Content: text("pays 1").Content, StructuredContent: map[string]any{"id": "d1", "pays": 1000}})
		if err := f.commit("ann", `{"draft_id":"d1"}`, annotation.Write()); err != nil {
			t.Fatal(err)
		}
		if got := f.shown[0][0].Shown; got != "pays 1\n"+`{"id":"d1","pays":1000}` {
			t.Errorf("shown %q", got)
		}
	})
}

func TestCommitIsAskedAboutUnderAnotherApproval(t *testing.T) {
	t.Parallel()
	f := newOffice(t, hitl.Options{})
	outer := hitl.New(agreeable(), hitl.Options{})(f.caller)
	_, err := outer.CallTool(t.Context(), middleware.Call{Tool: tool(t, "commit", annotation.Destructive()), Arguments: json.RawMessage(`{"draft_id":"d1"}`)})
	if !errors.Is(err, hitl.ErrDenied) || errors.Is(err, guard.ErrRefused) {
		t.Errorf("got error %v", err)
	}
}

// A payment is drafted, shown and committed.
func ExampleTwoStep() {
	bank := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		if call.Tool.Name() == "draft_payment" {
			return text(`{"id":"p1","to":"Ann","amount":20}`), nil
		}
		fmt.Println("bank:", call.Tool.Name())
		return done, nil
	})
	ask := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		for _, d := range r.Drafts {
			fmt.Println("asked about", d.Shown)
		}
		return hitl.Decision{Verdict: hitl.Approved}, nil
	})
	caller := hitl.New(ask, hitl.Options{TwoSteps: []hitl.TwoStep{
		{Server: "bank", Draft: "draft_payment", Commit: "send_payment", Names: "payment"},
	}})(bank)
	for _, c := range []struct{ tool, arguments string }{
		{"send_payment", `{"payment":"p1"}`},
		{"draft_payment", `{"to":"Ann","amount":20}`},
		{"send_payment", `{"payment":"p1"}`},
	} {
		tool, err := middleware.NewTool("bank", &mcp.Tool{Name: c.tool}, annotation.Write())
		if err != nil {
			panic(err)
		}
		if _, err := caller.CallTool(context.Background(), middleware.Call{Tool: tool, Arguments: json.RawMessage(c.arguments)}); err != nil {
			fmt.Println("refused:", errors.Is(err, hitl.ErrDenied))
		}
	}
	// Output:
	// refused: true
	// asked about {"id":"p1","to":"Ann","amount":20}
	// bank: send_payment
}
