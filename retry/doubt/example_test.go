package doubt_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The model repeats a payment after a lost answer, and is told to look first.
func ExampleNew() {
	server := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println("server:", call.Tool.Name())
		return nil, middleware.OutcomeUnknown(call, errors.New("the connection was lost"))
	})
	caller := doubt.New(doubt.Options{Reads: map[string]string{"bank/pay": "bank/list_payments"}})(server)
	pay, err := middleware.NewTool("bank", &mcp.Tool{Name: "pay"}, annotation.Destructive())
	if err != nil {
		panic(err)
	}
	for range 2 {
		_, err := caller.CallTool(context.Background(), middleware.Call{Tool: pay})
		fmt.Println(middleware.ForModel(err))
	}
	// Output:
	// server: pay
	// bank__pay may or may not have happened. Do not call it again now. First check with a tool that only reads whether the change was made, and tell the user if you cannot see it.
	// bank__pay was not called: an earlier call with the same effect, 0s ago, may have happened. First check with bank__list_payments whether it did. If it did not, call it again, which needs the user's agreement.
}

// A ledger outlives its chain, and is filled from the record of an earlier process.
func ExampleNewLedger() {
	ledger := doubt.NewLedger(doubt.LedgerOptions{})
	ledger.Add(doubt.Call{Server: "bank", Tool: "pay", Time: time.Now()})
	for _, call := range ledger.Open() {
		fmt.Println(call.Server, call.Tool)
	}
	// Output: bank pay
}
