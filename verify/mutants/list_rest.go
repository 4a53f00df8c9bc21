package main

const (
	retryFile   = "retry/retry.go"
	limiterFile = "ratelimit/limiter.go"
	timeoutFile = "timeout/timeout.go"
)

var retryMutants = []mutant{
	{"unknown-outcome-repeated", retryFile, `return tool != nil && (tool.Annotations.SafeToRetry() || r.inferred && tool.Annotations.InferredIdempotent())`,
		`return tool != nil`},
	{"inferred-idempotence-believed", retryFile, `return tool != nil && (tool.Annotations.SafeToRetry() || r.inferred && tool.Annotations.InferredIdempotent())`,
		`return tool != nil && (tool.Annotations.SafeToRetry() || tool.Annotations.InferredIdempotent())`},
	{"backoff-ignores-the-context", retryFile, "\tcase <-timer.C:\n\tcase <-ctx.Done():", `case <-make(chan struct{}):`},
	{"backoff-past-the-deadline", retryFile, `if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {`, `if deadline, ok := ctx.Deadline(); ok && deadline.IsZero() {`},
	{"backoff-up-to-the-deadline", retryFile, `if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {`, `if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {`},
	{"open-outcome-hidden", retryFile, `if doubt != nil && (middleware.NotSent(err) || middleware.Refused(err) || middleware.Permanent(err)) {`, `if doubt != nil && err == nil {`},
	{"retry-after-ignored", retryFile, `wait = max(wait, after)`, `wait = max(wait, 0)`},
}

var limitMutants = []mutant{
	{"waiters-leave-debt", lineFile, `return wait, true`, `lines[0].ReserveN(w.seen, 1); return wait, true`},
	{"limit-ignores-the-context", limiterFile, "timer := time.NewTimer(wait)\n\t\tselect {\n\t\tcase <-ctx.Done():", `case <-make(chan struct{}):`},
	{"limit-does-not-refuse-early", lineFile, `if full || wait > longest {`, `if full {`},
	{"server-limit-is-free", limiterFile, `if server.PerMinute > 0 {`, `if server.PerMinute < 0 {`},
	{"tool-limit-is-free", limiterFile, `to = append(to, Limit{PerMinute: *hint}.bucket(tool.Server, tool.Name()))`, `_ = tool`},
	{"last-come-first-served", lineFile, `l.waiters = append(l.waiters, w)`, `l.waiters = append([]place{w}, l.waiters...)`},
	{"next-waiter-not-woken", lineFile, `case l.waiters[0].awake <- struct{}{}:`, `case (chan struct{})(nil) <- struct{}{}:`},
	{"waiters-stay-in-the-queue", limiterFile, "if inLine {\n\t\t\tl.leave(ctx, w)", `_ = w`},
	{"scopes-share-a-limit", lineFile, `func (b Bucket) key(scope string) key { return key{scope, b.Server, b.Tool} }`, `func (b Bucket) key(string) key { return key{"", b.Server, b.Tool} }`},
	{"timeout-not-applied", timeoutFile, `inner, cancel := context.WithTimeoutCause(ctx, after, own)`, `inner, cancel := context.WithCancel(ctx)`},
	{"timeout-only-for-those-in-a-hurry", timeoutFile, `if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= after {`, `if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) >= after {`},
}

const (
	layersFile = "catalog/internal/layers/layers.go"
	safetyFile = "annotation/safety.go"
	errorsFile = "middleware/errors.go"
)

var classMutants = []mutant{
	{"untrusted-claim-lowers", layersFile, "annotation.Declared, l.Server)\n\tif l.Trusted {", `if l.Trusted || len(claim.Evidence) > 0 {`},
	{"rule-lowers-what-destroys", layersFile, `case l.Inferred.Safety() == annotation.Dangerous:`, `case l.Inferred.Safety() == annotation.Dangerous && l.Trusted:`},
	{"old-definition-accepted", "catalog/call.go", `case tool != nil && tool.Digest != call.Tool.Digest:`, `case tool != nil && tool.Name() != call.Tool.Name():`},
	{"unknown-needs-no-yes", safetyFile, `func (s Safety) MustConfirm() bool { return s != Safe && s != Moderate }`, `func (s Safety) MustConfirm() bool { return s == Dangerous }`},
	{"inferred-idempotence-is-a-word", safetyFile, `return a.Idempotent == Yes && a.SourceOf(IdempotentHint) != Inferred`, `return a.Idempotent == Yes`},
	{"claim-of-destruction-ignored", "annotation/fields.go", `hint(DestructiveHint, Yes, func(a *Annotations) *Hint { return &a.Destructive }),`, `hint(DestructiveHint, Unset, func(a *Annotations) *Hint { return &a.Destructive }),`},
}

var edgeMutants = []mutant{
	{"outcome-not-named", errorsFile, `if err == nil || call.Tool.Safety() == annotation.Safe || NotSent(err) || Refused(err) || Permanent(err) {`, `if err == nil || call.Tool.Safety() != annotation.Unknown || NotSent(err) || Refused(err) || Permanent(err) {`},
	{"lost-answers-count-as-refused", "internal/sdkerr/sdkerr.go", `case status == http.StatusTooManyRequests || status == 0 && tooManyRequests(err, reply):`, `case status == http.StatusTooManyRequests || status == 0:`},
	{"ambiguous-arguments-are-sent", "internal/session/session.go", `if _, err := callstate.Form(callstate.Sending(ctx), &call); err != nil {`,
		`if _, err := callstate.Form(callstate.Sending(ctx), &call); err != nil && session == nil {`},
	{"retry-outside-confirm", slotsFile, `return one(s.Confirm) }`,
		`name: "Confirm", in: func(s *Standard) []middleware.Middleware { all := []middleware.Middleware{s.Retry, s.Confirm}; s.Retry = nil; return all },`},
	{"limit-outside-retry", slotsFile, `return one(s.Retry) }`,
		`name: "Retry", in: func(s *Standard) []middleware.Middleware { all := []middleware.Middleware{s.RateLimit, s.Retry}; s.RateLimit = nil; return all },`},
}

const (
	standingFile = "hitl/approvals/standing.go"
	extraFile    = "internal/callstate/extra.go"
	alikeFile    = "safetext/alike.go"
	trailFile    = "audit/audit.go"
	formFile     = "hitl/elicit/form.go"
	sealFile     = "hitl/elicit/seal.go"
	auditFile    = "audit/file.go"
)

var personMutants = []mutant{
	{"glob-covers-its-folder", standingFile, `if err != nil || !fits || part == "." || part == "" && globs[i] != "" {`, `if err != nil || !fits || part == "." {`},
	{"glob-covers-a-dot", standingFile, `if err != nil || !fits || part == "." || part == "" && globs[i] != "" {`, `if err != nil || !fits || part == "" && globs[i] != "" {`},
	{"glob-covers-a-pattern", standingFile, "if strings.Contains(text, \"..\") || strings.ContainsAny(text, `\\%*?[]{}~$`) || safetext.Line(text) != text {",
		"if strings.Contains(text, \"..\") || strings.ContainsAny(text, `\\%~$`) || safetext.Line(text) != text {"},
	{"terminal-approves-what-it-folded", "hitl/terminal.go", `case approves && !whole:`, `case approves && !whole && len(word) > 1:`},
	{"group-approves-what-was-folded", "hitl/terminal.go", `case !whole && (word == "all" || isNumbers):`, `case !whole && word == "all":`},
	{"one-person-with-two-spellings", "safetext/safetext.go", `func SameName(a, b string) bool { return strings.EqualFold(seen(a), seen(b)) }`, `func SameName(a, b string) bool { return seen(a) == seen(b) }`},
	{"approval-without-meta", extraFile, `return sha256.Sum256(append(b[:], extra...))`, `return sha256.Sum256(b[:])`},
	{"approval-of-the-transports-meta", extraFile, `case "progressToken", "traceparent",`, `case "traceparent",`},
	{"standing-approval-with-meta", hitlFile, `if extra, err := callstate.Extra(&call); extra != nil || err != nil {`, `if _, err := callstate.Extra(&call); err != nil {`},
	{"meta-changed-while-asked", hitlFile, `if now, err := callstate.Extra(call); err != nil || !bytes.Equal(now, q.extra) {`, `if _, err := callstate.Extra(call); err != nil {`},
	{"look-alikes-in-a-word", alikeFile, `if latin || scripts > 1 || !evident[i] {`, `if !evident[i] {`},
	{"look-alike-words", alikeFile, `if latin || scripts > 1 || !evident[i] {`, `if latin || scripts > 1 || i < 0 {`},
	{"digits-shown-elsewhere", alikeFile, `for _, at := range leftward {`, `for _, at := range leftward[:0] {`},
	{"closed-form-approves", formFile, `return hitl.Decision{}, errClosed`, `decision.Verdict = hitl.Approved; return decision, nil`},
	{"form-that-denies-approves", formFile, `if text == "allow" {`, `if text != "" {`},
	{"form-for-any-call", sealFile, `if err != nil || len(text) != sealBytes || !hmac.Equal(text, c.mac(text[:8:8], request)) {`, `if err != nil || len(text) != sealBytes || c.key == nil {`},
	{"page-that-denies-approves", "hitl/inbox/routes.go", `a.decision.Reason = strings.TrimSpace(plain(reason))`, `a.decision.Verdict = hitl.Approved`},
	{"sink-holds-every-call", trailFile, `timer, gone := time.NewTimer(wait), w.ctx.Done()`, `timer, gone := time.NewTimer(1000*time.Hour), (<-chan struct{})(nil)`},
	{"sink-holds-a-result", trailFile, `return min(briefly, t.wait)`, `return t.wait`},
	{"stuck-writes-without-bound", trailFile, `if t.stuck.Load() >= maxStuck {`, `if t.stuck.Load() < 0 {`},
	{"written-to-a-file-that-is-gone", "internal/logfile/logfile.go", `if err != nil || !os.SameFile(open, found) {`, `if err != nil && found == nil && open == nil {`},
	{"two-writers-two-chains", auditFile, `case info.Size() == from:`, `case info.Size() >= from:`},
	{"calls-of-another-writer-ended", auditFile, `alone := logfile.TryLock(f.heads, true) == nil`, `alone := f.heads != nil`},
}
