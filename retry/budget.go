package retry

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/fairlead-go/fairlead/middleware"
)

// The numbers of the AWS SDKs' standard retryer (aws-sdk-go-v2, aws/retry: DefaultRetryRateTokens,
// DefaultRetryCost, DefaultRetryTimeoutCost, DefaultNoRetryIncrement). A server that is down thus gets a
// hundred repetitions in a row, and after that one for every five calls that succeed at once.
const (
	defaultBudget = 500
	retryCost     = 5  // for making a call again, given back if that succeeds
	timeoutCost   = 10 // the same after an attempt that ran out of time
	successGain   = 1  // for a call that succeeds at once
)

// budget counts the used tokens of each server. A server that has used none is not in the map.
type budget struct {
	tokens int
	inUse  atomic.Bool // the map is not empty, so that most calls need no lock to give nothing back

	mu    sync.Mutex
	spent map[string]int
}

// costOf returns the cost of repeating a failed call: nothing if it was refused with a time when there is room.
func costOf(err error) int {
	if middleware.Refused(err) {
		return 0
	}
	if _, paced := middleware.RetryAfter(err); paced && middleware.NotSent(err) {
		return 0
	}
	var timeout interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return timeoutCost
	}
	return retryCost
}

// take takes the tokens for a repetition, and reports whether they were there.
func (b *budget) take(server string, cost int) bool {
	if cost == 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent[server]+cost > b.tokens {
		return false
	}
	b.spent[server] += cost
	b.inUse.Store(true)
	return true
}

// give returns tokens, up to a full budget.
func (b *budget) give(server string, tokens int) {
	if !b.inUse.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	spent, known := b.spent[server]
	switch {
	case !known:
	case spent > tokens:
		b.spent[server] = spent - tokens
	default:
		delete(b.spent, server)
		b.inUse.Store(len(b.spent) > 0)
	}
}
