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
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestEditIsValidatedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		validate func(context.Context, *middleware.Tool, json.RawMessage) error
		want     string
	}{
		{"B181: valid", func(context.Context, *middleware.Tool, json.RawMessage) error { return nil }, ""},
		{"B181: not valid", func(context.Context, *middleware.Tool, json.RawMessage) error { return errors.New("path is missing") }, "path is missing"},
		{"a validator that panics", func(context.Context, *middleware.Tool, json.RawMessage) error { panic("boom") }, "panicked"},
		{"a validator that writes", func(_ context.Context, _ *middleware.Tool, b json.RawMessage) error { clear(b); return nil }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, p := new(executor), agreeable()
			p.decision.Arguments = json.RawMessage(`{"path":"b.txt"}`)
			validated := ""
			o := hitl.Options{Validate: func(ctx context.Context, tool *middleware.Tool, b json.RawMessage) error {
				validated = tool.Name() + " " + string(b)
				return tt.validate(ctx, tool, b)
			}}
			res, err := hitl.New(p, o)(guarded(e)).CallTool(t.Context(), deletes(t))
			if validated != `delete {"path":"b.txt"}` {
				t.Errorf("validated %q", validated)
			}
			if tt.want == "" {
				e.want(t, 1)
				if got := string(e.calls[0].Arguments); got != `{"path":"b.txt"}` || err != nil {
					t.Errorf("executed with %q, error %v", got, err)
				}
				return
			}
			e.want(t, 0)
			if wantDenied(t, res, err); !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "boom") {
				t.Errorf("got error %v", err)
			}
		})
	}
	t.Run("what was not edited is not", func(t *testing.T) {
		t.Parallel()
		o := hitl.Options{Validate: func(context.Context, *middleware.Tool, json.RawMessage) error { return errors.New("no") }}
		if _, err := hitl.New(agreeable(), o)(guarded(new(executor))).CallTool(t.Context(), deletes(t)); err != nil {
			t.Error(err)
		}
	})
}

func TestEditIsClassedAgain(t *testing.T) {
	t.Parallel()
	as := func(a annotation.Annotations) func(context.Context, middleware.Call) (*middleware.Tool, error) {
		return func(_ context.Context, call middleware.Call) (*middleware.Tool, error) {
			other := *call.Tool
			other.Annotations = a
			return &other, nil
		}
	}
	for _, tt := range []struct {
		name     string
		before   annotation.Annotations
		classify func(context.Context, middleware.Call) (*middleware.Tool, error)
		asked    string // the classes that were shown
		runs     int
	}{
		{"B181: without a func it keeps its class", annotation.Write(), nil, "moderate", 1},
		{"B181: the same class", annotation.Write(), as(annotation.Write()), "moderate", 1},
		{"B181: a sterner class is asked about again", annotation.Write(), as(annotation.Destructive()), "moderate dangerous", 1},
		{"B181: and so is an unknown one", annotation.Destructive(), as(annotation.Annotations{}), "dangerous unknown", 1},
		{"a kinder class is not", annotation.Destructive(), as(annotation.Write()), "dangerous", 1},
		{"an error", annotation.Destructive(), func(context.Context, middleware.Call) (*middleware.Tool, error) { return nil, errors.New("no") }, "dangerous", 0},
		{"no tool", annotation.Destructive(), func(context.Context, middleware.Call) (*middleware.Tool, error) { return nil, nil }, "dangerous", 0},
		{"another tool", annotation.Destructive(), func(context.Context, middleware.Call) (*middleware.Tool, error) {
			return tool(t, "list", annotation.ReadOnly()), nil
		}, "dangerous", 0},
		{"another definition", annotation.Destructive(), func(_ context.Context, call middleware.Call) (*middleware.Tool, error) {
			other := *call.Tool
			other.Digest[0]++
			return &other, nil
		}, "dangerous", 0},
		{"a panic", annotation.Destructive(), func(context.Context, middleware.Call) (*middleware.Tool, error) { panic("boom") }, "dangerous", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := new(executor)
			var asked []string
			ask := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
				asked = append(asked, r.Tool.Safety().String())
				if len(asked) > 1 && string(r.Arguments) != `{"path":"b.txt"}` {
					t.Errorf("asked again about %s", r.Arguments)
				}
				if len(asked) > 1 {
					return yes, nil
				}
				return hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{"path":"b.txt"}`)}, nil
			})
			its := deletes(t)
			its.Tool = tool(t, "edit", tt.before)
			_, err := hitl.New(ask, hitl.Options{Writes: true})(guarded(e)).CallTool(callstate.WithJudge(t.Context(), tt.classify), its)
			if got := strings.Join(asked, " "); got != tt.asked {
				t.Errorf("asked about %q, want %q", got, tt.asked)
			}
			if e.want(t, tt.runs); (err == nil) != (tt.runs == 1) || err != nil && !errors.Is(err, hitl.ErrDenied) {
				t.Errorf("got error %v", err)
			}
		})
	}
	t.Run("a no to the second question", func(t *testing.T) {
		t.Parallel()
		e, n := new(executor), 0
		its := deletes(t)
		its.Tool = tool(t, "edit", annotation.Write())
		res, err := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			if n++; n == 1 {
				return hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{}`), Remember: hitl.Always}, nil
			}
			return hitl.Decision{}, nil
		}), hitl.Options{Writes: true, Remember: hitl.Always, MaxPending: 1})(guarded(e)).CallTool(callstate.WithJudge(t.Context(), as(annotation.Destructive())), its)
		wantDenied(t, res, err)
		e.want(t, 0)
	})
}

func TestTwoPeopleAreTwo(t *testing.T) {
	t.Parallel()
	by := func(name string) hitl.Decision { return hitl.Decision{Verdict: hitl.Approved, By: name} }
	edited := by("bob")
	edited.Arguments = json.RawMessage(`{}`)
	for _, tt := range []struct {
		name          string
		first, second hitl.Decision
		asked         int64 // the second
		runs          int
	}{
		{"two", by("ann"), by("bob"), 1, 1},
		{"B249: the same one twice", by("ann"), by("ann"), 1, 0},
		{"B249: one without a name", by("ann"), by(""), 1, 0},
		{"B249: two without a name", by(""), by(""), 1, 0},
		{"one in two cases, with a blank", by("ann"), by("Ann "), 1, 0},
		{"one with what cannot be seen", by("ann"), by("an\u200bn"), 1, 0},
		{"one with another blank", by("ann  lee"), by("Ann\tLee"), 1, 0},
		{"one with an accent, written in two ways", by("Jos\u00e9"), by("jose\u0301"), 1, 0},
		{"two with other accents", by("Jos\u00e9"), by("Jos\u00e8"), 1, 1},
		{"one in another script, written in two ways", by("\u0410\u043d\u0434\u0440\u0435\u0439"), by("\u0410\u043d\u0434\u0440\u0435\u0438\u0306"), 1, 0},
		{"blanks for a name", by("ann"), by(" \t"), 1, 0},
		{"the first says no", hitl.Decision{By: "ann"}, by("bob"), 0, 0},
		{"the second says no", by("ann"), hitl.Decision{By: "bob"}, 1, 0},
		{"one edits", by("ann"), edited, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, first, second := new(executor), &person{decision: tt.first}, &person{decision: tt.second}
			first.decision.Remember, second.decision.Remember = hitl.Always, hitl.Always
			c := hitl.New(hitl.TwoPeople(first, second), hitl.Options{Remember: hitl.Always})(guarded(e))
			_, err := c.CallTool(t.Context(), deletes(t))
			second.want(t, tt.asked)
			if e.want(t, tt.runs); (err == nil) != (tt.runs == 1) || err != nil && !errors.Is(err, hitl.ErrDenied) {
				t.Errorf("got error %v", err)
			}
			if _, _ = c.CallTool(t.Context(), deletes(t)); first.asked.Load() != 2 {
				t.Error("their yes was remembered")
			}
		})
	}
	t.Run("nil", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if v := recover(); v == nil {
				t.Error("no panic")
			}
		}()
		hitl.TwoPeople(agreeable(), nil)
	})
}

func ExampleTwoPeople() {
	ann := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
	})
	_, err := hitl.TwoPeople(ann, ann).Confirm(context.Background(), hitl.Request{})
	fmt.Println(err)
	// Output: it needs two people, and they have not given two names
}

func TestTerminalRemembersWhatItOffers(t *testing.T) {
	t.Parallel()
	offers := []hitl.Offer{{Longest: hitl.Always}, {Pattern: hitl.Pattern{{Name: "path", Glob: "*.txt\n"}}, Longest: hitl.Session}}
	for _, tt := range []struct {
		typed  string
		offers []hitl.Offer
		want   hitl.Decision
	}{
		{"y", offers, yes},
		{"s", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session}},
		{"A", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Always}},
		{"s2", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session, Offer: 1}},
		{"s 2", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session, Offer: 1}},
		{"a2", offers, hitl.Decision{}},
		{"s3", offers, hitl.Decision{}},
		{"s0", offers, hitl.Decision{}},
		{"arguments-always", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Always}},
		{"tool-session", append(offers, hitl.Offer{Tool: true, Longest: hitl.Session}), hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session, Offer: 2}},
		{"f path\ns", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Session, Free: []string{"path"}}},
		{"f path\na", offers, hitl.Decision{Verdict: hitl.Approved, Remember: hitl.Always, Free: []string{"path"}}},
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
				r.Free = approvals.Free(r.Arguments)
			}
			got, err := terminal.New(strings.NewReader(tt.typed+"\nn\n"), out).Confirm(t.Context(), r)
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tt.want) || err != nil {
				t.Errorf("got %+v and error %v, want %+v", got, err, tt.want)
			}
			if want := `s2           files/delete with path like *.txt\n, for this session` + "\n"; len(tt.offers) > 1 && !strings.Contains(out.String(), want) {
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
		"its id": `draft        "d1"`, "one member a line": `    "to": "Ann"`, "the other": `draft        "d2"`, "what controls a terminal": `to: Bob\x1b[2J`,
		"B247: blank lines are counted": `⟦198 newlines⟧and Mallory`, "B247: what is left out is announced": "more lines of this draft; d shows them",
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
		if want := `"a\n\n\nb \\n\\n\\n\\n\\n"`; !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out)
		}
	}()
	r := asks(t, `{"text":"hello`+strings.Repeat(`\n`, 200)+`rm -rf /","kept":"a\n\n\nb \\n\\n\\n\\n\\n"}`)
	if _, err := terminal.New(strings.NewReader("y\n"), out).Confirm(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"text": "hello⟦200 newlines⟧rm -rf /"`) {
		t.Errorf("B247: the payload is not beside what it hides behind: %s", out)
	}
}

// A yes to what an edit made dangerous is one execution, although the tool alone
// would need none: the guard is told.
func TestGuardChecksTheEditedCall(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]annotation.Annotations{"a write": annotation.Write(), "a deletion": annotation.Destructive()} {
		e, asked := new(executor), 0
		ask := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
			if asked++; asked > 1 {
				return yes, nil
			}
			return hitl.Decision{Verdict: hitl.Approved, Arguments: json.RawMessage(`{"all":true}`)}, nil
		})
		classify := func(_ context.Context, call middleware.Call) (*middleware.Tool, error) {
			other := *call.Tool
			other.Annotations = annotation.Destructive()
			return &other, nil
		}
		its := deletes(t)
		its.Tool = tool(t, "edit", before)
		guards := guard.New(e, func(context.Context, middleware.Call) (*middleware.Tool, error) { return its.Tool, nil })
		twice := middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			if _, err := guards.CallTool(ctx, call); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return guards.CallTool(ctx, call)
		})
		_, err := hitl.New(ask, hitl.Options{Writes: true})(twice).CallTool(callstate.WithJudge(t.Context(), classify), its)
		if !errors.Is(err, guard.ErrRefused) {
			t.Errorf("%s, once more: %v", name, err)
		}
		e.want(t, 1)
	}
}
