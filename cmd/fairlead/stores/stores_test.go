package stores_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/internal/stores"
	"github.com/fairlead-go/fairlead/ratelimit"
)

func TestOpenerNamesTheProgramThatHasAnEngine(t *testing.T) {
	t.Parallel()
	var none stores.Opener
	if _, err := none.Open(t.Context(), "redis://x", "", "./cmd/fairlead proxy", nil); err == nil ||
		!strings.Contains(err.Error(), "go -C contrib/redis run ./cmd/fairlead proxy --store redis://x") {
		t.Errorf("got %v", err)
	}
	s, err := none.Open(t.Context(), "", "", "", nil)
	if err != nil || s.End() != nil {
		t.Errorf("without a URL: %v", err)
	}
	failed := errors.New("failed")
	some := stores.Opener(func(context.Context, string, string, *slog.Logger) (stores.Stores, error) {
		return stores.Stores{}, failed
	})
	if _, err := some.Open(t.Context(), "redis://x", "", "", nil); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}

func TestShareTouchesWhatThereIs(t *testing.T) {
	t.Parallel()
	var memory cache.Options
	var pace ratelimit.Options
	var ask hitl.Options
	stores.Stores{}.Share(4)(&memory, &pace, &ask)
	if memory.Remote != nil || pace.Shared != nil || pace.Replicas != 0 || ask.Store != nil {
		t.Errorf("nothing to share: %+v %+v", memory, pace)
	}
	memory.Idempotent = []string{"crm/put"}
	stores.Stores{Cache: cache.NewMemory(), Limiter: ratelimit.NewMemory(), Approvals: approvals.NewMemory()}.Share(4)(&memory, &pace, &ask)
	if memory.Remote == nil || memory.Idempotent != nil || pace.Shared == nil || pace.Replicas != 4 || ask.Store == nil {
		t.Errorf("got %+v %+v", memory, pace)
	}
	cache.New(memory)
	ratelimit.New(pace)
}
