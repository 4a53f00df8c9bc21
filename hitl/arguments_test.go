package hitl_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/hitl"
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

func TestAmbiguousArgumentsAreRefusedBeforeAnyoneIsAsked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, arguments, want string }{
		{"B055: a member twice", `{"id":1,"id":2}`, `the member "id" is given twice`},
		{"a member twice, one of them escaped", `{"id":1,"\u0069d":2}`, `the member "id" is given twice`},
		{"a member twice, deep inside", `{"a":[{"id":1,"id":2}]}`, `the member "id" is given twice`},
		{"B059: half a surrogate pair", `{"path":"\ud800"}`, "surrogate"},
		{"B065: a number beyond float64", `{"x":1e400}`, "out of range"},
		{"B067: 10,001 nested arrays", `{"x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`, "nested"},
		{"B069: 32 MiB", `{"x":"` + strings.Repeat("x", 32<<20) + `"}`, "limit"},
		{"B071: an array", `[]`, "not a JSON object"},
		{"B071: a text", `"text"`, "not a JSON object"},
		{"B071: null", `null`, "not a JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, p, its := new(executor), agreeable(), deletes(t)
			its.Arguments = json.RawMessage(tt.arguments)
			res, err := hitl.New(p, hitl.Options{})(guarded(e)).CallTool(t.Context(), its)
			if res != nil || err == nil || !strings.Contains(err.Error(), tt.want) || !middleware.NotSent(err) {
				t.Errorf("got %v and error %v, want one that says %s", res, err, tt.want)
			}
			p.want(t, 0)
			e.want(t, 0)
		})
	}
}
