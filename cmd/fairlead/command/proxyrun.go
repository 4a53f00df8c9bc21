package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/cmd/fairlead/forward"
	"github.com/fairlead-go/fairlead/cmd/fairlead/health"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/contrib/postgres"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry/doubt"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// A proxyRun is one run of fairlead proxy. Each step fills in options and may add to ends; an error of a step ends the
// run before a server is started.
type proxyRun struct {
	*proxyFlags

	cmd     *cobra.Command
	log     *slog.Logger
	hold    *terminal.Hold // of the log and the servers, while a question is open on the same terminal
	options proxy.Options
	decided *policy.Policy // as it was at the start
	waiting inbox.Options  // of the approvals page
	public  string         // the page's address for other machines, "" if it is on this one
	shared  *redis.Store   // nil without a store in Redis
	doubts  doubt.Store    // of all replicas; nil without a store that they share

	health   *health.Monitor
	meters   metric.MeterProvider // of no effect without an exporter
	recorded *recording           // nil without a record

	forwarded []*forward.Queue // copies of the records, to places beside its file

	// ends release what was opened. They are called in the reverse order.
	ends []func() error
}

// run serves MCP until the client goes or the command's context is done. The exit code of a server that cannot be
// reached is 3.
func (o *proxyFlags) run(cmd *cobra.Command, args []string) (err error) {
	level := slog.LevelWarn
	if o.verbose {
		level = slog.LevelDebug
	}
	hold := new(terminal.Hold)
	log := slog.New(slog.NewTextHandler(hold.Writer(cmd.ErrOrStderr()), &slog.HandlerOptions{Level: level}))
	r := &proxyRun{proxyFlags: o, cmd: cmd, log: log, hold: hold, waiting: inbox.Options{Logger: log}, health: health.New(log), meters: noop.NewMeterProvider()}
	defer func() {
		for _, end := range slices.Backward(r.ends) {
			err = errors.Join(err, end())
		}
	}()
	if err := r.setOptions(args); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(cmd.Context())
	r.ends = append(r.ends, func() error { stop(); return nil })
	if err := r.openTelemetry(ctx); err != nil {
		return err
	}
	if r.public, err = o.openAccess(&r.options, &r.waiting); err != nil {
		return fmt.Errorf("--access: %w", err)
	}
	if err := r.reachIssuer(ctx); err != nil {
		return fmt.Errorf("--access: %w", err)
	}
	if err := r.openCredentials(ctx); err != nil {
		return err
	}
	if err := r.openStores(cmd.Context()); err != nil {
		return err
	}
	if err := r.forwardRecords(ctx); err != nil {
		return err
	}
	if err := r.setPeople(ctx); err != nil {
		return err
	}
	return r.serve(ctx)
}

// setOptions sets what the flags and the files of the policy, the lock and the record say.
func (r *proxyRun) setOptions(args []string) (err error) {
	r.options = proxy.Options{
		Drain: r.drain, Trust: r.trust, NoKnown: r.noKnown, ReadOnly: r.readOnly, Annotate: r.annotate, Observe: r.observe, InFlight: r.inFlight << 20, Stderr: r.hold.Writer(r.cmd.ErrOrStderr()), Logger: r.log,
	}
	if r.options.Servers, err = r.targets(args, r.cmd.ArgsLenAtDash()); err != nil {
		return err
	}
	if r.decided, err = r.openPolicy(&r.options, r.log); err != nil {
		return err
	}
	for _, s := range r.scopes {
		r.options.Scopes = append(r.options.Scopes, catalog.Scope{Permission: s})
	}
	if name := r.file(r.lock, r.decided.Lock); name != "" {
		if r.options.Lock, err = loadLock(name); err != nil {
			return err
		}
	}
	if name := r.file(r.audit, r.decided.Audit); name != "" {
		file, err := openRecord(name, r.log)
		if err != nil {
			return err
		}
		r.recorded = &recording{name: name, log: r.log, file: file, size: r.auditSize << 20, age: r.auditAge}
		r.ends = append(r.ends, r.recorded.Close)
		r.options.Audit = r.recorded
	}
	if r.observe && r.options.Audit == nil {
		return errors.New("--observe records what would have been done; name the file by --audit FILE")
	}
	if r.observe {
		r.log.Warn("OBSERVING: nobody is asked, and nothing is refused but what the policy denies; each call runs. End it and leave out --observe to be protected")
	}
	if r.inFlight < 0 || r.inFlight > 0 && r.inFlight < proxy.LeastInFlight>>20 {
		return fmt.Errorf("--in-flight %d: want at least %d MB, since one message may have 64 MB", r.inFlight, proxy.LeastInFlight>>20)
	}
	if r.replicas < 1 {
		return fmt.Errorf("--replicas %d: at least this one is there", r.replicas)
	}
	return nil
}

// openTelemetry exports spans and metrics if the environment names where to.
func (r *proxyRun) openTelemetry(ctx context.Context) error {
	t, meters, end, err := telemetry(ctx, r.log, r.listen == "")
	if err != nil {
		return err
	}
	if meters != nil {
		r.options.Telemetry, r.meters, r.observed = t, meters, r.observeStore
	}
	r.ends = append(r.ends, func() error {
		if err := end(); err != nil {
			r.log.WarnContext(ctx, "telemetry: "+err.Error())
		}
		return nil
	})
	return nil
}

// openStores opens the stores of --store and --approvals; without them approvals are remembered in memory, until the
// process ends.
func (r *proxyRun) openStores(ctx context.Context) error {
	switch {
	case r.store != "" && !isRedis(r.store):
		file, err := r.openFolder(r.options.Servers, r.log)
		if err != nil {
			return fmt.Errorf("--store: %w", err)
		}
		r.ends = append(r.ends, file.Close)
		r.waiting.Store = file
		if r.options.Writes, err = proxy.OpenWrites(r.store, r.log); err != nil {
			return fmt.Errorf("--store: %w", err)
		}
		r.ends = append(r.ends, r.options.Writes.Close)
	case r.store != "":
		if err := r.openShared(ctx); err != nil {
			return err
		}
		r.ends = append(r.ends, r.shared.Close)
		r.waiting.Board, r.waiting.Store = r.shared.Board(), r.shared.Approvals()
		r.doubts, r.options.Sessions = r.shared.Doubt(), r.shared.Sessions()
	default:
		r.waiting.Store = approvals.NewMemory()
	}
	var kept *postgres.Store
	if r.approvals != "" {
		var err error
		if kept, err = r.openKept(ctx); err != nil {
			return err
		}
		r.ends = append(r.ends, func() error { kept.Close(); return nil })
		r.waiting.Store, r.doubts = kept, kept.Doubt()
	}
	r.options.Share = r.share
	r.depend(kept)
	var record *audit.File
	if r.recorded != nil {
		record = r.recorded.file
	}
	r.options.Doubt = inDoubt(record, r.doubts, r.log)
	return nil
}

// share has the chain of a policy use the stores.
func (r *proxyRun) share(c *cache.Options, limit *ratelimit.Options, ask *hitl.Options) {
	if r.shared != nil {
		c.Remote = r.shared.Cache()
		limit.Shared, limit.Replicas = r.shared.Limiter(), r.replicas
	}
	if ask.Store = r.waiting.Store; r.store == "" && r.approvals == "" && ask.Remember == hitl.Always {
		r.log.Warn("policy: without --store nothing is remembered for always, since it would end with this process; for the session it is")
		ask.Remember = hitl.Session
	}
}

// setPeople sets who is asked: by --approve, or else by the policy.
func (r *proxyRun) setPeople(ctx context.Context) error {
	by := r.decided.By
	if len(r.approve) > 0 {
		by = strings.Split(strings.ToLower(strings.Join(r.approve, ",")), ",")
	}
	ways, err := r.ways(r.log)
	if err != nil {
		return err
	}
	ways.Observe = r.notified(ctx, ways.Webhook != nil)
	page := &page{ctx: ctx, address: r.inbox, out: r.cmd.ErrOrStderr(), in: inbox.New(r.waiting), reach: ways, public: r.public}
	r.options.Page = page.in
	r.options.Undoable = func(call middleware.Call, by hitl.Undo, takeBack proxy.Returning) {
		page.in.Undoable(call, by, takeBack)
	}
	if r.options.Confirm, err = approvers(by, page, r.hold); err != nil {
		return err
	}
	r.options.Waits = waits(by, r.public)
	return nil
}

// serve starts the servers and serves clients until ctx is done or the client has gone.
func (r *proxyRun) serve(ctx context.Context) error {
	r.options.Health = r.health
	served, err := proxy.New(r.options)
	if err != nil {
		return err
	}
	if err := r.observeProxy(served); err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	stop := r.onHangUp(ctx)
	defer stop()
	if os.Getpid() == 1 {
		go proxy.ReapOrphans(ctx)
	}
	if r.listen != "" {
		err = served.ListenAndServe(ctx, r.listen, func(url string) { fmt.Fprintln(r.cmd.ErrOrStderr(), "fairlead: serving MCP at", url) })
	} else {
		go r.health.Watch(ctx)
		r.health.Started()
		err = served.ServeLines(ctx, r.cmd.InOrStdin(), r.cmd.OutOrStdout())
	}
	if _, unreachable := errors.AsType[*proxy.UnreachableError](err); unreachable {
		return &exitError{exitUnreachable, err}
	}
	return err
}
