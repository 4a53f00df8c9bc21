// Package trouble bounds the lines of a log about what fails again and again: one at the begin and one at the end.
package trouble

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Trouble lasts while something fails. The zero value has not begun. It is safe for concurrent use.
type Trouble struct {
	on atomic.Bool

	mu          sync.Mutex
	since, last time.Time // of the first failure and of the last one
	failures    int
}

// Calm is how long nothing may fail for a trouble to be over, so that one that comes and goes does not have two lines for
// each call.
const Calm = time.Second

// Fails counts a failure, and reports whether a trouble begins with it.
func (t *Trouble) Fails() (begins bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = time.Now()
	if t.failures++; t.failures > 1 {
		return false
	}
	t.since = t.last
	t.on.Store(true)
	return true
}

// Works notes that it works. If a trouble ends with it, it returns the number of failures and how long it lasted, and else
// 0.
func (t *Trouble) Works() (failures int, lasted time.Duration) {
	if !t.on.Load() {
		return 0, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failures == 0 || time.Since(t.last) < Calm {
		return 0, 0
	}
	failures, t.failures = t.failures, 0
	t.on.Store(false)
	return failures, time.Since(t.since)
}

// On reports whether it lasts.
func (t *Trouble) On() bool { return t.on.Load() }
