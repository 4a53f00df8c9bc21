package timeout_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func ExampleNew() {
	create := &middleware.Tool{Server: "shop", Definition: &mcp.Tool{Name: "create_order"}, Annotations: annotation.Write()}
	stuck := middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	caller := timeout.New(timeout.Options{Default: 10 * time.Millisecond})(stuck)

	_, err := caller.CallTool(context.Background(), middleware.Call{Tool: create})
	if unknown, ok := errors.AsType[*middleware.OutcomeUnknownError](err); ok {
		fmt.Println(unknown.Err)
		fmt.Println("perhaps there is an order now")
	}
	// Output:
	// timeout: shop/create_order gave no answer within 10ms; if it usually takes longer, raise its estimated duration or timeout.Options.Default
	// perhaps there is an order now
}
