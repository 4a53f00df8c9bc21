package storetest_test

import (
	"path/filepath"
	"testing"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/fairleadtest/storetest"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry/doubt"
)

// The stores in this process keep the promises.
func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.RunInBubble(t, func(*testing.T) (a, b storetest.Stores) {
		all := storetest.Stores{Cache: cache.NewMemory(), Limiter: ratelimit.NewMemory(), Approvals: approvals.NewMemory(), Board: approvals.NewBoard(), Doubt: doubt.NewMemory()}
		return all, all
	})
}

// And so do approvals in a file.
func TestFile(t *testing.T) {
	t.Parallel()
	storetest.RunInBubble(t, func(t *testing.T) (a, b storetest.Stores) {
		t.Helper()
		file, err := approvals.OpenFile(filepath.Join(t.TempDir(), "approvals.jsonl"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		return storetest.Stores{Approvals: file}, storetest.Stores{Approvals: file}
	})
}
