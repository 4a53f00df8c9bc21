package retry

import (
	"context"
	"errors"
	"sync"

	"github.com/fairlead-go/fairlead/middleware"
)

// The numbers of the AWS SDKs' standard retryer (aws-sdk-go-v2, aws/retry:
// DefaultRetryRateTokens, DefaultRetryCost, DefaultRetryTimeoutCost and
// DefaultNoRetryIncrement). A server that is down thus gets a hundred repetitions
// in a row, of all calls together, and after that one for every five calls that
// succeed at once.
const (
	defaultBudget = 500
	retryCost     = 5  // for making a call again, given back if that succeeds
	timeoutCost   = 10 // the same after an attempt that ran out of time
	successGain   = 1  // for a call that succeeds at once
)

// budget counts, for each server, how much of its tokens is spent. A server of
// which nothing is spent is not in the map.
type budget struct {
	tokens int

	mu    sync.Mutex
	spent map[string]int
}

func newBudget(tokens int) *budget { return &budget{tokens: tokens, spent: make(map[string]int)} }

// costOf returns what repeating a call costs that failed with err: nothing where
// whoever refused it, the server before execution or a limiter of the host's
// before it left, says by itself when there will be room.
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

// take draws on the server's tokens, and reports false if they do not suffice.
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
	return true
}

// give puts tokens back.
func (b *budget) give(server string, tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	spent, known := b.spent[server]
	switch {
	case !known:
	case spent > tokens:
		b.spent[server] = spent - tokens
	default:
		delete(b.spent, server)
	}
}
