// Package health keeps which of the things that a proxy depends on are there: its stores, its record, the issuer of its
// tokens and its servers. It logs one line when one goes away and one when it is back, and answers probes.
package health

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// Every is how often a dependency is probed.
	Every = 2 * time.Second
	// Settled is how long nothing may fail until a dependency counts as back, so that one which works now and then
	// writes no line for each call.
	Settled = 10 * time.Second

	probePatience = 5 * time.Second
)

// A Dependency is something that the proxy needs for some of what it does.
type Dependency struct {
	// Name is one word in the log, in /readyz and in metrics, such as "redis" or "server:crm".
	Name string
	// Refused is what does not work while it is away, as a person reads it.
	Refused string
	// Server reports whether it is a server. A proxy without any of its servers is not ready.
	Server bool
	// Probe returns nil if it is there. Nil means that [Monitor.Report] alone changes it.
	Probe func(ctx context.Context) error
}

// A State is what is known about a dependency.
type State struct {
	Name   string `json:"name"`
	Status string `json:"status"` // "ok" or "away"
	// Since is when it went away; nil while it is there.
	Since   *time.Time `json:"since,omitempty"`
	Refused string     `json:"refused,omitempty"`
	// Failures is how many uses and probes have failed so far.
	Failures int64 `json:"-"`
}

// Values of [State.Status] and of the whole.
const (
	OK       = "ok"
	Away     = "away"
	Degraded = "degraded"
	Starting = "starting"
	Ending   = "ending"
)

// A Monitor holds the dependencies of one proxy. Make one with [New]. It is safe for concurrent use.
type Monitor struct {
	log *slog.Logger

	mu     sync.Mutex
	all    []*dependency
	status string // Starting, Ending, or ""
}

type dependency struct {
	Dependency

	away         bool
	since, fault time.Time // when it went away, and when it failed last
	failures     int64
}

// New returns a monitor without dependencies, which is starting until [Monitor.Started]. A nil logger is silent.
func New(log *slog.Logger) *Monitor {
	return &Monitor{log: cmp.Or(log, slog.New(slog.DiscardHandler)), status: Starting}
}

// Add adds a dependency, which counts as there until it fails. A second one of the same name replaces the first and
// keeps its state.
func (m *Monitor) Add(d Dependency) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.find(d.Name); old != nil {
		old.Dependency = d
		return
	}
	m.all = append(m.all, &dependency{Dependency: d})
}

func (m *Monitor) find(name string) *dependency {
	if at := slices.IndexFunc(m.all, func(d *dependency) bool { return d.Name == name }); at >= 0 {
		return m.all[at]
	}
	return nil
}

// Started ends the start: from now on the proxy serves.
func (m *Monitor) Started() { m.set("") }

// End has probes answer that the proxy is ending.
func (m *Monitor) End() { m.set(Ending) }

func (m *Monitor) set(status string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status = status
}

// Report takes what became of one use of a dependency. An error of the caller's own, such as a cancelled context, is
// not for it. A dependency with a probe is not back before a probe has found it.
func (m *Monitor) Report(ctx context.Context, name string, err error) {
	m.mu.Lock()
	d := m.find(name)
	if d == nil || err == nil && (d.Probe != nil || !d.away) {
		m.mu.Unlock()
		return
	}
	m.mu.Unlock()
	m.learned(ctx, d, err, 0)
}

// Probe probes all dependencies once, side by side.
func (m *Monitor) Probe(ctx context.Context) {
	m.mu.Lock()
	all := slices.Clone(m.all)
	m.mu.Unlock()
	var probing sync.WaitGroup
	for _, d := range all {
		if d.Probe == nil {
			continue
		}
		probing.Go(func() {
			within, cancel := context.WithTimeout(ctx, probePatience)
			defer cancel()
			if err := d.Probe(within); ctx.Err() == nil {
				m.learned(ctx, d, err, Settled)
			}
		})
	}
	probing.Wait()
}

// Watch probes until ctx is done.
func (m *Monitor) Watch(ctx context.Context) {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		m.Probe(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// learned notes that a dependency failed, or works and has not failed for the time quiet, and logs a change.
func (m *Monitor) learned(ctx context.Context, d *dependency, err error, quiet time.Duration) {
	now := time.Now()
	m.mu.Lock()
	before, since := d.away, d.since
	switch {
	case err != nil:
		d.fault = now
		d.failures++
		if d.away = true; !before {
			d.since = now
		}
	case before && now.Sub(d.fault) >= quiet:
		d.away = false
	}
	after := d.away
	m.mu.Unlock()
	switch {
	case after && !before:
		m.log.LogAttrs(ctx, slog.LevelWarn, "health: a dependency is away", slog.String("name", d.Name), slog.String("refused", d.Refused), slog.Any("err", err))
	case before && !after:
		m.log.LogAttrs(ctx, slog.LevelWarn, "health: a dependency is back", slog.String("name", d.Name), slog.Duration("after", now.Sub(since).Round(time.Second)))
	}
}

// States returns all dependencies in the order in which they were added.
func (m *Monitor) States() []State {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]State, 0, len(m.all))
	for _, d := range m.all {
		s := State{Name: d.Name, Status: OK, Failures: d.failures}
		if d.away {
			since := d.since.UTC().Truncate(time.Second)
			s.Status, s.Since, s.Refused = Away, &since, d.Refused
		}
		all = append(all, s)
	}
	return all
}

// Ready returns [OK], [Degraded] if something is away, [Starting], [Ending], or [Away] if all servers are, so that no
// call can be answered. Load does not count.
func (m *Monitor) Ready() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.status != "" {
		return m.status
	}
	servers, gone, degraded := 0, 0, false
	for _, d := range m.all {
		degraded = degraded || d.away
		if d.Server {
			servers++
			if d.away {
				gone++
			}
		}
	}
	switch {
	case servers > 0 && gone == servers:
		return Away
	case degraded:
		return Degraded
	}
	return OK
}

// ServeHTTP answers a probe with JSON. The status is 200 while the proxy can answer some calls, else 503. Below
// /readyz/ the name of a dependency answers for it alone.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, name, one := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); one && name != "" {
		m.serveOne(w, name)
		return
	}
	status := m.Ready()
	answer(w, status == OK || status == Degraded, struct {
		Status       string  `json:"status"`
		Dependencies []State `json:"dependencies"`
	}{status, m.States()})
}

func (m *Monitor) serveOne(w http.ResponseWriter, name string) {
	for _, s := range m.States() {
		if s.Name == name {
			answer(w, s.Status == OK, s)
			return
		}
	}
	http.Error(w, "the proxy does not depend on that", http.StatusNotFound)
}

func answer(w http.ResponseWriter, ok bool, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) //nolint:errchkjson // it fails after the end of the connection
}
