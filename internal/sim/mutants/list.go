package main

import "slices"

// all returns every mutant, room by room.
func all() []mutant {
	return slices.Concat(guardMutants, hitlMutants, cacheMutants, flightMutants, retryMutants, limitMutants, classMutants, edgeMutants)
}

const (
	guardFile = "internal/grant/guard.go"
	grantFile = "internal/grant/grant.go"
)

var guardMutants = []mutant{
	{"guard-removed", guardFile, `if !tool.Safety().MustConfirm() {`, `if tool != nil {`},
	{"guard-believes-the-call", guardFile, `call.Tool = tool`, `tool = call.Tool`},
	{"guard-ignores-a-spent-yes", guardFile, `if !yes.spend() {`, `if !yes.spend() && yes == nil {`},
	{"yes-back-on-unknown-outcome", guardFile, `if err != nil && (middleware.NotSent(err) || middleware.Refused(err)) {`, `if err != nil {`},
	{"yes-never-expires", grantFile, `return time.Now().Before(g.expires) && g.state.CompareAndSwap(unspent, spent)`, `return g.state.CompareAndSwap(unspent, spent)`},
	{
		"spend-is-not-atomic", grantFile, `return time.Now().Before(g.expires) && g.state.CompareAndSwap(unspent, spent)`,
		`open := time.Now().Before(g.expires) && g.state.Load() == unspent; time.Sleep(1); g.state.Store(spent); return open`,
	},
	{"yes-not-voided", grantFile, `func (g *Grant) Void() { g.state.Store(void) }`, `func (g *Grant) Void() {}`},
	{"yes-for-any-scope", grantFile, `for _, name := range [...]string{call.Tool.Server, call.Tool.Name(), call.Scope} {`, `for _, name := range [...]string{call.Tool.Server, call.Tool.Name()} {`},
	{"yes-for-any-arguments", grantFile, `arguments := sha256.Sum256(call.Arguments)`, `arguments := sha256.Sum256(nil)`},
	{"yes-for-any-definition", grantFile, `text = append(text, call.Tool.Digest[:]...)`, `text = append(text, 0)`},
	{"yes-for-any-server", grantFile, `for _, name := range [...]string{call.Tool.Server, call.Tool.Name(), call.Scope} {`, `for _, name := range [...]string{call.Tool.Name(), call.Scope} {`},
}

const hitlFile = "hitl/hitl.go"

var hitlMutants = []mutant{
	{"zero-verdict-approves", hitlFile, `case decision.Verdict != Approved:`, `case decision.Verdict > Approved:`},
	{"odd-verdict-approves", hitlFile, `case decision.Verdict != Approved:`, `case decision.Verdict == Denied:`},
	{
		"panic-approves", hitlFile, `got = answer{err: errors.New("the confirmer panicked; the log of the host has the stack")}`,
		`got = answer{decision: Decision{Verdict: Approved}}`,
	},
	{
		"lost-goroutine-approves", hitlFile, `got := answer{err: errors.New("the confirmer ended its goroutine")}`,
		`got := answer{decision: Decision{Verdict: Approved}}`,
	},
	{"silence-approves", hitlFile, "\tcase <-ctx.Done():\n\t\treturn Decision{}, context.Cause(ctx)", `return Decision{Verdict: Approved}, nil`},
	{
		"yes-with-an-error-approves", hitlFile, "\"given up\")\n\t\treturn call, middleware.GivenUp(ctx)\n\tcase err != nil:",
		`case err != nil && decision.Verdict != Approved:`,
	},
	{"yes-at-the-deadline-approves", hitlFile, `if deadline, _ := ctx.Deadline(); !time.Now().Before(deadline) {`, `if deadline, _ := ctx.Deadline(); deadline.IsZero() {`},
	{"edit-is-not-what-runs", hitlFile, `call.Arguments = bytes.Clone(decision.Arguments)`, `call.Arguments = bytes.Clone(call.Arguments)`},
	{
		"approver-writes-into-the-call", hitlFile, `r := Request{Tool: call.Tool, Arguments: bytes.Clone(call.Arguments), CallID: call.ID, Scope: call.Scope}`,
		`r := Request{Tool: call.Tool, Arguments: call.Arguments, CallID: call.ID, Scope: call.Scope}`,
	},
	{
		"caller-writes-into-what-was-shown", hitlFile, `call.Arguments = bytes.Clone(call.Arguments) // what is shown is what runs, whoever writes to it meanwhile`,
		`_ = bytes.Clone(call.Arguments)`,
	},
	{"questions-without-bound", hitlFile, `if a.pending.Add(1) > a.maxPending {`, `if a.pending.Add(1) < 0 {`},
	{"questions-are-never-over", hitlFile, `a.pending.Add(-1) // first, so that who reads the answer may ask again`, `a.pending.Add(0)`},
	{"asked-again-further-in", hitlFile, `if call.Tool == nil || grant.Covers(ctx, &call) {`, `if call.Tool == nil || grant.Covers(ctx, &call) && a.writes {`},
}
