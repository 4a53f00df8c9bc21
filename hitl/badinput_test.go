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
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Two calls are one to a yes only if they are alike in every byte that is sent,
// whatever a dialog shows of them, and whatever the model calls them.
func TestEachCallNeedsItsOwnApproval(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		second func(c *middleware.Call)
	}{
		{"B245: only what a dialog would hide differs", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"user":"ann","password":"b"}`) }},
		{"B321: the same call ID, another path", func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"path":"/etc"}`) }},
		{"B321: the same call ID, the same call", func(*middleware.Call) {}},
		{"B317: the second leg of what the server asked", func(c *middleware.Call) { c.Input = &middleware.Input{State: "opaque"} }},
		{"B317: the second leg, with another state", func(c *middleware.Call) { c.Input = &middleware.Input{State: "of another call"} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, p, its := new(executor), agreeable(), deletes(t)
			its.Arguments = json.RawMessage(`{"user":"ann","password":"a"}`)
			e.do = func(n int) (*mcp.CallToolResult, error) {
				if n == 1 {
					return &mcp.CallToolResult{RequestState: "opaque"}, nil
				}
				return done, nil
			}
			c := hitl.New(p, hitl.Options{})(guarded(e))
			if _, err := c.CallTool(t.Context(), its); err != nil {
				t.Fatal(err)
			}
			p.want(t, 1)
			p.decision = hitl.Decision{}
			tt.second(&its)
			res, err := c.CallTool(t.Context(), its)
			wantDenied(t, res, err)
			p.want(t, 2)
			e.want(t, 1)
		})
	}
}

// Nothing that the server answers to one call extends its yes to another: a host
// middleware that goes on by itself goes on without one.
func TestStateOfTheServerExtendsNoApproval(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c *middleware.Call){
		"B317: other arguments":    func(c *middleware.Call) { c.Arguments = json.RawMessage(`{"path":"/"}`) },
		"B317: another tool":       func(c *middleware.Call) { c.Tool = tool(t, "purge", annotation.Destructive()) },
		"B317: the same once more": func(*middleware.Call) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, p := new(executor), agreeable()
			e.do = func(int) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{RequestState: "go on"}, nil }
			c := between(p, func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
				res, err := next.CallTool(ctx, call)
				if err != nil {
					return nil, err
				}
				change(&call)
				call.Input = &middleware.Input{State: res.RequestState}
				return next.CallTool(ctx, call)
			}, e, hitl.Options{})
			if _, err := c.CallTool(t.Context(), deletes(t)); !errors.Is(err, guard.ErrRefused) {
				t.Errorf("got error %v, want a refusal of the second leg", err)
			}
			p.want(t, 1)
			e.want(t, 1)
		})
	}
}

// The dialog begins with what runs, whatever title it goes by.
func TestTheRealNameComesFirst(t *testing.T) {
	t.Parallel()
	t.Run("B033", func(t *testing.T) {
		t.Parallel()
		out, request := new(screen), asks(t, `{}`)
		request.Tool.Definition.Name, request.Tool.Definition.Title = "drop_table", "Safe read"
		_, _ = terminal.New(strings.NewReader("n\n"), out).Confirm(t.Context(), request)
		if got := strings.TrimSpace(out.String()); !strings.HasPrefix(got, "╭─ files/drop_table: dangerous") {
			t.Errorf("got\n%s", got)
		}
	})
}

// What a model puts in the way of the eye is counted and not drawn.
func TestBlankLinesInArgumentsPushNothingOutOfSight(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"B247: 200 blank lines", "ok" + strings.Repeat("\n", 200) + "rm -rf /", `"text": "ok⟦200 newlines⟧rm -rf /"`},
		{"B247: 200 lines of spaces", "ok" + strings.Repeat(" ", 200) + "rm -rf /", `"text": "ok⟦200 spaces⟧rm -rf /"`},
		{"B247: 200 blank lines after a backslash and an n", `C:\new` + strings.Repeat("\n", 200) + "x", `"text": "C:\\new⟦200 newlines⟧x"`},
		{"two lines are two lines", "a\nb", `"text": "a\nb"`},
		{"a backslash and an n are no line", `C:\new\\n\n`, `"text": "C:\\new\\\\n\\n"`},
		{"a count cannot be faked", `⟦200 newlines⟧`, `"text": "\u27e6200 newlines\u27e7"`},
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
		if got := out.String(); !strings.Contains(got, "more lines of arguments; d shows them") {
			t.Errorf("got\n%s", got)
		}
	})
}
