package turn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/middleware/middlewaretest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestContract(t *testing.T) {
	t.Parallel()
	t.Run("gate", func(t *testing.T) { t.Parallel(); middlewaretest.Run(t, turn.Gate()) })
}

func TestWhatIsGated(t *testing.T) {
	t.Parallel()
	end := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
		return nil, errors.New("not called")
	})
	hidden := middleware.ToolCallerFunc(turn.Gate()(end).CallTool)
	for name, c := range map[string]struct {
		caller middleware.ToolCaller
		want   bool
	}{
		"a gate": {turn.Gate()(end), true}, "behind a middleware that describes itself": {chain.Recover()(turn.Gate()(end)), true}, "a bare executor": {end, false},
		"behind one that does not": {hidden, false}, "nothing": {nil, false},
	} {
		if got := turn.Gated(c.caller); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// A middleware of the host's that calls next once more, or when all is over, is held
// up by nothing: the guard has a word on that.
func TestNoCallWaitsAtAGateForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tickets := turn.New(1, "a", "a")
		gate := turn.Gate()(middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		}))
		call := middleware.Call{Tool: &middleware.Tool{Server: "a", Annotations: annotation.Write()}}
		pass := func(k *turn.Ticket) time.Duration {
			began := time.Now()
			if _, err := gate.CallTool(callstate.WithTicket(context.WithoutCancel(t.Context()), k), call); err != nil {
				t.Error(err)
			}
			return time.Since(began)
		}
		time.AfterFunc(time.Second, tickets[0].Done)
		if got := []time.Duration{pass(tickets[0]), pass(tickets[0]), pass(tickets[1])}; got[0] != 0 || got[1] != 0 || got[2] != time.Second {
			t.Errorf("they waited %v", got)
		}
		tickets[1].Done()
		never := turn.New(1, "a", "a")
		never[1].Done()
		if pass(never[1]) != 0 {
			t.Error("a call that is over waited")
		}
	})
}
