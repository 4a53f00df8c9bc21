package main

import "slices"

// all returns every mutant, room by room.
func all() []mutant {
	return slices.Concat(guardMutants, hitlMutants, cacheMutants, flightMutants, retryMutants, limitMutants, classMutants, edgeMutants,
		routeMutants, preflightMutants, auditMutants, budgetMutants, outputMutants, catalogMutants, entityMutants, turnMutants, spreadMutants)
}

const (
	guardFile = "internal/grant/guard.go"
	grantFile = "internal/grant/grant.go"
)

var guardMutants = []mutant{
	{"guard-removed", guardFile, `if !tool.Safety().MustConfirm() {`, `if tool != nil {`},
	{"guard-believes-the-call", guardFile, `call.Tool = tool`, `tool = call.Tool`},
	{"guard-ignores-a-spent-yes", guardFile, `if err := yes.spend(ctx); err != nil {`, `if err := yes.spend(ctx); err != nil && yes == nil {`},
	{"yes-back-on-unknown-outcome", guardFile, `if err != nil && (middleware.NotSent(err) || middleware.Refused(err)) {`, `if err != nil {`},
	{
		"yes-never-expires", grantFile, `if !time.Now().Before(g.expires) || !g.state.CompareAndSwap(unspent, spent) {`,
		`if g.expires = time.Now().Add(time.Hour); !g.state.CompareAndSwap(unspent, spent) {`,
	},
	{
		"spend-is-not-atomic", grantFile, `if !time.Now().Before(g.expires) || !g.state.CompareAndSwap(unspent, spent) {`,
		`open := time.Now().Before(g.expires) && g.state.Load() == unspent; time.Sleep(1); g.state.Store(spent); if !open {`,
	},
	{"yes-not-voided", grantFile, `func (g *Grant) Void() { g.state.Store(void) }`, `func (g *Grant) Void() {}`},
	{"yes-for-any-scope", grantFile, `for _, name := range [...]string{call.Tool.Server, call.Tool.Name(), call.Scope} {`, `for _, name := range [...]string{call.Tool.Server, call.Tool.Name()} {`},
	{"yes-for-any-arguments", grantFile, `arguments := sha256.Sum256(call.Arguments)`, `arguments := sha256.Sum256(nil)`},
	{"yes-for-any-definition", grantFile, `text = append(text, call.Tool.Digest[:]...)`, `text = append(text, 0)`},
	{"yes-for-any-server", grantFile, `for _, name := range [...]string{call.Tool.Server, call.Tool.Name(), call.Scope} {`, `for _, name := range [...]string{call.Tool.Name(), call.Scope} {`},
}

const (
	hitlFile    = "hitl/ask.go"
	confirmFile = "hitl/confirm.go"
	queueFile   = "hitl/queue.go"
)

var hitlMutants = []mutant{
	{"zero-verdict-approves", hitlFile, `case got.decision.Verdict != Approved:`, `case got.decision.Verdict > Approved:`},
	{"odd-verdict-approves", hitlFile, `case got.decision.Verdict != Approved:`, `case got.decision.Verdict == Denied:`},
	{
		"panic-approves", confirmFile, `got = answer{err: errors.New("the confirmer panicked; the log of the host has the stack")}`,
		`got = answer{decision: Decision{Verdict: Approved}}`,
	},
	{
		"lost-goroutine-approves", confirmFile, `got := answer{err: errors.New("the confirmer ended its goroutine")}`,
		`got := answer{decision: Decision{Verdict: Approved}}`,
	},
	{
		"silence-never-ends", confirmFile, `ctx, cancel := context.WithDeadlineCause(ctx, q.deadline, errSilent)`,
		`ctx, cancel := context.WithDeadlineCause(ctx, q.deadline.Add(time.Hour), errSilent)`,
	},
	{
		"yes-with-an-error-approves", hitlFile, `case got.err != nil:`,
		`case got.err != nil && got.decision.Verdict != Approved:`,
	},
	{"yes-at-the-deadline-approves", confirmFile, `if deadline, _ := ctx.Deadline(); !time.Now().Before(deadline) {`, `if deadline, _ := ctx.Deadline(); deadline.IsZero() {`},
	{"edit-is-not-what-runs", "hitl/edit.go", `call.Arguments = bytes.Clone(arguments)`, `call.Arguments = bytes.Clone(call.Arguments)`},
	{
		"approver-writes-into-the-call", confirmFile, `Arguments: bytes.Clone(q.call.Arguments), CallID: q.call.ID,`,
		`ID: q.id, Tool: q.call.Tool, Arguments: bytes.TrimSpace(q.call.Arguments), CallID: q.call.ID, Scope: q.call.Scope,`,
	},
	{
		"caller-writes-into-what-was-shown", hitlFile, `call.Arguments = bytes.Clone(call.Arguments) // what is shown is what runs, whoever writes to it meanwhile`,
		`_ = bytes.Clone(call.Arguments)`,
	},
	{"questions-without-bound", queueFile, `case q.all >= q.most:`, `case q.all < 0:`},
	{"questions-are-never-over", confirmFile, `held.leave() // first, so that who reads the answer may ask again`, `held.take()`},
	{
		"asked-again-further-in", hitlFile, `a.drafts.commits(call.Tool) == nil && callstate.Covers(ctx, &call) {`,
		`if call.Tool == nil || !a.mustAsk(call.Tool) || a.Writes && callstate.Covers(ctx, &call) {`,
	},
}
