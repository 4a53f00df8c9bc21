package hitl_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// passing has no guard, so that what hitl lets through is executed.
type passing struct{ e *executor }

func (p *passing) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	return p.e.CallTool(ctx, call)
}

func TestEditedArgumentsRunExactlyAsEdited(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, edit, want string }{
		{"B181: edited", `{"path":"b.txt"}`, `{"path":"b.txt"}`},
		{"B181: every byte counts", " {\"path\" :\t\"b.txt\", \"n\":1.0 }\n", " {\"path\" :\t\"b.txt\", \"n\":1.0 }\n"},
		{"digits past 2^53", `{"n":9007199254740993,"x":0.1000000000000000055,"p":1.10}`, `{"n":9007199254740993,"x":0.1000000000000000055,"p":1.10}`},
		{"none any more", `{}`, `{}`},
		{"not edited", ``, `{"path":"a.txt"}`},
		{"edited to what it was", `{"path":"a.txt"}`, `{"path":"a.txt"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := new(executor)
			p := agreeable()
			if tt.edit != "" {
				p.decision.Arguments = json.RawMessage(tt.edit)
			}
			its := deletes(t)
			// The confirmer writes to its bytes after it has answered.
			m := hitl.New(p, hitl.Options{})(middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
				for i := range p.decision.Arguments {
					p.decision.Arguments[i] = 'x'
				}
				return guarded(e).CallTool(ctx, call)
			}))
			if _, err := m.CallTool(t.Context(), its); err != nil {
				t.Fatal(err)
			}
			e.want(t, 1)
			if got := string(e.calls[0].Arguments); got != tt.want {
				t.Errorf("executed with %q, want %q", got, tt.want)
			}
			if string(its.Arguments) != `{"path":"a.txt"}` {
				t.Errorf("the caller's own bytes are now %s", its.Arguments)
			}
		})
	}
}

func TestEditThatCannotBeSentIsADenial(t *testing.T) {
	t.Parallel()
	for _, edit := range []string{`{`, `[]`, `null`, `"text"`, `{"id":1,"id":2}`, `{"a":"\ud800"}`, `{"a":1e400}`, `{} {}`, ` `, "\n", `not JSON`} {
		t.Run(edit, func(t *testing.T) {
			t.Parallel()
			e, p := new(executor), agreeable()
			p.decision.Arguments = json.RawMessage(edit)
			res, err := hitl.New(p, hitl.Options{})(guarded(e)).CallTool(t.Context(), deletes(t))
			wantDenied(t, res, err)
			if !strings.Contains(err.Error(), "edited arguments") {
				t.Errorf("got error %v", err)
			}
			e.want(t, 0)
		})
	}
	t.Run("empty and not nil", func(t *testing.T) {
		t.Parallel()
		e, p := new(executor), agreeable()
		p.decision.Arguments = json.RawMessage{}
		res, err := hitl.New(p, hitl.Options{})(guarded(e)).CallTool(t.Context(), deletes(t))
		wantDenied(t, res, err)
		e.want(t, 0)
	})
}

// B073: what is executed is what was shown, whoever writes to the bytes meanwhile.
func TestSnapshotOfTheArgumentsIsShownAndRuns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		write func(callers, shown json.RawMessage)
	}{
		{"B073: the caller writes", func(callers, _ json.RawMessage) { copy(callers, `{"path":"/root"}`) }},
		{"the confirmer writes", func(_, shown json.RawMessage) { copy(shown, `{"path":"/root"}`) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, its := new(executor), deletes(t)
			want := string(its.Arguments)
			_, err := hitl.New(hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
				if string(r.Arguments) != want {
					t.Errorf("shown %s, want %s", r.Arguments, want)
				}
				tt.write(its.Arguments, r.Arguments)
				return yes, nil
			}), hitl.Options{})(guarded(e)).CallTool(t.Context(), its)
			if err != nil {
				t.Fatal(err)
			}
			e.want(t, 1)
			if got := string(e.calls[0].Arguments); got != want {
				t.Errorf("executed with %s, shown was %s", got, want)
			}
		})
	}
}

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
		}), hitl.Options{Writes: true, Remember: hitl.Always, AlwaysAtOnce: true, MaxPending: 1})(guarded(e)).CallTool(callstate.WithJudge(t.Context(), as(annotation.Destructive())), its)
		wantDenied(t, res, err)
		e.want(t, 0)
	})
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

func TestMetaThatChangesWhileAPersonIsAskedIsADenial(t *testing.T) {
	t.Parallel()
	e, call := new(executor), withExtra(t)
	c := hitl.New(hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		call.Meta["dry_run"] = "changed"
		return yes, nil
	}), hitl.Options{})(guarded(e))
	res, err := c.CallTool(t.Context(), call)
	wantDenied(t, res, err)
	e.want(t, 0)
	call.Meta["dry_run"] = func() {}
	if _, err := c.CallTool(t.Context(), call); !middleware.NotSent(err) {
		t.Errorf("got error %v", err)
	}
}
