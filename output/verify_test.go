package output_test

import (
	"context"
	"testing"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/output"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
)

// The standard order with an output in it breaks no promise, and one that cuts what
// is remembered is named.
func TestOrder(t *testing.T) {
	t.Parallel()
	yes := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
		return hitl.Decision{Verdict: hitl.Approved}, nil
	})
	standard := chain.Standard{
		Output: output.New(output.Options{}), Infer: infer.New(infer.Options{}), Confirm: hitl.New(yes, hitl.Options{}),
		Cache: cache.New(cache.Options{}), Retry: retry.New(retry.Options{}), RateLimit: ratelimit.New(ratelimit.Options{}), Timeout: timeout.New(timeout.Options{}),
	}
	for _, problem := range chain.Verify(standard) {
		t.Errorf("the standard order: %v", problem)
	}
	wrong := chain.New(cache.New(cache.Options{}), output.New(output.Options{}))
	if problems := chain.Verify(wrong); len(problems) == 0 {
		t.Error("nothing is said of a cache that remembers what was cut")
	}
}
