package approvals_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

// A process ends while a question is open; the next one finds it void.
func ExampleOpenFile() {
	dir, err := os.MkdirTemp("", "approvals")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name, ctx := filepath.Join(dir, "approvals.jsonl"), context.Background()
	store, err := approvals.OpenFile(name, slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	question := approvals.Approval{ID: "q1", State: approvals.Pending, Server: "files", Tool: "delete", Until: time.Now().Add(time.Minute)}
	if err := store.Add(ctx, question); err != nil {
		panic(err)
	}
	store.Close()

	store, err = approvals.OpenFile(name, nil)
	if err != nil {
		panic(err)
	}
	defer store.Close()
	for _, a := range store.Interrupted() {
		fmt.Println(a.ID, a.State)
	}
	fmt.Println(store.Advance(ctx, "q1", approvals.Change{To: approvals.Approved, Until: time.Now().Add(time.Minute)}))
	// Output:
	// q1 pending
	// approvals: no effect: q1 is void, it cannot become approved
}

func ExampleNewMemory() {
	store, ctx := approvals.NewMemory(), context.Background()
	_ = store.Add(ctx, approvals.Approval{ID: "q1", State: approvals.Pending, Until: time.Now().Add(time.Minute)})
	fmt.Println(store.Advance(ctx, "q1", approvals.Change{To: approvals.Denied, By: "ann"}))
	fmt.Println(store.Advance(ctx, "q1", approvals.Change{To: approvals.Approved, By: "bob", Until: time.Now().Add(time.Minute)}))
	// Output:
	// <nil>
	// approvals: no effect: q1 is denied, it cannot become approved
}
