package access

import (
	"context"
	"time"
)

// WatchEvery is [Access.Watch] with another distance.
func WatchEvery(ctx context.Context, a *Access, every time.Duration, report func(error)) {
	a.watch(ctx, every, every, report)
}

// Age lets the keys of the issuer be so old.
func Age(a *Access, by time.Duration) {
	a.issuer.mu.Lock()
	defer a.issuer.mu.Unlock()
	a.issuer.renewed = time.Now().Add(-by)
}
