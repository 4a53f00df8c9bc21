package main

import "slices"

// all returns every mutant, package by package.
func all() []mutant {
	return slices.Concat(guardMutants, hitlMutants, cacheMutants, flightMutants, retryMutants, limitMutants, classMutants, edgeMutants,
		routeMutants, preflightMutants, auditMutants, budgetMutants, outputMutants, catalogMutants, entityMutants, turnMutants, spreadMutants, personMutants,
		policyMutants, mountMutants, proxyMutants)
}

const (
	guardFile   = "internal/guard/guard.go"
	grantFile   = "internal/callstate/grant.go"
	bindingFile = "internal/callstate/binding.go"
)

var guardMutants = []mutant{
	{"guard-removed", guardFile, `if !tool.Safety().MustConfirm() {`, `if tool != nil {`},
	{"guard-believes-the-call", guardFile, `call.Tool = tool`, `tool = call.Tool`},
	{"guard-ignores-a-spent-yes", guardFile, `if err := grant.Consume(ctx); err != nil {`, `if err := grant.Consume(ctx); err != nil && grant == nil {`},
	{"yes-back-on-unknown-outcome", guardFile, `if err != nil && (middleware.NotSent(err) || middleware.Refused(err)) {`, `if err != nil {`},
	{"yes-never-expires", grantFile, `if !time.Now().Before(g.expires) || !g.use.CompareAndSwap(unused, consumed) {`,
		`if g.expires = time.Now().Add(time.Hour); !g.use.CompareAndSwap(unused, consumed) {`},
	{"spend-is-not-atomic", grantFile, `if !time.Now().Before(g.expires) || !g.use.CompareAndSwap(unused, consumed) {`,
		`open := time.Now().Before(g.expires) && g.use.Load() == unused; time.Sleep(1); g.use.Store(consumed); if !open {`},
	{"yes-not-voided", grantFile, `func (g *Grant) Void() { g.use.Store(void) }`, `func (g *Grant) Void() {}`},
	{"yes-for-any-scope", bindingFile, `for _, name := range [...]string{call.Tool.Server, call.Tool.Name(), call.Scope} {`, `for _, name := range [...]string{call.Tool.Server, call.Tool.Name()} {`},
	{"yes-for-any-arguments", bindingFile, `text = append(text, call.Arguments...)`, `text = append(text, 0)`},
	{"yes-for-any-definition", bindingFile, `text := append(array[:0], call.Tool.Digest[:]...)`, `text := append(array[:0], 0)`},
	{"yes-for-any-server", bindingFile, `for _, name := range [...]string{call.Tool.Server, call.Tool.Name(), call.Scope} {`, `for _, name := range [...]string{call.Tool.Name(), call.Scope} {`},
}

const (
	hitlFile    = "hitl/ask.go"
	confirmFile = "hitl/confirm.go"
	queueFile   = "hitl/internal/waiting/waiting.go"
)

var hitlMutants = []mutant{
	{"zero-verdict-approves", hitlFile, `case d.Verdict != Approved:`, `case d.Verdict > Approved:`},
	{"odd-verdict-approves", hitlFile, `case d.Verdict != Approved:`, `case d.Verdict == Denied:`},
	{"panic-approves", confirmFile, `got = answer{err: errors.New("the confirmer panicked; the log of the host has the stack")}`,
		`got = answer{decision: Decision{Verdict: Approved}}`},
	{"lost-goroutine-approves", confirmFile, `got := answer{err: errors.New("the confirmer ended its goroutine")}`,
		`got := answer{decision: Decision{Verdict: Approved}}`},
	{"silence-never-ends", confirmFile, `ctx, cancel := context.WithDeadlineCause(ctx, q.deadline, errSilent)`,
		`ctx, cancel := context.WithDeadlineCause(ctx, q.deadline.Add(time.Hour), errSilent)`},
	{"yes-with-an-error-approves", hitlFile, `case got.err != nil:`,
		`case got.err != nil && d.Verdict != Approved:`},
	{"yes-at-the-deadline-approves", confirmFile, `if deadline, _ := ctx.Deadline(); !time.Now().Before(deadline) {`, `if deadline, _ := ctx.Deadline(); deadline.IsZero() {`},
	{"edit-is-not-what-runs", confirmFile, `call.Arguments = bytes.Clone(arguments)`, `call.Arguments = bytes.Clone(call.Arguments)`},
	{"approver-writes-into-the-call", confirmFile, `Arguments: bytes.Clone(q.call.Arguments), CallID: q.call.ID,`,
		`ID: q.id, Tool: q.call.Tool, Arguments: bytes.TrimSpace(q.call.Arguments), CallID: q.call.ID, Scope: q.call.Scope,`},
	{"caller-writes-into-what-was-shown", hitlFile, `call.Arguments = bytes.Clone(call.Arguments)`,
		`_ = bytes.Clone(call.Arguments)`},
	{"questions-without-bound", queueFile, `case q.all >= q.most:`, `case q.all < 0:`},
	{"questions-are-never-over", confirmFile, `q.place.Leave()`, `q.place.Hold()`},
	{"asked-again-further-in", hitlFile, `!a.drafts.Commits(call.Tool) && callstate.Covers(ctx, &call) {`,
		`if call.Tool == nil || !a.mustAsk(call.Tool) || a.Writes && callstate.Covers(ctx, &call) {`},
}
