package main

const (
	decideFile = "cmd/fairlead/policy/decide.go"
	mountFile  = "mount/mount.go"
	serveFile  = "mount/serve/serve.go"
	listerFile = "catalog/lister.go"
)

var policyMutants = []mutant{
	{"policy-mildest-rule-counts", decideFile, `if decides == nil || r.Verdict > decides.Verdict {`, `if decides == nil || r.Verdict < decides.Verdict {`},
	{"policy-allows-dangerous-by-pattern", decideFile, `return r.Tool.Exact()`, `return r.Tool.namesServer()`},
	{"policy-allows-unknown-by-pattern", decideFile, `return r.Tool.namesServer()`, `return r.Tool.namesServer() || true`},
	{"policy-approves-what-it-asks-about", decideFile, `if v, rule := p.Decide(r.Tool.Server, r.Tool.Name(), r.Tool.Safety()); v == Allow {`,
		`if v, rule := p.Decide(r.Tool.Server, r.Tool.Name(), r.Tool.Safety()); v != None {`},
	{"policy-denies-nothing", decideFile, `if v, rule := p.Decide(t.Server, t.Name(), t.Safety()); v == Deny {`, `if v, rule := p.Decide(t.Server, t.Name(), t.Safety()); v > Deny {`},
	{"policy-ask-does-not-raise", decideFile, `if v, rule := p.Decide(t.Server, t.Name(), t.Safety()); v == Ask {`, `if v, rule := p.Decide(t.Server, t.Name(), t.Safety()); v > Deny {`},
	{"policy-file-of-no-use-allows", "cmd/fairlead/policy/file.go", "slog.Any(\"err\", err))\n\t\treturn l.now", `l.now, _ = Parse(l.name, []byte("{}")); return l.now`},
	{"policy-nobody-approves", decideFile, `return hitl.Decision{}, errNobody`, `return hitl.Decision{Verdict: hitl.Approved}, nil`},
}

var mountMutants = []mutant{
	{"mount-without-its-chain", mountFile, `if chain != nil {`, `if chain != nil && c == nil {`},
	{"mount-without-guard", mountFile, `caller := c.tools.Guard(session.Executor(sender{c.next}))`, `caller := session.Executor(sender{c.next})`},
	{"mount-takes-a-session-without-id", mountFile, `if m.server == "" {`, `if m.server == "" && m.caller == nil && m == nil {`},
	{"mount-forgets-the-input", mountFile, `if params.InputResponses != nil || params.RequestState != "" {`, `if params.InputResponses != nil && params.RequestState != "" && cs == nil {`},
	{"mount-hears-of-no-change", "mount/options.go", `first(ctx, req)`, `_ = first`},
	{"announced-change-is-not-waited-for", listerFile, `func (n *lister) changing() bool { return n.announced.Load() != n.read.Load() }`, `func (n *lister) changing() bool { return false }`},
	{"store-for-each-chain", "cache/cache.go", `mine.next, mine.recovering = next, fault.Recover(next)`,
		`mine.next, mine.recovering, mine.store = next, fault.Recover(next), NewStore(StoreOptions{Entries: o.Entries, Bytes: o.Bytes})`},
	{"served-calls-share-a-scope", serveFile, `call := middleware.Call{Scope: s.o.Scope(r), Tool: tool, Arguments: r.Params.Arguments, Meta: r.Params.Meta}`,
		`call := middleware.Call{Tool: tool, Arguments: r.Params.Arguments, Meta: r.Params.Meta}`},
	{"served-call-has-the-first-arguments", serveFile, `params := &mcp.CallToolParamsRaw{Meta: maps.Clone(call.Meta), Name: call.Tool.Name(), Arguments: call.Arguments}`,
		`params := &mcp.CallToolParamsRaw{Meta: maps.Clone(call.Meta), Name: call.Tool.Name(), Arguments: came.Params.Arguments}`},
}

var proxyMutants = []mutant{
	{"call-without-id-passes", "cmd/fairlead/proxy/message.go", `case m.ID == nil && !strings.HasPrefix(m.Method, "notifications/"):`, `case m.ID == nil && m.Method == "":`},
	{"params-are-read-in-one-way-only", "cmd/fairlead/proxy/strict.go", `if err := mount.Unambiguous(raw); err != nil {`, `if err := mount.Unambiguous(raw); err != nil && raw == nil {`},
	{"change-is-not-handed-on", "cmd/fairlead/proxy/session.go", `s.tools.announced(from)`, `_ = from`},
	{"earlier-policy-hears-of-no-change", "cmd/fairlead/proxy/tools.go", `if c := before.Value(); c != nil {`, `if c := before.Value(); c != nil && t.now == nil {`},
	{"store-for-each-policy", "cmd/fairlead/proxy/plan.go", `remember := cache.Options{Store: p.store, Lifetime: now.Lifetime, Logger: log}`, `remember := cache.Options{Lifetime: now.Lifetime, Logger: log}`},
	{"refusals-are-not-recorded", "cmd/fairlead/proxy/tools.go", `if s.proxy.trail == nil {`, `if s.proxy.trail != nil {`},
	{"store-for-each-session", "cmd/fairlead/proxy/plan.go", `s.caller = p.standard.Then(s.shown)`,
		`own := p.standard; own.Cache = cache.New(cache.Options{Lifetime: p.policy.Lifetime}); s.caller = own.Then(s.shown)`},
	{"post-is-led-on", "cmd/fairlead/proxy/remote.go", `client: &http.Client{Transport: mount.RoundTripper(through), CheckRedirect: sameHost}, to: to, log: log,`,
		`r := &remote{Server: s, client: &http.Client{Transport: through}, to: to, log: log, posts: make(map[string]context.CancelFunc)}; _ = mount.Shallow`},
	{"proxy-without-its-lock", "cmd/fairlead/proxy/plan.go", `c := catalog.New(catalog.Options{Timeout: slowList, Permission: p.permission, Lock: o.Lock, Logger: o.Logger})`,
		`c := catalog.New(catalog.Options{Timeout: slowList, Permission: p.permission, Logger: o.Logger})`},
	{"policy-counts-as-it-began", "cmd/fairlead/proxy/plan.go", `now := p.proxy.o.Policy()`, `now := p.policy`},
	{"approved-write-does-not-wait", guardFile, `if callstate.Find(ctx, &call) != nil {`, `if callstate.Find(ctx, &call) != nil && tool == nil {`},
}
