package middlewaretest_test

import (
	"context"
	"testing"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A middleware is checked by one line in a test.
func ExampleRun() {
	logged := func(next middleware.ToolCaller) middleware.ToolCaller {
		return middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			return next.CallTool(ctx, call)
		})
	}
	_ = func(t *testing.T) { // func TestLogged(t *testing.T)
		middlewaretest.Run(t, logged)
	}
	// Output:
}
