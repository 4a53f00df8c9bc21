package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/cmd/fairlead/health"
	"github.com/fairlead-go/fairlead/contrib/postgres"
	"github.com/fairlead-go/fairlead/contrib/redis"
)

// Names of the dependencies, and what does not work without them. A person reads it in /readyz and in the log.
const (
	depRedis    = "redis"
	depPostgres = "postgresql"
	depRecord   = "record"
	depIssuer   = "issuer"

	depCredentials = "credentials"
	depWebhook     = "webhook" // as reach.Ways names it

	withoutApprovals   = "calls that need an approval, and writes that are not harmless to repeat, are refused; reads go on"
	withoutShared      = "nothing is cached, and each replica has its share of the rate limits; calls go on"
	withoutRedis       = withoutApprovals + ", uncached and within this replica's share of the rate limits"
	withoutCredentials = "calls of servers where users sign in are refused"
	withoutKeys        = "every call is refused, since no token can be checked"
	withoutIssuer      = "tokens of its new keys are refused, and all tokens an hour after its keys were renewed last"
	withoutWebhook     = "no call; people are not notified of calls that wait for them, and have to look at the page"
	withoutRecord      = "dangerous calls, and those that the policy wants recorded, are refused; other calls go on without a record"
)

// depend adds the stores and the record to what is probed.
func (r *proxyRun) depend(kept *postgres.Store) {
	if r.shared != nil {
		refused := withoutRedis
		if kept != nil {
			refused = "questions are asked at the replica of their call alone; " + withoutShared
		}
		r.health.Add(health.Dependency{Name: depRedis, Refused: refused, Probe: r.shared.Healthy})
	}
	if kept != nil {
		r.health.Add(health.Dependency{Name: depPostgres, Refused: withoutApprovals, Probe: kept.Healthy})
	}
	if r.recorded != nil {
		r.health.Add(health.Dependency{Name: depRecord, Refused: withoutRecord, Probe: r.recorded.healthy})
		r.options.Audit = reported{r.recorded, r.health}
	}
}

// notified returns what counts notifications, and reports those by the webhook, if there is one.
func (r *proxyRun) notified(ctx context.Context, hook bool) func(way string, err error) {
	count := r.observeWays()
	if !hook {
		return count
	}
	r.health.Add(health.Dependency{Name: depWebhook, Refused: withoutWebhook})
	return func(way string, err error) {
		if count != nil {
			count(way, err)
		}
		if way == depWebhook {
			r.health.Report(ctx, way, err)
		}
	}
}

// healthy returns why the next record would not be written, nil if it can be.
func (r *recording) healthy(context.Context) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if err := r.file.Healthy(); err != nil || !r.failed.Load() {
		return err
	}
	return roomBeside(r.name)
}

// roomBeside returns why nothing can be written in the folder of a file, such as that its disk is full.
func roomBeside(name string) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".fairlead-room-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4<<10)) // a block, since the last one of a file may have room
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// A reported sink reports what became of each record.
type reported struct {
	audit.Sink

	to *health.Monitor
}

func (s reported) Write(ctx context.Context, one audit.Record) error {
	err := s.Sink.Write(ctx, one)
	s.to.Report(ctx, depRecord, err)
	return err
}

// reachIssuer fetches the keys of the tokens' issuer, if there is one, waits for it, and renews them from then on.
func (r *proxyRun) reachIssuer(ctx context.Context) error {
	a := r.options.Access
	if a == nil || a.Tokens == nil {
		return nil
	}
	away := func(err error) bool { _, is := errors.AsType[*access.AwayError](err); return is }
	if err := r.reached(ctx, depIssuer, withoutKeys, away, func() error { return a.Renew(ctx) }); err != nil {
		return err
	}
	r.health.Add(health.Dependency{Name: depIssuer, Refused: withoutIssuer})
	go a.Watch(ctx, func(err error) { r.health.Report(ctx, depIssuer, err) })
	return nil
}

// reached calls open until what it opens is there. It waits only with --listen. Meanwhile
// probes are answered, and clients get 503 with a time. An error that time does not mend is returned at once.
func (r *proxyRun) reached(ctx context.Context, name, refused string, unreachable func(error) bool, open func() error) error {
	err := open()
	if err == nil || r.listen == "" || !unreachable(err) {
		return err
	}
	r.health.Add(health.Dependency{Name: name, Refused: refused})
	r.health.Report(ctx, name, err)
	stop, failed := r.serveStart(ctx)
	if failed != nil {
		return errors.Join(failed, err)
	}
	defer stop()
	wait := backoff.NewExponentialBackOff(backoff.WithMaxInterval(15*time.Second), backoff.WithMaxElapsedTime(0))
	for {
		select {
		case <-time.After(wait.NextBackOff()):
		case <-ctx.Done():
			return fmt.Errorf("it was ended while it waited for %s: %w", name, err)
		}
		if err = open(); err == nil {
			r.health.Report(ctx, name, nil)
			return nil
		}
		if !unreachable(err) {
			return err
		}
	}
}

// serveStart answers on the address of --listen while the proxy cannot serve yet.
func (r *proxyRun) serveStart(ctx context.Context) (stop func(), err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", r.listen)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(r.cmd.ErrOrStderr(), "fairlead: starting; answering probes at", "http://"+l.Addr().String()+"/readyz")
	if a := r.options.Access; a != nil && a.TLS != nil {
		l = a.Listen(l)
	}
	m := http.NewServeMux()
	m.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	m.Handle("/readyz", r.health)
	m.Handle("/readyz/", r.health)
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "15")
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{
			"code": -32000, "message": "the proxy is starting and waits for something that it depends on, see /readyz; nothing was called, try again in 15 seconds"}})
	})
	server := &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug)}
	go func() { _ = server.Serve(l) }() // until it is closed
	return func() { _ = server.Close() }, nil
}

// openShared opens the Redis of --store, and waits for it.
func (r *proxyRun) openShared(ctx context.Context) error {
	err := r.reached(ctx, depRedis, withoutRedis, redis.Unreachable, func() (err error) {
		r.shared, err = r.openStore(ctx, r.options.Servers, r.log)
		return err
	})
	if err != nil {
		return fmt.Errorf("--store: %w", err)
	}
	return nil
}

// openKept opens the PostgreSQL of --approvals, and waits for it.
func (r *proxyRun) openKept(ctx context.Context) (kept *postgres.Store, err error) {
	err = r.reached(ctx, depPostgres, withoutApprovals, postgres.Unreachable, func() (err error) {
		kept, err = r.openApprovals(ctx, r.options.Servers, r.log)
		return err
	})
	return kept, err
}
