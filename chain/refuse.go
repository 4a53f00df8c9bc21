package chain

import (
	"context"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Refuse ends a call that cannot be made, since it names no tool that is there or its arguments are not a JSON object. Such a
// call goes to no middleware that would read it. It is recorded, and counts for the end of loops, as any other call. Refuse
// returns the error that the caller gets: err, or why the budget stops the call.
func (e *entry) Refuse(ctx context.Context, call middleware.Call, err error) error {
	var caller middleware.ToolCaller = middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return nil, err
	})
	for _, link := range e.count {
		caller = link(caller)
	}
	_, err = caller.CallTool(e.chain.Enter(ctx, &call), call)
	return err
}

// countsRefused reports whether a middleware is one of those that calls pass which cannot be made: it reads nothing of a
// call but its tool's name and the bytes of its arguments, and keeps nothing for one chain alone.
func countsRefused(link middleware.ToolCaller) bool {
	c, ok := link.(interface{ CountsRefused() bool })
	return ok && c.CountsRefused()
}
