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

// Two replicas of a host share what is in doubt: what one has sent without an answer, the other does not repeat.
func ExampleIntent() {
	server := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println("server:", call.Tool.Name())
		return nil, middleware.OutcomeUnknown(call, errors.New("the connection was lost"))
	})
	pay, err := middleware.NewTool("bank", &mcp.Tool{Name: "pay"}, annotation.Destructive())
	if err != nil {
		panic(err)
	}
	store := doubt.NewMemory() // of contrib/redis or contrib/postgres, for replicas in other processes
	for range 2 {
		o := doubt.Options{Ledger: doubt.NewLedger(doubt.LedgerOptions{Store: store})}
		replica := doubt.New(o)(doubt.Intent(o)(server))
		_, err := replica.CallTool(context.Background(), middleware.Call{Tool: pay})
		fmt.Println(errors.Is(err, doubt.ErrHeld))
	}
	// Output:
	// server: pay
	// false
	// true
}

// The entries of a store are those of a scope and a tool.
func ExampleNewMemory() {
	store, now := doubt.NewMemory(), time.Now()
	call := doubt.Call{Scope: "ann", Server: "bank", Tool: "pay", Time: now}
	if err := store.Put(context.Background(), doubt.Entry{Call: call, Key: "1", Until: now.Add(time.Hour)}); err != nil {
		panic(err)
	}
	for _, scope := range []string{"ann", "bob"} {
		found, err := store.Find(context.Background(), scope, "bank", "pay")
		fmt.Println(len(found), err)
	}
	// Output:
	// 1 <nil>
	// 0 <nil>
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
