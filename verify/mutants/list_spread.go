package main

const (
	remoteFile = "cache/remote.go"
	sharedFile = "cache/memory.go"
	lineFile   = "ratelimit/memory.go"
	boardFile  = "hitl/approvals/board.go"
	pageFile   = "hitl/inbox/board.go"
)

// spreadMutants are bugs that need more than one replica.
var spreadMutants = []mutant{
	{"replicas-end-of-write-not-said", remoteFile, `if err := c.tell(ctx, tellEnd, nil); err != nil && c.log.Enabled(ctx, slog.LevelDebug) {`, `if err := ctx.Err(); err != nil && c.log.Enabled(ctx, slog.LevelDebug) {`},
	{"replicas-lead-never-given-away", remoteFile, `r.remote.Drop(ctx, r.q, ticket)`, `_ = r.remote`},
	{"replicas-follow-nobody", remoteFile, `if found.Value != nil || !found.Busy {`, `if found.Value != nil || !found.Busy || found.Busy {`},
	{"replicas-keep-late-fills", sharedFile, `if on := m.server(q.Server); ticket == "" || on.Changed(q.Names, since) || on.Busy(q.Names) {`, `if since = m.servers.Now; ticket == "" {`},
	{"replicas-values-outlive-writes", sharedFile, `if v, ok := m.values.Get(q.ID); ok && now.Before(v.until) && !on.Changed(v.names, v.since) {`, `if v, ok := m.values.Get(q.ID); ok && now.Before(v.until) && (v.value != nil || !on.Changed(v.names, v.since)) {`},
	{"replicas-join-old-flights", sharedFile, `if v, ok := m.values.Get(q.ID); ok && now.Before(v.until) && !on.Changed(v.names, v.since) {`, `if v, ok := m.values.Get(q.ID); ok && now.Before(v.until) && (v.value == nil || !on.Changed(v.names, v.since)) {`},
	{"replicas-lost-beginning-forgets-the-end", sharedFile, `if open, ok := m.writes[w.ID]; ok {`, `open, ok := m.writes[w.ID]; if !ok { return }; {`},
	{"outage-lets-through", limiterFile, `return own.enter(ctx, w.share(l.replicas))`, `return 0, false, nil`},
	{"outage-gives-the-whole-to-each", limiterFile, `b.PerSecond, b.Burst = b.PerSecond/float64(n), max(1, b.Burst/n)`, `b.Burst *= min(n, 1)`},
	{"outage-gives-a-burst", limiterFile, `own = newMemory(time.Now())`, `own = NewMemory()`},
	{"share-saves-between-outages", limiterFile, `l.own.Store(nil)`, `_ = l.own.Load()`},
	{"replicas-tokens-not-taken", lineFile, `l.AllowN(w.seen, 1)`, `_ = l`},
	{"poisoned-values-are-believed", remoteFile, `age < ttl && storable(res) {`, `if age := max(time.Since(at), 0); ok && age < ttl {`},
	{"near-outlives-its-time", remoteFile, `since: r.since}, age, left)`, `r.keep(digest(r.q.ID).key(), &r.call, entry{res: kept, size: size, names: r.q.Names, since: r.since}, age, r.ttl)`},
	{"newcomers-overtake", lineFile, `return len(l.waiters)`, `return 0`},
	{"who-left-stays-in-line", lineFile, `l.waiters = slices.Delete(l.waiters, at, at+1)`, `_ = l.waiters`},
	{"silent-waiters-stay", lineFile, `func (p place) gone(now time.Time) bool { return p.awake == nil && now.Sub(p.seen) > waiterLease }`, `func (p place) gone(time.Time) bool { return p.seen.IsZero() }`},
	{"second-answer-counts", boardFile, "\tcase p.answer != nil:", `case p.answer != nil && len(answer) == 0:`},
	{"answer-with-nobody-there", boardFile, `return !p.ended && now.Before(p.Until) && (p.waiting > 0 || now.Sub(p.left) < unattended)`, `return !p.ended && now.Before(p.Until)`},
	{"another-question-is-shown", pageFile, `if q.digest = q.request.Digest(); q.digest != s.Digest {`, `if q.digest = q.request.Digest(); q.digest == "" {`},
	{"answer-to-another-question", pageFile, `case a.Digest != q.digest:`, `case a.Digest == "":`},
}
