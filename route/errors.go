package route

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
)

// ErrNoReplica is in the tree of every error about a call that no replica may have.
var ErrNoReplica = errors.New("route: no replica")

// A NoReplicaError reports why no replica of the server may have the call. Nothing was sent.
type NoReplicaError struct {
	Tool *middleware.Tool
	// Excluded are the replicas with the reasons, in the order of the pool.
	Excluded []Excluded
	// After is when the first of them may be tried again, 0 where waiting does not help.
	After time.Duration
}

// Excluded is a replica that may not have a call.
type Excluded struct{ Replica, Reason string }

func (e *NoReplicaError) Error() string {
	reasons := make([]string, len(e.Excluded))
	for i, x := range e.Excluded {
		reasons[i] = x.Replica + " " + x.Reason
	}
	next := "; add a replica that may have it"
	if e.After > 0 {
		next = fmt.Sprintf("; try again in %v", e.After.Round(time.Millisecond))
	}
	return fmt.Sprintf("route: no replica may have %s, which is %s: %s%s", e.Tool, e.Tool.Safety(), strings.Join(reasons, ", "), next)
}

// NotSent reports that the call was not sent.
func (*NoReplicaError) NotSent() bool { return true }

func (e *NoReplicaError) ForModel() string {
	text := e.Tool.ModelName() + " was not called: its server cannot take the call now. "
	if e.After > 0 {
		return text + fmt.Sprintf("Call it again in %v, or do something else first.", e.After.Round(time.Millisecond))
	}
	return text + "Use another tool, or tell the user."
}

func (e *NoReplicaError) Is(target error) bool { return target == ErrNoReplica }

// Permanent reports whether waiting is of no use.
func (e *NoReplicaError) Permanent() bool { return e.After == 0 }

// RetryAfter returns when the first replica may be tried again.
func (e *NoReplicaError) RetryAfter() time.Duration { return e.After }

// none returns why each replica may not have the call; the caller holds the mutex.
func (p *Pool) none(tool *middleware.Tool, tried []*member, at time.Time) error {
	err := &NoReplicaError{Tool: tool}
	sooner := func(after time.Duration) time.Duration { return min(cmp.Or(err.After, after), after) }
	allowed, _ := p.allowed(tool)
	for _, m := range p.members {
		var reason string
		switch {
		case slices.Contains(tried, m):
			reason = "was tried"
		case tool.Safety().MustConfirm() && !m.primary():
			reason = fmt.Sprintf("is not a primary (weight %d, below %d)", m.Weight, primary)
		case !slices.Contains(allowed, m):
			reason = "offers another definition of it"
		case at.Before(m.until):
			reason = "failed and rests"
			err.After = sooner(m.until.Sub(at))
		default:
			reason = "failed and is being tried by another call"
			err.After = sooner(p.o.Pause)
		}
		err.Excluded = append(err.Excluded, Excluded{m.ID, reason})
	}
	return err
}
