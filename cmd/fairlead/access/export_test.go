package access

import (
	"context"
	"net/http"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// WatchEvery is [Access.Watch] with other distances.
func WatchEvery(ctx context.Context, a *Access, every, again time.Duration, report func(error)) {
	a.watch(ctx, every, again, report)
}

// RenewBy is [Access.Renew] by a client of its own.
func RenewBy(ctx context.Context, a *Access, client *http.Client) error {
	return a.renew(oidc.ClientContext(ctx, client))
}

// Age lets the keys of the issuer be so old.
func Age(a *Access, by time.Duration) {
	a.issuer.mu.Lock()
	defer a.issuer.mu.Unlock()
	a.issuer.renewed = time.Now().Add(-by)
}
