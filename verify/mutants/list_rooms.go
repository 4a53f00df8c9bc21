package main

const (
	poolFile   = "route/pool.go"
	routeFile  = "route/route.go"
	answerFile = "internal/callstate/class.go"
	slotsFile  = "chain/slots.go"
)

var routeMutants = []mutant{
	{"dangerous-at-any-replica", poolFile, `found, why = keep(found, (*member).primary), "dangerous or unknown: primaries only"`, `why = "dangerous or unknown: primaries only"`},
	{"failover-of-what-may-have-happened", routeFile, `return call.Tool.Safety() == annotation.Safe || middleware.NotSent(err) || middleware.Refused(err)`, `return call.Tool != nil`},
	{"replica-of-another-version", "catalog/replica.go", `return ok && digest == tool.Digest`, `return ok && len(digest) > 0`},
	{"view-not-before-replicas", "catalog/call.go", `if a.caller.view {`, `if a.caller.view && a.next == nil {`},
}

var preflightMutants = []mutant{
	{"untrusted-answer-lowers", "preflight/preflight.go", `over := raising`, `over := believing`},
	{"answer-beats-the-host", "preflight/answer.go", `return annotation.Raise(annotation.Merge(a, layer), hosts(a))`, `return annotation.Merge(a, layer)`},
	{"untrusted-not-asked-about-writes", "preflight/preflight.go", `if !trusted && call.Tool.Safety().MustConfirm() {`, `if !trusted && call.Tool.Safety() != annotation.Safe {`},
	{"answer-over-the-callers-copy", answerFile, `tool.Annotations = exactly.over(accepted.Annotations)`, `tool.Annotations = exactly.found`},
	{"raise-lost-on-a-change", answerFile, `a.static.Name() == tool.Name() && a.found.Safety() < tool.Safety() {`, `if a, ok := s.added.(*answer); ok && a.static == nil {`},
	{"guard-not-told-of-an-edit", hitlFile, `if tool := yes.call.Tool; yes.edited {`, `if tool := yes.call.Tool; tool == nil {`},
	{"sterner-edit-not-asked-about", hitlFile, `if approved.Tool.Safety() < call.Tool.Safety() {`, `if approved.Tool == nil {`},
	{"panic-of-a-judged-call-is-known", "internal/fault/fault.go", `return Call(ctx, r.next, call, func() *middleware.Tool { return callstate.Of(ctx).Tool(call.Tool) })`, `return Call(ctx, r.next, call, func() *middleware.Tool { callstate.Of(ctx); return call.Tool })`},
	{"remembered-yes-for-any-arguments", "hitl/approvals/standing.go", `return err == nil && exact == s.Arguments && s.Pattern == nil`, `return err == nil && exact != "" && s.Pattern == nil`},
}

const linksFile = "audit/links.go"

var auditMutants = []mutant{
	{"guard-needs-no-record", guardFile, `if tool.Annotations.AuditRequired == annotation.Yes && !callstate.Marked(ctx, &call) {`, `if tool.Annotations.AuditRequired == annotation.Yes && call.Tool == nil {`},
	{"dangerous-goes-on-without-intent", linksFile, `case err != nil && durable(level, call.Tool):`, `case err != nil && level == full:`},
	{"marked-before-it-is-written", linksFile, `case err != nil && durable(level, call.Tool):`, `case err != nil && level != full && durable(level, call.Tool):`},
	{"intent-not-written", linksFile, `err := w.write(wait)`, `err, _ := error(nil), wait`},
	{"intent-after-the-end", linksFile, `if p.over {`, `if p.trail == nil {`},
	{"unknown-outcome-not-recorded", "audit/outcome.go", `case has[*middleware.OutcomeUnknownError](err):`, `case err == nil && has[*middleware.OutcomeUnknownError](err):`},
}

const ledgerFile = "budget/ledger.go"

var budgetMutants = []mutant{
	{"budget-not-reserved", ledgerFile, `s.all.add(1, cost, 0)`, `s.all.add(0, cost, 0)`},
	{"budget-not-given-back", ledgerFile, `calls, cost = -1, -t.cost`, `calls, cost = 0, 0`},
	{"budget-given-back-for-answers", ledgerFile, `if e.returned {`, `if e.returned || e.answer > 0 {`},
}

var outputMutants = []mutant{
	{"cut-before-it-is-remembered", slotsFile, `return one(s.Cache) }`, `name: "Cache", in: func(s *Standard) []middleware.Middleware { return []middleware.Middleware{s.Cache, s.Output} },`},
	{"errors-come-out", "output/output.go", `case err != nil && (asks || ctx.Err() != nil):`, `case err != nil && (asks || ctx != nil):`},
	{"too-much-is-shown", "output/output.go", `a := answer{limit: c.Limit, call: call, res: res, page: page}`, `a := answer{limit: 9 * c.Limit, call: call, res: res, page: page}`},
}

const (
	viewFile    = "catalog/view.go"
	pinsFile    = "catalog/pins/lock.go"
	serverFile  = "mount/serve/serve.go"
	listedState = `if p.form != nil && p.digest == tool.Digest && class <= max(p.class, annotation.Dangerous) {`
)

var catalogMutants = []mutant{
	{"view-sees-everything", viewFile, `return set.Covers(c.permission(tool), tool.Annotations.SecurityLevel)`, `return tool != nil || set.Covers("", "")`},
	{"view-admits-everything", "catalog/call.go", `return &admitter{next: next, caller: v}`, `return &admitter{next: next, caller: v.c.caller}`},
	{"lock-takes-another-definition", pinsFile, listedState, `if p.form != nil && class <= max(p.class, annotation.Dangerous) {`},
	{"lock-takes-a-milder-class", pinsFile, listedState, `if p.form != nil && p.digest == tool.Digest && class <= annotation.Safe {`},
	{"always-brings-back-what-is-kept-out", "catalog/search/select.go", `}{{"Named", o.Named, o.holds}, {"Always", o.Always, o.allows}} {`, `}{{"Named", o.Named, o.holds}, {"Always", o.Always, o.holds}} {`},
	{"unsent-calls-are-counted", "catalog/internal/meter/meter.go", `if middleware.NotSent(err) {`, `if err != nil && res != nil {`},
	{"served-tools-without-guard", serverFile, "return next\n\t}\n\tchained := s.o.Chain(guard.New(handler{next}, s.accepted))", `chained := s.o.Chain(handler{next})`},
	{"issuers-are-not-read", "redact/formats.go", `if containsAny(lower, issuers) {`, `if containsAny(lower, nil) {`},
	{"cards-are-numbers", "redact/formats.go", `return sum%10 == 0`, `return sum < 0`},
	{"headers-in-a-list-stay", "redact/names.go", `return ok && header.MatchString(s) && IsSecret(s)`, `return ok && s == ""`},
	{"verb-ends-a-read", "preflight/probe/http.go", `if word := httpEnd(u.Path); word != "" {`, `if word := httpEnd(u.Path); word == "GET" {`},
	{"statement-is-a-search", "preflight/probe/http.go", `case httpStatement.MatchString(value), slices`, `case httpStatement.MatchString(value) && !search, slices.Contains(httpLanguages, key) && httpShouts(value):`},
	{"deep-schema-takes-the-list-away", "internal/answers/shallow.go", `if depth++; depth == maxDepth+1 {`, `if depth++; depth < 0 {`},
	{"served-tool-of-another-definition", serverFile, `if tool == nil || tool.Server != call.Tool.Server || tool.Digest != call.Tool.Digest {`, `if tool == nil || tool.Server != call.Tool.Server {`},
}

var entityMutants = []mutant{
	{"written-entity-stays-known", writesFile, `if at > since {`, `if at > since && s.inFlight > 0 {`},
	{"entity-under-write-is-read", writesFile, `if s.named[name] > 0 {`, `if s.named[name] > 1 {`},
	{"write-to-all-ends-no-entity", writesFile, `if s.whole > since {`, `if s.whole > since && s.inFlight > 0 {`},
}

// byTests has the mutants that scenarios miss or meet too seldom, and the package and
// tests that catch them.
var byTests = map[string]tests{
	"policy-mildest-rule-counts":          {"cmd/fairlead/policy", "TestTheStrictestRuleCounts"},
	"policy-allows-dangerous-by-pattern":  {"cmd/fairlead/policy", "TestTheStrictestRuleCounts"},
	"policy-allows-unknown-by-pattern":    {"cmd/fairlead/policy", "TestTheStrictestRuleCounts"},
	"policy-nobody-approves":              {"cmd/fairlead/policy", "TestThePolicyAnswersForAPerson"},
	"mount-takes-a-session-without-id":    {"mount", "TestNoCallGoesPastAChainThatCouldNotBeMade"},
	"mount-forgets-the-input":             {"mount", "TestQuestionOfTheServerPassesAndIsNotRemembered"},
	"served-call-has-the-first-arguments": {"mount/serve", "TestAnEditReachesTheHandler"},
	"key-without-definition":              {"cache", "TestKeyIsScopeServerDefinitionAndArguments"},
	"answer-beats-the-host":               {"preflight", "TestTheHostsWordOutweighsTheServers"},
	"always-brings-back-what-is-kept-out": {"catalog/search", "TestSelect$"},
	"unsent-calls-are-counted":            {"catalog", "TestStatisticsCountWhatReachedTheServer"},
	"served-tools-without-guard":          {"mount/serve", "TestTheChainOfAServer|TestAReplacedToolHasItsNewClass|TestToolHandler"},
	"issuers-are-not-read":                {"redact", "TestPublicFormats"},
	"cards-are-numbers":                   {"redact", "TestValuesByTheirChecksumAndPlace"},
	"headers-in-a-list-stay":              {"redact", "TestValuesByTheirChecksumAndPlace"},
	"verb-ends-a-read":                    {"preflight/probe", "TestHTTPCorpus"},
	"statement-is-a-search":               {"preflight/probe", "TestHTTPCorpus"},
	"params-are-read-in-one-way-only":     {"cmd/fairlead/proxy", "TestForwarding$"},
	"deep-schema-takes-the-list-away":     {"mount", "TestDeepSchemaTakesNoListAway"},
	"served-tool-of-another-definition":   {"mount/serve", "TestAToolThatIsReplacedWhileAPersonThinksIsRefused"},
	"view-not-before-replicas":            {"chain", "TestViewHoldsBeforeReplicas"},
	"sterner-edit-not-asked-about":        {"hitl", "TestEditIsClassedAgain"},
	"poisoned-values-are-believed":        {"cache", "TestPoisonedValueIsAMiss"},
	"secrets-are-cached":                  {"cache", "TestFreshnessDecides"},
	"near-outlives-its-time":              {"cache", "TestNearIsBoundedInItsStaleness"},
	"outage-lets-through":                 {"ratelimit", "TestOutageIsAsTheHostChose"},
	"outage-gives-the-whole-to-each":      {"ratelimit", "TestOutageIsAsTheHostChose"},
	"outage-gives-a-burst":                {"ratelimit", "TestOutagesGiveNoBurst"},
	"share-saves-between-outages":         {"ratelimit", "TestOutagesGiveNoBurst"},
	"replicas-join-old-flights":           {"storetest", "TestMemory"},
	"newcomers-overtake":                  {"storetest", "TestMemory"},
	"who-left-stays-in-line":              {"storetest", "TestMemory"},
	"silent-waiters-stay":                 {"storetest", "TestMemory"},
	"second-answer-counts":                {"storetest", "TestMemory"},
	"answer-with-nobody-there":            {"storetest", "TestMemory"},
	"another-question-is-shown":           {"hitl/inbox", "TestBoardIsNotBelieved"},
	"answer-to-another-question":          {"hitl/inbox", "TestBoardIsNotBelieved"},
	"asked-during-a-write-and-kept":       {"cache", "TestReadThatOverlappedAWriteIsNotStored"},
	"glob-covers-its-folder":              {"hitl/approvals", "TestPatternCoversNoMoreThanItNames"},
	"glob-covers-a-dot":                   {"hitl/approvals", "TestPatternCoversNoMoreThanItNames"},
	"glob-covers-a-pattern":               {"hitl/approvals", "TestPatternCoversNoMoreThanItNames"},
	"terminal-approves-what-it-folded":    {"hitl", "TestTerminalTakesNoYesToWhatItDidNotShow"},
	"group-approves-what-was-folded":      {"hitl", "TestTerminalTakesNoYesToWhatItDidNotShow"},
	"one-person-with-two-spellings":       {"hitl", "TestTwoPeopleAreTwo"},
	"store-for-each-policy":               {"cmd/fairlead/proxy", "TestStoreOutlivesAChangeOfThePolicy"},
	"approval-without-meta":               {"internal/guard", "TestGrantCoversMetaAndInput"},
	"approval-of-the-transports-meta":     {"internal/guard", "TestGrantCoversMetaAndInput"},
	"standing-approval-with-meta":         {"hitl", "TestRememberedApprovalCoversNoMetaOrInput"},
	"meta-changed-while-asked":            {"hitl", "TestMetaThatChangesWhileAPersonIsAskedIsADenial"},
	"look-alikes-in-a-word":               {"safetext", "TestTextAndLine"},
	"look-alike-words":                    {"safetext", "TestTextAndLine"},
	"digits-shown-elsewhere":              {"safetext", "TestTextAndLine"},
	"sink-holds-a-result":                 {"audit", "TestSinkThatBlocksHoldsNoCall"},
	"stuck-writes-without-bound":          {"audit", "TestStuckWritesAreCapped"},
	"written-to-a-file-that-is-gone":      {"audit", "TestRecordIsNotWrittenToAFileThatIsGone"},
	"two-writers-two-chains":              {"audit", "TestB275TwoWritersOfOneFile"},
	"calls-of-another-writer-ended":       {"audit", "TestB275TwoWritersOfOneFile"},
	"entity-under-write-is-read":          {"cache", "TestWriteUnderWayBlocksOnlyWhatItMayChange"},
}

var turnMutants = []mutant{
	{"reads-beside-a-write", "internal/turn/turn.go", `if k.state == waiting && t.inside < t.parallel && !b.changes && (k.reads || !b.reads) {`,
		`if k.state == waiting && t.inside < t.parallel && (k.reads || !b.changes && !b.reads) {`},
	{"decisions-by-position", "hitl/internal/waiting/group.go", `return g.answers[id], g.err`,
		`return g.answers[g.ids[len(g.ids)-1-slices.Index(g.ids, id)]], g.err`},
}
