package chain

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// observe is in the place of Confirm in a chain that only observes.
func (s Standard) observe(next middleware.ToolCaller) middleware.ToolCaller {
	return &observer{next, s.Observe}
}

// An observer records what the chain would have done, and approves each call for the guard at the executor.
type observer struct {
	next  middleware.ToolCaller
	would func(*middleware.Tool) string
}

func (o *observer) Describe() middleware.Description {
	return middleware.Description{Kind: "observe", Next: o.next}
}

func (o *observer) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool != nil {
		callstate.Of(ctx).Decide("observe", "passed", fmt.Sprintf("would: %s; it is %s (%s)", o.would(call.Tool), call.Tool.Safety(), because(call.Tool)))
	}
	ctx, grant := callstate.WithGrant(ctx, &call, annotation.Unknown, time.Hour, nil)
	defer grant.Void()
	return o.next.CallTool(ctx, call)
}

// because returns the evidence that decides the class of a tool.
func because(tool *middleware.Tool) string {
	a := tool.Annotations
	for _, hint := range [...]struct {
		field   annotation.Field
		decides bool
	}{
		{annotation.DestructiveHint, a.Destructive == annotation.Yes},
		{annotation.RequiresConfirmation, a.RequiresConfirmation == annotation.Yes},
		{annotation.ReadOnlyHint, true},
	} {
		if e, ok := a.EvidenceOf(hint.field); ok && hint.decides {
			return e.String()
		}
	}
	return "nothing is known of it"
}
