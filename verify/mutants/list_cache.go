package main

const (
	cacheFile  = "cache/cache.go"
	flightFile = "cache/flight.go"
	keyFile    = "cache/call.go"
	memoryFile = "cache/store.go"
	seenFile   = "cache/lru.go"
	writesFile = "internal/versions/versions.go"
)

var cacheMutants = []mutant{
	{"key-without-scope", keyFile, `for _, part := range [...]string{call.Scope, call.Tool.Server, call.Tool.Name()} {`,
		`for _, part := range [...]string{call.Tool.Server, call.Tool.Name()} {`},
	{"key-without-server", keyFile, `for _, part := range [...]string{call.Scope, call.Tool.Server, call.Tool.Name()} {`,
		`for _, part := range [...]string{call.Scope, call.Tool.Name()} {`},
	{"key-without-definition", keyFile, `b = append(b, call.Tool.Digest[:]...)`, `b = append(b, 0)`},
	{"key-without-lengths", keyFile, `b = binary.AppendUvarint(b, uint64(len(part)))`, `b = binary.AppendUvarint(b, 0)[:len(b)]`},
	{"numbers-fold", "internal/canonical/canonical.go", `text := w.src[start:w.pos]`,
		`text, end := w.src[start:w.pos], w.pos; w.pos = start; w.flush(); f, _ := strconv.ParseFloat(string(text), 64); w.dst = strconv.AppendFloat(w.dst, f, 'g', -1, 64); w.pos, w.run = end, end`},
	{"members-given-twice", "internal/canonical/object.go", `if !before(&members[i-1], m) {`, `if m.end == 0 {`},
	{"writes-share-answers", cacheFile, `case class == annotation.Safe && why == "":`, `case !class.MustConfirm() && why == "":`},
	{"memory-never-expires", seenFile, `return now < e.expires && !e.server.Changed(e.names, e.since)`, `return !e.server.Changed(e.names, e.since)`},
	{"memory-outlives-writes", seenFile, `return now < e.expires && !e.server.Changed(e.names, e.since)`, `return now < e.expires`},
	{"stored-in-another-generation", memoryFile, `if !s.fresh(e.server, e.names, e.since) {`, `if e.since = s.servers.Now; !s.fresh(e.server, e.names, e.since) {`},
	{"write-under-way-not-counted", writesFile, `if s.inFlight > 0 {`, `if s.inFlight < 0 {`},
	{"asked-during-a-write-and-kept", writesFile, `if on.Busy(names) {`, `if on == nil {`},
	{"write-remembered-though-overlapped", writesFile, `others := on.Busy(names)`, `others := on == nil`},
	{"write-never-over", writesFile, `s.inFlight--`, `s.inFlight += 0`},
	{"write-never-over-after-a-panic", cacheFile, `defer c.store.endWrite(on, names)`,
		`defer func() { v := recover(); if v != nil { panic(v) }; c.store.endWrite(on, names) }()`},
	{"tool-errors-are-kept", cacheFile, `return res != nil && !res.IsError && !asksForInput(res) && (len(res.Content) > 0 || res.StructuredContent != nil)`, `return res != nil && !asksForInput(res)`},
	{"half-answers-are-kept", cacheFile, `return res != nil && !res.IsError && !asksForInput(res) && (len(res.Content) > 0 || res.StructuredContent != nil)`, `return res != nil && !res.IsError`},
	{"fresh-volatile-is-cached", cacheFile, `case class == annotation.Safe && a.Freshness == annotation.Stable:`, `case class == annotation.Safe && a.Freshness != annotation.Shared:`},
	{"fresh-volatile-is-joined", cacheFile, `why = "its result is volatile"`, `why = ""`},
	{"fresh-shared-is-stable", cacheFile, `case class == annotation.Safe && a.Freshness == annotation.Stable:`, `case class == annotation.Safe && a.Freshness != annotation.Volatile && a.Freshness != "":`},
	{"secrets-are-cached", cacheFile, `case a.Secret == annotation.Yes:`, `case a.Secret == annotation.Yes && a.Freshness == "":`},
	{"answers-not-copied-in", flightFile, `f.kept, f.size = resultcopy.Copy(f.res)`, `_, f.size = resultcopy.Copy(f.res); f.kept = f.res`},
	{"answers-not-copied-out", cacheFile, `return id, c.clone(res), nil`, `return id, res, nil`},
	{"shared-answers-not-copied", cacheFile, `return c.clone(f.kept), nil`, `return f.kept, nil`},
}

var flightMutants = []mutant{
	{"no-flights", memoryFile, `if f := s.inFlight[id]; f != nil && s.fresh(on, names, f.since) && covers(f.deadline, deadline) {`, `if f := s.inFlight[id]; f != nil && deadline.IsZero() && !deadline.IsZero() {`},
	{"flight-of-another-generation", memoryFile, `if f := s.inFlight[id]; f != nil && s.fresh(on, names, f.since) && covers(f.deadline, deadline) {`,
		`if f := s.inFlight[id]; f != nil && f.since >= s.forgotten && !on.Busy(names) && covers(f.deadline, deadline) {`},
	{"follower-with-more-time-joins", memoryFile, `if f := s.inFlight[id]; f != nil && s.fresh(on, names, f.since) && covers(f.deadline, deadline) {`,
		`if f := s.inFlight[id]; f != nil && s.fresh(on, names, f.since) {`},
	{"flight-keeps-the-leaders-cancel", flightFile, `own, cancel := context.WithoutCancel(ctx), context.CancelFunc(nil)`, `own, cancel := ctx, context.CancelFunc(nil)`},
	{"flight-loses-the-deadline", flightFile, `own, cancel = context.WithDeadline(own, f.deadline)`, `own, cancel = context.WithCancel(own)`},
	{"flight-goes-on-for-nobody", memoryFile, "if abandoned {\n\t\tf.cancel()", `_ = f.cancel`},
	{"first-who-leaves-ends-the-flight", memoryFile, `abandoned := f.waiting == 0`, `abandoned := f.waiting >= 0`},
	{"half-answers-are-shared", cacheFile, `if asksForInput(f.kept) {`, `if asksForInput(f.kept) && ttl < 0 {`},
	{"flight-uses-the-callers-buffers", flightFile, `call.Arguments, call.Meta = bytes.Clone(call.Arguments), maps.Clone(call.Meta)`, `_, _ = bytes.Clone(call.Arguments), maps.Clone(call.Meta)`},
}
