package route_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A host's "never again" is kept.
func TestLongestPauseDoesNotOverflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(route.RoundRobin, route.Options{Failures: 1, Pause: math.MaxInt64}, route.Replica{ID: "a"})
		f.servers["a"].fails(errReset)
		_, _ = f.CallTool(context.Background(), middleware.Call{Tool: read})
		f.servers["a"].fails(nil)
		time.Sleep(time.Hour)
		if _, err := f.CallTool(context.Background(), middleware.Call{Tool: read}); !errors.Is(err, route.ErrNoReplica) {
			t.Errorf("a replica that failed got a call in its pause: %v", err)
		}
	})
}

// Of no tool nothing is known.
func TestCandidatesForNoTool(t *testing.T) {
	t.Parallel()
	next := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return new(mcp.CallToolResult), nil
	})
	p := route.NewPool("s", route.RoundRobin, route.Replica{ID: "a", Caller: next}, route.Replica{ID: "b", Caller: next, Weight: 50})
	if got, err := p.Candidates(nil); err != nil || !slices.Equal(got, []string{"b"}) {
		t.Errorf("got %v, %v", got, err)
	}
}
