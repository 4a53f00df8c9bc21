package hitl_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/turn"
)

// together is a confirmer of several questions, which nobody gets to ask.
type together struct{ hitl.Confirmer }

func (together) ConfirmGroup(context.Context, []hitl.Request) (map[string]hitl.Decision, error) {
	return nil, errors.New("asked")
}

// Nothing is kept of a turn whose calls were all given up before their dialog.
func TestTurnThatIsGivenUpIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := hitl.New(together{}, hitl.Options{})(guarded(new(executor)))
		given := func() weak.Pointer[turn.Turn] {
			tickets := turn.New(2, "s", "s") // the other is on its way for as long as it takes
			ctx, cancel := context.WithTimeout(callstate.Keep(context.Background(), tickets[0]), time.Millisecond)
			defer cancel()
			if _, err := c.CallTool(ctx, deletes(t)); err == nil {
				t.Error("the call went through")
			}
			return weak.Make(tickets[0].Turn())
		}()
		synctest.Wait()
		runtime.GC()
		if given.Value() != nil {
			t.Error("it is still known")
		}
		runtime.KeepAlive(c)
	})
}
