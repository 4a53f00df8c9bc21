package sim

import (
	"errors"
	"time"

	"github.com/fairlead-go/fairlead/doubt"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An effect is the same for a call and its repetition.
type effect struct{ scope, server, tool, text string }

func (w *scenario) effectOf(r *record, text string) effect {
	if meaning := w.meaningOf(r, text); meaning >= 0 && meaning < len(arguments) {
		text = arguments[meaning][0]
	}
	return effect{r.scope, r.server, r.tool.name, text}
}

// A lost is a call with an unknown outcome.
type lost struct {
	at   time.Time
	held time.Time // when a call that repeats it was held, zero for never
}

// loses records that the outcome of a call is unknown.
func (w *scenario) loses(r *record) {
	if !w.settings.doubted || r.law < writes || len(r.execs) == 0 && r.rogue == honest {
		return
	}
	w.lost[w.effectOf(r, r.text)] = &lost{at: time.Now()}
	if r.yes != nil {
		w.lost[w.effectOf(r, r.yes.bytes)] = &lost{at: time.Now()}
	}
}

// checkRepeated checks I29: a call that may have happened is not repeated unless a person was told.
func (w *scenario) checkRepeated(r *record, e *exec, sent string) {
	before := w.lost[w.effectOf(r, sent)]
	if before == nil || r.rogue != honest || e.law < writes || r.law < writes || !before.at.Before(r.begun) || r.yes != nil && r.yes.bytes != r.text {
		return
	}
	if !r.told {
		w.badf("I29", r, "is executed, and no person was told that the same call may have happened")
	}
}

// checkHeld: I30. A call is held if the same one may have happened, once.
func (w *scenario) checkHeld(r *record, res *mcp.CallToolResult, err error) {
	if !w.settings.doubted {
		return
	}
	at := w.effectOf(r, r.text)
	before := w.lost[at]
	_, unknown := errors.AsType[*middleware.OutcomeUnknownError](err)
	switch {
	case unknown:
		w.loses(r)
	case errors.Is(err, doubt.ErrHeld) && r.rogue == honest:
		switch {
		case len(r.execs) > 0 || !middleware.NotSent(err):
			w.badf("I30", r, "was executed and reports that it was held: %v", err)
		case before == nil:
			w.badf("I30", r, "is held, and no call like it is in doubt")
		case !before.held.IsZero() && before.held.Before(r.begun):
			w.badf("I30", r, "is held for the second time")
		default:
			before.held = time.Now()
		}
	case err == nil && r.told && !res.NeedsInput() && before != nil && before.at.Before(r.begun):
		delete(w.lost, at)
	}
}
