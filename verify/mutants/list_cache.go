package main

const (
	cacheFile  = "cache/cache.go"
	flightFile = "cache/flight.go"
	keyFile    = "cache/key.go"
	memoryFile = "cache/memory.go"
	seenFile   = "cache/segments.go"
	writesFile = "cache/server.go"
)

var cacheMutants = []mutant{
	{
		"key-without-scope", keyFile, `for _, part := range [...]string{call.Scope, call.Tool.Server, call.Tool.Name()} {`,
		`for _, part := range [...]string{call.Tool.Server, call.Tool.Name()} {`,
	},
	{
		"key-without-server", keyFile, `for _, part := range [...]string{call.Scope, call.Tool.Server, call.Tool.Name()} {`,
		`for _, part := range [...]string{call.Scope, call.Tool.Name()} {`,
	},
	{"key-without-definition", keyFile, `b = append(b, call.Tool.Digest[:]...)`, `b = append(b, 0)`},
	{"key-without-lengths", keyFile, `b = binary.AppendUvarint(b, uint64(len(part)))`, `b = binary.AppendUvarint(b, 0)[:len(b)]`},
	{
		"numbers-fold", "internal/canonical/canonical.go", `text := w.src[start:w.pos]`,
		`text, end := w.src[start:w.pos], w.pos; w.pos = start; w.flush(); f, _ := strconv.ParseFloat(string(text), 64); w.dst = strconv.AppendFloat(w.dst, f, 'g', -1, 64); w.pos, w.run = end, end`,
	},
	{"members-given-twice", "internal/canonical/object.go", `if m := &members[i]; !before(text, &members[i-1], m) {`, `if m := &members[i]; m.end == 0 {`},
	{"writes-share-answers", cacheFile, `if class != annotation.Safe {`, `if class.MustConfirm() {`},
	{"asked-calls-share-answers", cacheFile, `if class != annotation.Safe {`, `if class == annotation.Moderate {`},
	{"memory-never-expires", seenFile, `return now < e.expires && !e.of.server.changed(e.of.names, e.since)`, `return !e.of.server.changed(e.of.names, e.since)`},
	{"memory-outlives-writes", seenFile, `return now < e.expires && !e.of.server.changed(e.of.names, e.since)`, `return now < e.expires`},
	{"stored-in-another-generation", memoryFile, `if !s.fresh(e.of.server, e.of.names, e.since) {`, `if e.since = s.now; !s.fresh(e.of.server, e.of.names, e.since) {`},
	{"write-under-way-not-counted", writesFile, `if s.wholly > s.over.Load() {`, `if s.wholly < s.over.Load() {`},
	{"asked-during-a-write-and-kept", memoryFile, `if s.server(server).busy(names) {`, `if s.server(server) == nil {`},
	{"write-remembered-though-overlapped", memoryFile, `return s.now, s.fresh(s.server(server), names, began)`, `return s.now, true`},
	{"write-never-over", memoryFile, `on.over.Add(1)`, `on.over.Add(0)`},
	{
		"write-never-over-after-a-panic", cacheFile, `defer c.store.endWrite(on, names)`,
		`defer func() { v := recover(); if v != nil { panic(v) }; c.store.endWrite(on, names) }()`,
	},
	{"tool-errors-are-kept", cacheFile, `return res != nil && !res.IsError && !asksForInput(res) && (len(res.Content) > 0 || res.StructuredContent != nil)`, `return res != nil && !asksForInput(res)`},
	{"half-answers-are-kept", cacheFile, `return res != nil && !res.IsError && !asksForInput(res) && (len(res.Content) > 0 || res.StructuredContent != nil)`, `return res != nil && !res.IsError`},
	{"answers-not-copied-in", flightFile, `f.kept = deepCopy(f.res)`, `f.kept = f.res`},
	{"answers-not-copied-out", cacheFile, "\tcase res != nil:\n\t\tc.answered(ctx, call, \"hit\")\n\t\treturn c.clone(res), nil", `return res, nil`},
	{"shared-answers-not-copied", cacheFile, `return c.clone(f.kept), nil`, `return f.kept, nil`},
}

var flightMutants = []mutant{
	{"no-flights", memoryFile, `if f := s.flights[id]; f != nil && s.fresh(s.server(server), names, f.since) && covers(f.deadline, deadline) {`, `if f := s.flights[id]; f != nil && deadline.IsZero() && !deadline.IsZero() {`},
	{
		"flight-of-another-generation", memoryFile, `if f := s.flights[id]; f != nil && s.fresh(s.server(server), names, f.since) && covers(f.deadline, deadline) {`,
		`if f := s.flights[id]; f != nil && f.since >= s.forgotten && !s.server(server).busy(names) && covers(f.deadline, deadline) {`,
	},
	{
		"follower-with-more-time-joins", memoryFile, `if f := s.flights[id]; f != nil && s.fresh(s.server(server), names, f.since) && covers(f.deadline, deadline) {`,
		`if f := s.flights[id]; f != nil && s.fresh(s.server(server), names, f.since) {`,
	},
	{"flight-keeps-the-leaders-cancel", flightFile, `own, cancel := context.WithoutCancel(ctx), context.CancelFunc(nil)`, `own, cancel := ctx, context.CancelFunc(nil)`},
	{"flight-loses-the-deadline", flightFile, `own, cancel = context.WithDeadline(own, f.deadline)`, `own, cancel = context.WithCancel(own)`},
	{"flight-goes-on-for-nobody", memoryFile, "if abandoned {\n\t\tf.cancel()", `_ = f.cancel`},
	{"first-who-leaves-ends-the-flight", memoryFile, `abandoned := f.waiting == 0`, `abandoned := f.waiting >= 0`},
	{"half-answers-are-shared", cacheFile, `case asksForInput(f.kept):`, `case asksForInput(f.kept) && ttl < 0:`},
	{"flight-uses-the-callers-buffers", flightFile, `call.Arguments, call.Meta = bytes.Clone(call.Arguments), maps.Clone(call.Meta)`, `_, _ = bytes.Clone(call.Arguments), maps.Clone(call.Meta)`},
}
