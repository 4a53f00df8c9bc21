package catalog

import (
	"context"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Admit is a middleware that refuses early what the catalog or the view would refuse, and replaces a copy of a tool
// that is less strict than the accepted one. chain.Standard has it; in a chain of another order, add it by hand.
func (v *caller) Admit(next middleware.ToolCaller) middleware.ToolCaller {
	return &admitter{next: next, caller: v}
}

type admitter struct {
	next   middleware.ToolCaller
	caller *caller
}

func (a *admitter) Describe() middleware.Description {
	return middleware.Description{Kind: "admit", Next: a.next}
}

func (a *admitter) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool != nil && call.Tool.Definition != nil { // the guard refuses other calls
		tool, now, err := a.caller.accepted(ctx, call)
		if err != nil {
			return nil, err
		}
		if tool = callstate.Judged(ctx, &call, tool); tool.Safety() < call.Tool.Safety() { // a copy that is less strict
			call.Tool = tool
		}
		if call.Tool.Safety().MustConfirm() || tool.Safety().MustConfirm() {
			ctx = callstate.WithAdmitted(ctx, callstate.Admitted{Server: tool.Server, Session: now.sources[tool.Server].lister.id()})
		}
	}
	if a.caller.view { // also where a route leads past the view
		ctx = callstate.WithLimit(ctx, a.caller.sees)
	}
	return a.next.CallTool(ctx, call)
}
