package command

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/health"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// The metrics of the proxy as a service, beside those of its calls in contrib/otel. Names, units and attributes follow
// OpenTelemetry's conventions: those for clients of databases and for Go are used as they are, and others begin with
// "fairlead.". docs/reference/telemetry.md lists them, and a test compares the two.

const meterName = "github.com/fairlead-go/fairlead/cmd/fairlead"

// databaseBuckets are those of the conventions for clients of databases, in seconds.
var databaseBuckets = metric.WithExplicitBucketBoundaries(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)

// A meter makes instruments, and keeps the first error.
type meter struct {
	metric.Meter

	all []metric.Observable
	err error
}

func (m *meter) failed(err error) { m.err = errors.Join(m.err, err) }

// sum returns an instrument that goes up and down.
func (m *meter) sum(name, unit, about string) metric.Int64Observable {
	i, err := m.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(about))
	m.failed(err)
	m.all = append(m.all, i)
	return i
}

// count returns an instrument that only goes up.
func (m *meter) count(name, unit, about string) metric.Int64Observable {
	i, err := m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(about))
	m.failed(err)
	m.all = append(m.all, i)
	return i
}

// A level is something in use, and the most of it.
type level struct{ now, limit metric.Int64Observable }

func (m *meter) level(name, of, unit, about string) level {
	return level{m.sum(name+"."+of, unit, about), m.sum(name+".limit", unit, "The most of it.")}
}

func (l level) observe(o metric.Observer, u proxy.Use) {
	o.ObserveInt64(l.now, u.Now)
	o.ObserveInt64(l.limit, u.Limit)
}

// observeProxy registers what is read at each export.
func (r *proxyRun) observeProxy(served *proxy.Proxy) error {
	m := &meter{Meter: r.meters.Meter(meterName)}
	up := m.sum("fairlead.dependency.up", "{dependency}", "Whether a dependency is there: 1, or 0 while it is away.")
	failures := m.count("fairlead.dependency.failures", "{failure}", "Uses and probes of a dependency that failed.")
	lost := m.count("fairlead.audit.lost", "{record}", "Records that the sink did not accept, or not in time.")
	unsent := m.sum("fairlead.audit.forward.waiting", "{record}", "Copies of records that wait for a place beside the file.")
	unforwarded := m.count("fairlead.audit.forward.lost", "{record}", "Copies of records that a place beside the file will not get.")
	sessions := m.level("fairlead.session", "count", "{session}", "Sessions that are open.")
	requests := m.level("fairlead.request", "count", "{request}", "Requests of clients that are under way.")
	bodies := m.level("fairlead.request.body", "usage", "By", "Bytes of the bodies of the requests under way, except for small ones.")
	results := m.level("fairlead.result", "usage", "By", "Bytes of what servers have sent and clients do not have yet, except for small messages.")
	delayed := m.sum("fairlead.result.delayed", "{message}", "Messages of servers that wait for room to be read.")
	questions := m.level("fairlead.question", "count", "{question}", "Calls that wait for a person.")
	turned := m.count("fairlead.request.rejected", "{request}", "Requests of clients that were answered with a status of 400 or more.")
	reloads := m.count("fairlead.policy.reloads", "{reload}", "How often a changed policy file was read.")
	current := m.sum("fairlead.policy.current", "{policy}", "Whether the policy that counts is that of the file as it is now: 1, or 0.")
	if m.err != nil {
		return m.err
	}
	_, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, d := range r.health.States() {
			by := metric.WithAttributes(attribute.String("fairlead.dependency", d.Name))
			o.ObserveInt64(up, number(d.Status == health.OK), by)
			o.ObserveInt64(failures, d.Failures, by)
		}
		now := served.Stats()
		if r.recorded != nil {
			o.ObserveInt64(lost, now.Lost)
		}
		for _, q := range r.forwarded {
			use, by := q.Use(), metric.WithAttributes(attribute.String("fairlead.dependency", q.Name()))
			o.ObserveInt64(unsent, use.Waiting, by)
			o.ObserveInt64(unforwarded, use.Lost, by)
		}
		if r.listen != "" {
			sessions.observe(o, now.Sessions)
			requests.observe(o, now.Requests)
			bodies.observe(o, now.Bodies)
		}
		results.observe(o, now.Results)
		o.ObserveInt64(delayed, now.Delayed)
		questions.observe(o, now.Questions)
		for status, n := range now.TurnedAway {
			o.ObserveInt64(turned, n, metric.WithAttributes(attribute.Int("http.response.status_code", status)))
		}
		if r.reload != nil {
			used, failed, isCurrent := r.reload.Reloads()
			o.ObserveInt64(reloads, int64(used))
			o.ObserveInt64(reloads, int64(failed), metric.WithAttributes(attribute.String("error.type", "invalid")))
			o.ObserveInt64(current, number(isCurrent))
		}
		return nil
	}, m.all...)
	if err != nil {
		return err
	}
	return runtime.Start(runtime.WithMeterProvider(r.meters))
}

func number(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// observeStore returns what measures the operations of a store, see redis.Options and postgres.Options.
func (r *proxyRun) observeStore(system string) func(context.Context, string, time.Duration, error) {
	took, err := r.meters.Meter(meterName).Float64Histogram("db.client.operation.duration", metric.WithUnit("s"), databaseBuckets,
		metric.WithDescription("Duration of database client operations."))
	if err != nil {
		return nil // the name is right
	}
	return func(ctx context.Context, operation string, lasted time.Duration, err error) {
		of := []attribute.KeyValue{attribute.String("db.system.name", system), attribute.String("db.operation.name", operation)}
		if kind := kindOf(err); kind != "" {
			of = append(of, attribute.String("error.type", kind))
		}
		took.Record(ctx, lasted.Seconds(), metric.WithAttributes(of...))
	}
}

// kindOf returns the error.type of an operation of a store, of which there are few.
func kindOf(err error) string {
	_, network := errors.AsType[net.Error](err)
	_, gone := errors.AsType[interface {
		error
		Unavailable() bool
	}](err)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case network, gone:
		return "unavailable"
	}
	return "_OTHER"
}

// observeWays returns what counts notifications, see reach.Ways.
func (r *proxyRun) observeWays() func(way string, err error) {
	sent, err := r.meters.Meter(meterName).Int64Counter("fairlead.notifications", metric.WithUnit("{notification}"),
		metric.WithDescription("Notifications that a call waits for a person."))
	if err != nil {
		return nil // the name is right
	}
	return func(way string, err error) {
		of := []attribute.KeyValue{attribute.String("fairlead.notification.channel", way)}
		if kind := kindOf(err); kind != "" {
			of = append(of, attribute.String("error.type", kind))
		}
		sent.Add(context.Background(), 1, metric.WithAttributes(of...))
	}
}
