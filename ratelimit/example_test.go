package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func ExampleNew() {
	search := &middleware.Tool{Server: "web", Definition: &mcp.Tool{Name: "search"}, Annotations: annotation.ReadOnly()}
	executor := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	caller := ratelimit.New(ratelimit.Options{PerMinute: 1, MaxWait: time.Second})(executor)

	for range 2 {
		_, err := caller.CallTool(context.Background(), middleware.Call{Tool: search})
		if limited, ok := errors.AsType[*ratelimit.LimitedError](err); ok {
			fmt.Println("room again in", limited.RetryAfter().Round(time.Minute))
			continue
		}
		fmt.Println("went through")
	}
	// Output:
	// went through
	// room again in 1m0s
}
