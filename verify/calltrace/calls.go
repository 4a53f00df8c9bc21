package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	approve = hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{Verdict: hitl.Approved, By: "ann"}, nil
	})
	record  = audit.SinkFunc(func(context.Context, audit.Record) error { return nil })
	passing = func(next middleware.ToolCaller) middleware.ToolCaller { return next }
)

// shop is a session of a server with one dangerous tool. The call leaves there.
type shop struct{ *trace }

func (shop) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	tool := &mcp.Tool{Name: "delete_order", Description: "Deletes an order.", InputSchema: map[string]any{"type": "object"}}
	return &mcp.ListToolsResult{Tools: []*mcp.Tool{annotation.Declare(tool, annotation.Destructive())}}, nil
}

func (s shop) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	s.here("")
	s.leaves(ctx)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deleted"}}}, nil
}

// throughChain makes the call in a chain with every slot filled.
func throughChain(t *trace) error {
	ctx := context.Background()
	tools := catalog.New(catalog.Options{})
	defer func() { _ = tools.Close() }()
	if err := tools.Add(ctx, "shop", shop{t}); err != nil {
		return err
	}
	caller := chain.Standard{
		Output: output.New(output.Options{}), Telemetry: passing, Audit: audit.New(record, audit.Options{}),
		Infer: infer.New(infer.Options{}), Budget: budget.New(budget.Options{Session: budget.Limit{Calls: 9}}),
		Preflight: preflight.New(preflight.Options{Rules: preflight.Rules{"shop/delete_order": preflight.When("dry_run", true).Safe()}}),
		Flow:      flow.New(flow.Options{}), Doubt: doubt.New(doubt.Options{}), Confirm: hitl.New(approve, hitl.Options{}),
		Cache: cache.New(cache.Options{}), Retry: retry.New(retry.Options{}), RateLimit: ratelimit.New(ratelimit.Options{}),
		Timeout: timeout.New(timeout.Options{}),
	}.Then(tools)
	tool, _ := tools.Lookup("shop", "delete_order")
	t.begin()
	_, err := caller.CallTool(ctx, middleware.Call{ID: "1", Scope: "ann", Tool: tool, Arguments: json.RawMessage(`{"id":"a"}`)})
	return err
}

// throughProxy makes the call as a client of the proxy.
func throughProxy(t *trace) error {
	now := new(policy.Policy)
	p, err := proxy.New(proxy.Options{
		Servers: []proxy.Server{{Name: "shop", Open: openShop}}, Confirm: approve, Audit: record,
		Policy: func() *policy.Policy { return now }, Telemetry: watching{t},
	})
	if err != nil {
		return err
	}
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- p.ServeLines(context.Background(), in, out) }()
	answers := bufio.NewReader(fromProxy)
	for i, ask := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete_order","arguments":{"id":"a"}}}`,
	} {
		t.begin()
		if _, err := io.WriteString(toProxy, ask+"\n"); err != nil {
			return err
		}
		answer, err := answers.ReadString('\n')
		if err != nil || !strings.Contains(answer, `"result"`) || !strings.Contains(answer, fmt.Sprintf(`"id":%d`, i)) {
			return fmt.Errorf("%s was answered with %q: %w", ask, answer, err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, answers) }()
	_ = toProxy.Close()
	if err := <-ended; err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return out.Close()
}

// watching is a telemetry that follows the context of an attempt to where the call is sent.
type watching struct{ *trace }

func (watching) Call(next middleware.ToolCaller) middleware.ToolCaller { return next }
func (watching) Confirmer(next hitl.Confirmer) hitl.Confirmer          { return next }

func (w watching) Attempt(next middleware.ToolCaller) middleware.ToolCaller {
	return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		w.leaves(ctx)
		return next.CallTool(watched{ctx, w.trace}, call)
	})
}

// openShop returns a connection to a server with one dangerous tool.
func openShop() (io.ReadWriteCloser, error) {
	here, there := net.Pipe()
	go func() {
		for in := bufio.NewScanner(there); in.Scan(); {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
				continue
			}
			result := map[string]string{
				"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shop","version":"1"}}`,
				"tools/list": `{"tools":[{"name":"delete_order","description":"Deletes an order.","inputSchema":{"type":"object"}}]}`,
				"tools/call": `{"content":[{"type":"text","text":"deleted"}]}`,
			}[m.Method]
			_, _ = fmt.Fprintf(there, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
	}()
	return here, nil
}
