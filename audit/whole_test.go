package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server of the SDK's, its client, the catalog, every link and a file: a call
// that must be recorded is recorded with what came back, and no secret.
func TestWholeChainBeforeARealServer(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "accounts", Version: "1"}, nil)
	for _, name := range []string{"list_users", "get_salary", "delete_user"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object", "properties": map[string]any{"note": map[string]any{"type": "string", "writeOnly": true}}}},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return textResult("you sent " + string(r.Params.Arguments)), nil
			})
	}
	theirs, ours := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), theirs, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	tools := catalog.New(catalog.Options{})
	if err := tools.Add(t.Context(), "hr", session); err != nil {
		t.Fatal(err)
	}
	if err := tools.Override("hr", "get_salary", annotation.Annotations{AuditRequired: annotation.Yes, Freshness: annotation.Shared}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	f, err := audit.OpenFile(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	trail := audit.New(f, audit.Options{})
	std := chain.Standard{
		Audit: trail, Infer: infer.New(infer.Options{}), Budget: budget.New(budget.Options{}), Confirm: hitl.New(yes, hitl.Options{}),
		Cache: cache.New(cache.Options{}), Retry: retry.New(retry.Options{}), RateLimit: ratelimit.New(ratelimit.Options{}), Timeout: timeout.New(timeout.Options{}),
	}
	if problems := chain.Verify(std); len(problems) > 0 {
		t.Error(problems)
	}
	caller := std.Then(tools)
	call := func(name string) error {
		made, ok := tools.Lookup("hr", name)
		if !ok {
			t.Fatal(name)
		}
		_, err := caller.CallTool(t.Context(), middleware.Call{ID: name, Tool: made, Arguments: json.RawMessage(`{"of":"bob","note":"sentinel-7","password":"sentinel-8"}`)})
		return err
	}
	if err := errors.Join(call("list_users"), call("get_salary"), call("get_salary"), call("delete_user")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := verify(t, name); got.State != audit.Whole || got.Records != 7 || len(got.Open) != 0 {
		t.Errorf("got %+v", got)
	}
	raw := string(read(t, name))
	if strings.Contains(raw, "sentinel") || strings.Count(raw, "you sent") != 2 || !strings.Contains(raw, `"from":"cache"`) {
		t.Errorf("%s", raw)
	}
	without := std
	without.Audit, without.Telemetry = nil, trail.Record
	made, _ := tools.Lookup("hr", "get_salary")
	if _, err := without.Then(tools).CallTool(t.Context(), middleware.Call{Tool: made, Arguments: json.RawMessage(`{"of":"ann"}`)}); !middleware.NotSent(err) {
		t.Errorf("without an intent: %v", err)
	}
}
