package retry_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A read that failed is made again. A payment that may have happened is not: the error reports
// that, and what to check.
func ExampleNew() {
	server := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println("server:", call.Tool.Name())
		return nil, errors.New("the connection was lost")
	})
	caller := retry.New(retry.Options{Attempts: 2, Rand: func() float64 { return 0 }})(server)
	for _, t := range []struct {
		name string
		a    annotation.Annotations
	}{{"list", annotation.ReadOnly()}, {"pay", annotation.Destructive()}} {
		tool, err := middleware.NewTool("bank", &mcp.Tool{Name: t.name}, t.a)
		if err != nil {
			panic(err)
		}
		_, err = caller.CallTool(context.Background(), middleware.Call{Tool: tool})
		fmt.Println(err)
		if unknown, ok := errors.AsType[*retry.OutcomeUnknownError](err); ok {
			fmt.Println(unknown.Check)
		}
	}
	// Output:
	// server: list
	// server: list
	// retry: bank/list failed 2 times, the last time with: the connection was lost
	// server: pay
	// middleware: the outcome of bank/pay is unknown: the connection was lost
	// bank__pay may or may not have happened. Do not call it again now. First check with a tool that only reads whether the change was made, and tell the user if you cannot see it.
}
