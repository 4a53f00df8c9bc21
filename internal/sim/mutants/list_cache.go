package main

const (
	cacheFile  = "cache/cache.go"
	flightFile = "cache/flight.go"
	keyFile    = "cache/key.go"
	memoryFile = "cache/memory.go"
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
		"numbers-fold", "internal/canonical/canonical.go", `w.dst = append(w.dst, text...)`,
		`f, _ := strconv.ParseFloat(string(text), 64); w.dst = strconv.AppendFloat(w.dst, f, 'g', -1, 64)`,
	},
	{"members-given-twice", "internal/canonical/canonical.go", `if bytes.Equal(key(members[i-1]), key(members[i])) {`, `if len(key(members[i])) == 0 {`},
	{"writes-share-answers", cacheFile, `if call.Tool.Safety() != annotation.Safe {`, `if call.Tool.Safety().MustConfirm() {`},
	{"asked-calls-share-answers", cacheFile, `if call.Tool.Safety() != annotation.Safe {`, `if call.Tool.Safety() == annotation.Moderate {`},
	{"memory-never-expires", memoryFile, `if e.generation != s.generation || !now.Before(e.expires) {`, `if e.generation != s.generation || now.IsZero() {`},
	{"memory-outlives-writes", memoryFile, `if e.generation != s.generation || !now.Before(e.expires) {`, `if !now.Before(e.expires) {`},
	{"stored-in-another-generation", memoryFile, `e := entry{res: res, generation: fetched, expires: expires, size: sizeOf(res)}`, `e := entry{res: res, generation: m.server(server).generation, expires: expires, size: sizeOf(res)}; fetched = e.generation`},
	{
		"write-not-counted-at-its-start", memoryFile, "func (m *memory) beginWrite(server string) generation {\n\tm.mu.Lock()\n\tdefer m.mu.Unlock()\n\ts := m.server(server)\n\ts.generation++\n\ts.writing++",
		`s.generation += 0`,
	},
	{
		"write-not-counted-at-its-end", memoryFile, "func (m *memory) endWrite(server string) generation {\n\tm.mu.Lock()\n\tdefer m.mu.Unlock()\n\ts := m.server(server)\n\ts.generation++",
		`s.generation += 0`,
	},
	{"write-remembered-though-overlapped", cacheFile, `alone := now == began+1 // else another write may have undone what this one did`, `alone := now > began`},
	{"write-never-over", memoryFile, `s.writing--`, `s.writing += 0`},
	{"write-never-over-after-a-panic", cacheFile, `if !ended { // a panic on its way out`, `if ended && kept {`},
	{"tool-errors-are-kept", cacheFile, `return res != nil && !res.IsError && !asksForInput(res) && (len(res.Content) > 0 || res.StructuredContent != nil)`, `return res != nil && !asksForInput(res)`},
	{"half-answers-are-kept", cacheFile, `return res != nil && !res.IsError && !asksForInput(res) && (len(res.Content) > 0 || res.StructuredContent != nil)`, `return res != nil && !res.IsError`},
	{"answers-not-copied-in", flightFile, `f.kept = deepCopy(res)`, `f.kept = res`},
	{"answers-not-copied-out", cacheFile, "\tcase res != nil:\n\t\tc.logHit(ctx, &call, \"cache: hit\")\n\t\treturn c.clone(res), nil", `return res, nil`},
	{"shared-answers-not-copied", cacheFile, `return c.clone(f.kept), nil`, `return f.kept, nil`},
}

var flightMutants = []mutant{
	{"no-flights", memoryFile, `if f := m.flights[id]; f != nil && f.generation == s.generation && s.writing == 0 && covers(f.deadline, deadline) {`, `if f := m.flights[id]; f != nil && deadline.IsZero() && !deadline.IsZero() {`},
	{
		"flight-of-another-generation", memoryFile, `if f := m.flights[id]; f != nil && f.generation == s.generation && s.writing == 0 && covers(f.deadline, deadline) {`,
		`if f := m.flights[id]; f != nil && s.writing == 0 && covers(f.deadline, deadline) {`,
	},
	{
		"flight-joined-during-a-write", memoryFile, `if f := m.flights[id]; f != nil && f.generation == s.generation && s.writing == 0 && covers(f.deadline, deadline) {`,
		`if f := m.flights[id]; f != nil && f.generation == s.generation && covers(f.deadline, deadline) {`,
	},
	{
		"follower-with-more-time-joins", memoryFile, `if f := m.flights[id]; f != nil && f.generation == s.generation && s.writing == 0 && covers(f.deadline, deadline) {`,
		`if f := m.flights[id]; f != nil && f.generation == s.generation && s.writing == 0 {`,
	},
	{"flight-keeps-the-leaders-cancel", flightFile, `own, cancel := context.WithoutCancel(ctx), context.CancelFunc(nil)`, `own, cancel := ctx, context.CancelFunc(nil)`},
	{"flight-loses-the-deadline", flightFile, `own, cancel = context.WithDeadline(own, f.deadline)`, `own, cancel = context.WithCancel(own)`},
	{"flight-goes-on-for-nobody", memoryFile, "if abandoned {\n\t\tf.cancel()", `_ = f.cancel`},
	{"first-who-leaves-ends-the-flight", memoryFile, `abandoned := f.waiting == 0`, `abandoned := f.waiting >= 0`},
	{"half-answers-are-shared", cacheFile, `case asksForInput(f.kept):`, `case asksForInput(f.kept) && ttl < 0:`},
	{"flight-uses-the-callers-buffers", flightFile, `call.Arguments, call.Meta = bytes.Clone(call.Arguments), maps.Clone(call.Meta)`, `_, _ = bytes.Clone(call.Arguments), maps.Clone(call.Meta)`},
}
