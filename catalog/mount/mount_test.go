package mount_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestNilIsRefusedAtOnce(t *testing.T) {
	var none *mcp.ClientSession
	chainFor := func(*mcp.ClientSession) (string, middleware.Middleware) { return "", nil }
	client, tools := mcptest.NewClient(), catalog.New(catalog.Options{})
	for name, f := range map[string]func(){
		"nil session":               func() { mount.Session(nil) },
		"session that never was":    func() { mount.Session(none) },
		"nil client":                func() { mount.Client(nil, tools, chainFor) },
		"nil catalog":               func() { mount.Client(client, nil, chainFor) },
		"no func to choose a chain": func() { mount.Client(client, tools, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			if got := panics(f); !strings.HasPrefix(got, "mount: ") {
				t.Errorf("got the panic %q", got)
			}
		})
	}
}

func TestSessionWithoutACatalog(t *testing.T) {
	sessions(t, func(t *testing.T, cs *mcp.ClientSession) {
		yes := &person{says: hitl.Approved}
		guarded := chain.Standard{Infer: infer.New(infer.Options{})}.Then(mount.Session(cs))
		asking := chain.Standard{Infer: infer.New(infer.Options{}), Confirm: hitl.New(yes, hitl.Options{})}.Then(mount.Session(cs))
		bare := mount.Session(cs)
		for _, c := range []struct {
			name         string
			runs, unseen bool // in a chain; where inference never saw it
		}{
			{"list_notes", true, false}, {"update_file", true, false}, {"delete_file", false, false}, {"frobnicate", false, false},
		} {
			t.Run(c.name, func(t *testing.T) {
				call := middleware.Call{Tool: unclassed(t, "files", c.name), Arguments: json.RawMessage(`{"a":1}`)}
				if _, err := guarded.CallTool(mcptest.Context(t), call); (err == nil) != c.runs || err != nil && !errors.Is(err, chain.ErrRefused) {
					t.Errorf("without a person: got %v", err)
				}
				if _, err := bare.CallTool(mcptest.Context(t), call); (err == nil) != c.unseen || err != nil && !errors.Is(err, chain.ErrRefused) {
					t.Errorf("without inference: got %v", err)
				}
				res, err := asking.CallTool(mcptest.Context(t), call)
				if got, want := text(t, res, err), c.name+`{"a":1}`; got != want {
					t.Errorf("with a person: got %q, want %q", got, want)
				}
			})
		}
		yes.want(t, `files/delete_file{"a":1}`, `files/frobnicate{"a":1}`)
	})
}

func TestClassWrittenOnTheCallBuysNothing(t *testing.T) {
	b := newBackend()
	caller := mount.Session(mcptest.Connect(t, b.server, nil))
	tool := unclassed(t, "files", "delete_file")
	tool.Annotations = readOnly
	if _, err := caller.CallTool(mcptest.Context(t), middleware.Call{Tool: tool}); !errors.Is(err, chain.ErrRefused) {
		t.Errorf("got %v", err)
	}
	b.want(t)
}

func TestDangerousCallRunsOncePerApproval(t *testing.T) {
	b, yes := newBackend(), &person{says: hitl.Approved}
	var inner middleware.ToolCaller
	twice := func(next middleware.ToolCaller) middleware.ToolCaller {
		inner = next
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			if _, err := next.CallTool(ctx, call); err != nil {
				return nil, err
			}
			return inner.CallTool(ctx, call)
		})
	}
	caller := chain.Standard{
		Infer: infer.New(infer.Options{}), Confirm: hitl.New(yes, hitl.Options{}), PerAttempt: []middleware.Middleware{twice},
	}.Then(mount.Session(mcptest.Connect(t, b.server, nil)))
	_, err := caller.CallTool(mcptest.Context(t), middleware.Call{Tool: unclassed(t, "files", "delete_file")})
	if !errors.Is(err, chain.ErrRefused) {
		t.Errorf("got %v, want the second execution refused", err)
	}
	b.want(t, "delete_file{}")
}
