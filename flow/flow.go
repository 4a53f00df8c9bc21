// Package flow traces where the arguments of a call came from: the user's own words, the host, an earlier result,
// or nowhere known. A call that takes a consequential argument from an untrusted result needs an approval,
// whatever its class, and the person sees the source of each argument.
//
// Most callers put New into the Flow slot of chain.Standard and pass each message of the user to [Tracker.User]:
//
//	tracker := flow.NewTracker(flow.Limits{})
//	std.Flow = flow.New(flow.Options{Tracker: tracker})
//	tracker.User(scope, message)
//
// The middleware only raises: no rule lowers a class. It compares texts. It does not see
// values that the model computes or paraphrases, nor what an image shows.
package flow

import (
	"cmp"
	"context"
	_ "embed" // for kinds.txt
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/flow/internal/folded"
	"github.com/fairlead-go/fairlead/internal/bm25"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/fairlead-go/fairlead/safetext"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Rule names a reason to ask.
type Rule string

// The rules apply to calls that change something; the first two also to reads that send a value out, as in a URL.
const (
	// UntrustedValue: a consequential argument came from an untrusted result and not from the user. A reference
	// to what the same server has, such as an id that is a field of its result, counts only if the tool spends or
	// binds.
	UntrustedValue Rule = "untrusted-value"
	// UnknownAddress: an address, an account or a credential came from nowhere known.
	UnknownAddress Rule = "unknown-address"
	// SensitiveOut: a value that is marked or recognized as sensitive goes to a tool that reaches the open world.
	SensitiveOut Rule = "sensitive-out"
	// Instructed: an untrusted result names the action of the tool, and the user did not.
	Instructed Rule = "instructed"
)

// Options configures [New].
type Options struct {
	// Tracker holds the texts of each session; nil means a new one, without the user's words.
	Tracker *Tracker
	// Session names the session of a call; nil means its scope.
	Session func(ctx context.Context, call middleware.Call) string
	// Trusted reports whether results of a tool count like the user's words; nil means none.
	Trusted func(tool *middleware.Tool) bool
	// Kind returns what an argument means to a tool; "" and nil mean the kind that its name and form show.
	Kind func(tool *middleware.Tool, argument string) Kind
	// Off turns rules off; nil means that all are on.
	Off []Rule
}

// New returns the middleware for the Flow slot of a chain. Without Tracker.User for a session, UntrustedValue
// asks only about addresses, accounts and credentials, and the rules that compare with the user's words do not
// apply.
func New(o Options) middleware.Middleware {
	t := &tracer{Options: o}
	if t.Tracker == nil {
		t.Tracker = NewTracker(Limits{})
	}
	if t.Session == nil {
		t.Session = func(_ context.Context, call middleware.Call) string { return call.Scope }
	}
	if t.Trusted == nil {
		t.Trusted = func(*middleware.Tool) bool { return false }
	}
	t.tools, _ = lru.New[*mcp.Tool, *profile](maxTools) // its one error is a size of 0 or less
	return func(next middleware.ToolCaller) middleware.ToolCaller { return &caller{t, next} }
}

const (
	maxTools   = 4096 // with cached profiles
	maxSources = 32   // that are recorded of one call
	maxLeaves  = 256  // of the arguments that are traced
	maxShown   = 60   // bytes of a value
	maxAround  = 160  // bytes of the text around it
	// maxCompared is how many bytes of results are compared for one call; most need some thousand.
	maxCompared = 64 << 20
)

type tracer struct {
	Options

	tools *lru.Cache[*mcp.Tool, *profile]
}

type profile struct {
	kinds   map[string]Kind // by name
	stems   [][]byte        // of the words of its name
	commits bool            // it spends or binds
	moves   bool            // it moves or copies things, from one place to another
}

func (t *tracer) profile(tool *middleware.Tool) *profile {
	if p, ok := t.tools.Get(tool.Definition); ok {
		return p
	}
	p := &profile{kinds: make(map[string]Kind)}
	t.members(p, tool, tool.Definition.InputSchema, 0)
	for _, word := range split(tool.Name()) {
		p.commits, p.moves = p.commits || slices.Contains(commits, word), p.moves || word == "move" || word == "copy" || word == "rename"
		if len(word) >= minPart && !slices.ContainsFunc(p.stems, func(s []byte) bool { return strings.HasPrefix(word, string(s)) }) {
			p.stems = append(p.stems, []byte(word[:min(len(word), 5)]))
		}
	}
	t.tools.Add(tool.Definition, p)
	return p
}

// members notes the kinds of a schema's properties, at every depth.
func (t *tracer) members(p *profile, tool *middleware.Tool, schema any, depth int) {
	switch at := schema.(type) {
	case map[string]any:
		if depth > 8 {
			return
		}
		properties, _ := at["properties"].(map[string]any)
		for name, of := range properties {
			kind := named(name)
			if property, ok := of.(map[string]any); ok && property["enum"] != nil {
				kind = Choice
			} else if ok && kind == Name {
				kind = described(property)
			}
			if t.Kind != nil {
				kind = cmp.Or(t.Kind(tool, name), kind)
			}
			p.kinds[name] = kind
		}
		for _, below := range at {
			t.members(p, tool, below, depth+1)
		}
	case []any:
		for _, below := range at {
			t.members(p, tool, below, depth+1)
		}
	}
}

func described(property map[string]any) Kind {
	switch property["format"] {
	case "email":
		return Recipient
	case "uri", "uri-reference", "iri":
		return URL
	case "hostname", "ipv4", "ipv6":
		return Host
	case "date", "date-time", "time", "duration":
		return Time
	case "uuid":
		return ID
	}
	return Name
}

func (p *profile) kind(name string) Kind {
	if k, ok := p.kinds[name]; ok {
		return k
	}
	return named(name)
}

type caller struct {
	*tracer

	next middleware.ToolCaller
}

func (c *caller) Describe() middleware.Description {
	return middleware.Description{Kind: "flow", Next: c.next}
}

func (c *caller) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	if call.Tool == nil || call.Tool.Definition == nil {
		return c.next.CallTool(ctx, call)
	}
	name := c.Session(ctx, call)
	s := c.Tracker.session(name)
	state := callstate.Of(ctx)
	form, err := callstate.Form(state, &call)
	if err != nil {
		return nil, err
	}
	sources := c.trace(s, &call, form)
	inner, its := ctx, call
	if sources != nil {
		inner, state = callstate.Ensure(ctx)
		state.Write(func(r *callstate.Record) { r.Sources = sources })
	}
	if i := slices.IndexFunc(sources, func(s callstate.Source) bool { return s.Rule != "" }); i >= 0 {
		if call.Tool.Safety() != annotation.Unknown { // which is as strict
			claim := raise(sources[i])
			inner = callstate.Answer(inner, &its, func(a annotation.Annotations) annotation.Annotations { return annotation.Raise(a, claim) })
		}
		state.Decide("flow", sources[i].Rule, sources[i].Argument)
	}
	res, err := c.next.CallTool(inner, its)
	c.Tracker.take(name, s, call, res, err, c.Trusted(call.Tool))
	return res, err
}

func raise(s callstate.Source) annotation.Annotations {
	s.Around = ""
	return annotation.Annotations{RequiresConfirmation: annotation.Yes, Evidence: []annotation.Evidence{{
		Field: annotation.RequiresConfirmation, Value: annotation.Yes.String(), Source: annotation.Resolved, Strength: annotation.Strong,
		Rule: s.Rule, By: "flow", Place: s.String(),
	}}}
}

func (t *tracer) on(r Rule) bool { return !slices.Contains(t.Off, r) }

// trace returns where the arguments of a call came from, if a rule asks about one or a person is asked anyway.
func (t *tracer) trace(s *session, call *middleware.Call, form []byte) []callstate.Source {
	host := t.Tracker.constants()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	tr := trace{t: t, s: s, p: t.profile(call.Tool), call: call, host: host, changes: call.Tool.Safety() != annotation.Safe}
	tr.w.form, tr.w.yield = string(form), tr.leaf
	tr.walk()
	if !tr.raised && tr.changes && !call.Tool.Safety().MustConfirm() {
		tr.instructed()
	}
	if !tr.raised && !call.Tool.Safety().MustConfirm() {
		return nil
	}
	tr.record = true
	tr.walk()
	slices.SortStableFunc(tr.sources, func(a, b callstate.Source) int { // what asks comes first
		return cmp.Compare(min(1, len(b.Rule)), min(1, len(a.Rule)))
	})
	return tr.sources
}

type trace struct {
	t       *tracer
	s       *session
	p       *profile
	call    *middleware.Call
	host    []*folded.Text
	changes bool
	raised  bool // a rule asks
	record  bool // the sources are wanted
	sources []callstate.Source
	leaves  int
	w       walker
}

func (tr *trace) walk() {
	tr.w.at, tr.w.place, tr.leaves, tr.s.budget = 0, tr.s.place[:0], 0, maxCompared
	tr.w.value("")
	tr.s.place = tr.w.place
}

func (tr *trace) leaf(name, value string, isText bool) {
	kind := tr.p.kind(name)
	if tr.p.moves && (name == "from" || name == "to") && strings.ContainsAny(value, "/.") {
		kind = Path
	}
	if isText {
		kind = kindOf(kind, value)
	}
	if kind == Choice || value == "" || !tr.changes && kind != URL || len(tr.sources) >= maxSources {
		return
	}
	if tr.leaves++; tr.leaves > maxLeaves {
		tr.s.budget = -1
	}
	if kind == Time && !tr.record { // no rule asks about it
		return
	}
	look := &tr.s.look
	*look = lookup{s: tr.s, host: tr.host, server: tr.call.Tool.Server, kind: kind, raw: value, norm: tr.s.value.Set(value)}
	o := look.origin()
	rule, note := tr.judge(kind, &o, look.norm)
	if rule == "" && tr.sensitive(kind, &o, value) {
		rule, note = SensitiveOut, "sensitive, and the tool reaches the open world"
	}
	tr.raised = tr.raised || rule != ""
	if tr.record {
		tr.add(string(tr.w.place), value, kind, o, rule, note)
	}
}

func (tr *trace) judge(kind Kind, o *origin, norm []byte) (Rule, string) {
	switch {
	case o.from == fromUser, o.from == fromHost, o.from == fromResult && o.result.trusted:
		return "", ""
	case o.from == fromResult:
		if tr.t.on(UntrustedValue) && tr.matters(kind, o, norm) {
			return UntrustedValue, ""
		}
		return "", ""
	case tr.s.budget < 0 && tr.t.on(UntrustedValue) && kind != Time:
		return UntrustedValue, "the results are too long to be compared with it"
	case tr.s.forgot && tr.t.on(UntrustedValue) && (kind.leads() || tr.s.known && kind != Text && kind != Time && kind != Amount):
		return UntrustedValue, "or from an earlier result that is no longer kept"
	case tr.s.known && kind.leads() && len(norm) >= minValue && tr.t.on(UnknownAddress):
		return UnknownAddress, ""
	}
	return "", ""
}

// matters reports whether an argument that came from an untrusted result is consequential.
func (tr *trace) matters(kind Kind, o *origin, norm []byte) bool {
	if !tr.changes { // a URL that a result has as it is carries nothing out
		return o.how != ""
	}
	switch {
	case kind.leads():
		return true
	case kind == Time || kind == Choice || !tr.s.known:
		return false
	case kind == Command || kind == Address:
		return true
	case kind == Text:
		return !o.whole && o.how != "in part" && len(norm) >= minPassage
	case kind == Name && tr.p.commits:
		return true
	}
	return !o.whole
}

func (tr *trace) sensitive(kind Kind, o *origin, raw string) bool {
	if !tr.changes || !tr.t.on(SensitiveOut) || tr.call.Tool.Annotations.OpenWorld == annotation.No || o.from == fromUser || o.from == fromHost {
		return false
	}
	if o.from == fromResult && o.result.sensitive {
		return true
	}
	return kind == Text && tr.call.Tool.Annotations.OpenWorld == annotation.Yes && len(raw) >= minPassage && new(redact.Redactor).Text(raw) != raw
}

// instructed looks for an untrusted result that names what the tool does.
func (tr *trace) instructed() {
	if !tr.t.on(Instructed) || !tr.s.known || len(tr.p.stems) < 2 {
		return
	}
	said := 0
	for _, stem := range tr.p.stems {
		if slices.ContainsFunc(tr.s.user, func(t *folded.Text) bool { return t.Word(stem, 0) >= 0 }) {
			said++
		}
	}
	if said >= 2 {
		return
	}
	tr.s.settle()
	for _, g := range tr.s.groups {
		for _, r := range g.results {
			if r == nil || r.trusted || r.tool.Name() == tr.call.Tool.Name() && r.tool.Server == tr.call.Tool.Server {
				continue
			}
			if at := r.text.Names(tr.p.stems); at >= 0 {
				o := origin{from: fromResult, result: r, at: at, len: minPart}
				tr.add("the call", tr.call.Tool.Name(), Command, o, Instructed, "the result names this action, and you did not")
				tr.raised = true
				return
			}
		}
	}
}

func (tr *trace) add(place, value string, kind Kind, o origin, rule Rule, note string) {
	s := callstate.Source{
		Argument: safetext.Cut(safetext.Line(place), maxShown), Kind: string(kind), Value: quote(value, maxShown),
		From: o.from, Rule: string(rule), Note: note, How: o.how,
	}
	if r := o.result; r != nil {
		s.Tool, s.Call, s.Ago, s.Trusted = safetext.Line(r.tool.String()), r.call, tr.s.seq-r.seq, r.trusted
		s.Around = around(r.text, o.at, o.len)
	}
	tr.sources = append(tr.sources, s)
}

func quote(s string, most int) string { return `"` + safetext.Line(trim.Bytes(s, most)) + `"` }

func around(t *folded.Text, at, n int) string {
	from := t.Place(at)
	end := min(len(t.Raw), from+max(n, len(t.Part(at, n))))
	room := max(0, maxAround-(end-from)) / 2
	before, after := max(0, from-room), min(len(t.Raw), end+room)
	if blank := strings.IndexAny(t.Raw[before:from], " \t\n"); before > 0 && blank >= 0 {
		before += blank // no part of a word
	}
	return quote(strings.Join(strings.Fields(strings.ToValidUTF8(t.Raw[before:after], "")), " "), maxAround+8)
}

// A Kind is the meaning of an argument to its tool, which decides how much its source matters.
type Kind string

// The kinds. An argument that fits none is a Name.
const (
	Recipient  Kind = "recipient"  // a person or an address that something is sent to
	Account    Kind = "account"    // an account number, a card, a wallet
	URL        Kind = "url"        // an address on the web
	Host       Kind = "host"       // the name or the address of a machine
	Credential Kind = "credential" // a password, a key
	Path       Kind = "path"       // a file or a folder
	Command    Kind = "command"    // a command, code, a query
	Address    Kind = "address"    // a part of a postal address
	Amount     Kind = "amount"     // of money, or of anything
	ID         Kind = "id"         // of a thing that the server has
	Name       Kind = "name"       // of a thing, a place, a party
	Text       Kind = "text"       // free text
	Time       Kind = "time"       // a date, a time
	Choice     Kind = "choice"     // one of the values that the schema lists, or a switch
)

// leads reports whether a value of the kind decides about a destination or an access.
func (k Kind) leads() bool {
	return slices.Contains([]Kind{Recipient, Account, URL, Host, Credential}, k)
}

// exact reports whether one other character makes it another value.
func (k Kind) exact() bool { return k.leads() || k == Path || k == Command }

//go:embed kinds.txt
var kindsText string

// words maps those of kinds.txt to their kinds. The last word of a name that is here decides.
var words = func() map[string]Kind {
	m := make(map[string]Kind)
	for line := range strings.SplitSeq(strings.ReplaceAll(kindsText, "\n\t", " "), "\n") {
		kind, list, _ := strings.Cut(line, ":")
		for word := range strings.FieldsSeq(list) {
			m[word] = Kind(kind)
		}
	}
	return m
}()

func named(name string) Kind {
	if redact.IsSecret(name) {
		return Credential
	}
	parts := split(name)
	for i, part := range slices.Backward(parts) {
		k, ok := words[part]
		switch {
		case !ok:
		case part == "address" && i > 0 && (parts[i-1] == "ip" || parts[i-1] == "email"):
			return words[parts[i-1]]
		default:
			return k
		}
	}
	return Name
}

func kindOf(name Kind, value string) Kind {
	if shaped := shapeOf(value); shaped != "" {
		return shaped
	}
	if name == Name && strings.Count(value, " ") > 5 {
		return Text
	}
	return name
}

// split cuts a name in camel case, snake case or kebab case into words in lower case.
func split(name string) (parts []string) {
	for run := range bm25.Runs(name) {
		parts = slices.AppendSeq(parts, bm25.Parts(run))
	}
	return parts
}

var (
	iban   = regexp.MustCompile(`^[A-Za-z]{2}[0-9]{2}[A-Za-z0-9]{4}[0-9]{5}[A-Za-z0-9]{1,21}$`)
	phone  = regexp.MustCompile(`^\+[0-9][0-9 ()/.-]{6,20}$`)
	wallet = regexp.MustCompile(`^(0x[0-9a-fA-F]{40}|bc1[0-9a-z]{20,80}|[13][1-9A-HJ-NP-Za-km-z]{25,34})$`)
	card   = regexp.MustCompile(`^[0-9]{4}([ -]?[0-9]{4}){2,3}([ -]?[0-9]{1,4})?$`)
	domain = regexp.MustCompile(`^([a-zA-Z0-9-]+\.)+(com|org|net|io|dev|app|co|me|ai|info|biz|xyz|[a-z]{2}\.[a-z]{2}|onion)(:[0-9]+)?$`)
)

func shapeOf(value string) Kind {
	if len(value) < 6 || len(value) > 2048 {
		return ""
	}
	var has [utf8.RuneSelf]bool
	for i := range len(value) {
		has[value[i]&^utf8.RuneSelf] = true
	}
	numbered := '0' <= value[0] && value[0] <= '9' || '0' <= value[2] && value[2] <= '9'
	if has['\n'] || !numbered && !has['.'] && !has['@'] && !has['+'] && !has[':'] && value[0] != 'b' {
		return ""
	}
	switch {
	case !has[' '] && (strings.Contains(value, "://") || len(value) > 8 && strings.EqualFold(value[:4], "www.")):
		return URL
	case has['@'] && isMail(strings.TrimPrefix(value, "mailto:")), value[0] == '+' && phone.MatchString(value):
		return Recipient
	}
	squashed := strings.ReplaceAll(value, " ", "")
	switch {
	case numbered && iban.MatchString(squashed), numbered && card.MatchString(value), wallet.MatchString(value):
		return Account
	case has['.'] && domain.MatchString(value):
		return Host
	case has['.'] && has['/'] && domain.MatchString(value[:strings.IndexByte(value, '/')]):
		return URL
	}
	if !has[' '] && (has['.'] || has[':']) {
		if _, err := netip.ParseAddr(value); err == nil {
			return Host
		}
	}
	return ""
}

func isMail(value string) bool {
	a, err := mail.ParseAddress(value)
	return err == nil && strings.Contains(a.Address, "@")
}

func hostOf(value string) string {
	if !strings.Contains(value, "://") {
		value = "https://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.User != nil {
		return ""
	}
	return u.Host
}

// commits are words of tools that spend or bind: their recipient matters even if the server offers it.
var commits = strings.Fields("reserve book order buy purchase pay subscribe checkout bid rent hire trade" +
	" donate transfer withdraw sell")
