package flow

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/flow/internal/folded"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/lazyregexp"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
)

const (
	maxSources = 32      // that are recorded of one call
	maxLeaves  = 256     // of the arguments that are traced
	maxShown   = 60      // bytes of a value
	maxTool    = 200     // bytes of the name of a tool with that of its server
	maxNames   = 256     // of arguments outside the schemas whose kinds a session keeps
	maxAround  = 160     // bytes of the text around it
	maxHead    = 4 << 10 // bytes before that where its author is looked for
	maxAuthor  = 140     // bytes that name them
	// maxCompared is how many bytes of results are compared for one call; most need some thousand.
	maxCompared = 64 << 20
)

func (t *tracer) on(r Rule) bool { return !slices.Contains(t.Off, r) }

// trace returns where the arguments of a call came from, if a rule asks about one or a person is asked anyway, and what
// the call takes along from untrusted results, nil for nothing.
func (t *tracer) trace(s *session, call *middleware.Call, form []byte) ([]middleware.Source, *passing, map[string]Endorsement) {
	host, shared := t.Tracker.constants(), t.Tracker.scope(call.Scope)
	through := shared.source(call)
	s.mu.Lock()
	defer s.mu.Unlock()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	s.shared = shared
	s.seq++
	tr := trace{t: t, s: s, p: t.profile(call.Tool), call: call, host: host, changes: call.Tool.Safety() != annotation.Safe}
	tr.form = string(form)
	if through != nil && tr.changes {
		tr.passing = &passing{from: through} // it may copy the object
	}
	tr.walk()
	if tr.passing != nil {
		tr.collect = true
		tr.walk()
		tr.collect = false
	}
	if !tr.raised && tr.changes && !call.Tool.Safety().MustConfirm() {
		tr.instructed()
	}
	if !tr.raised && !call.Tool.Safety().MustConfirm() {
		return nil, tr.passing, nil
	}
	tr.record = true
	tr.walk()
	slices.SortStableFunc(tr.sources, func(a, b middleware.Source) int { // what asks comes first
		return cmp.Compare(min(1, len(b.Rule)), min(1, len(a.Rule)))
	})
	return tr.sources, tr.passing, tr.endorsing
}

// A trace looks up the arguments of one call. It walks over them twice: first only to see whether a rule asks, which is
// all that most calls need, and then, if a person is going to be asked, once more to record a source for each.
type trace struct {
	walker

	t       *tracer
	s       *session
	p       *profile
	call    *middleware.Call
	host    []*folded.Text
	changes bool
	raised  bool // a rule asks
	record  bool // the sources are wanted
	sources []middleware.Source
	leaves  int
	passing *passing
	// What was asked about, by endorsedKey: a person who approves endorses it.
	endorsing map[string]Endorsement
	args      []argument // of the call, decoded if they are wanted
	verdicts  verdicts
	collect   bool // only the objects of the call are wanted, for passing
}

func (tr *trace) walk() {
	tr.at, tr.place, tr.leaves, tr.s.budget = 0, tr.s.place[:0], 0, maxCompared
	tr.value("")
	tr.s.place = tr.place
}

// kind returns what an argument of that name means to the tool. The schema shows it, or else the name, which most calls
// of a session have in common.
func (tr *trace) kind(name string) argumentKind {
	if k, ok := tr.p.kinds[name]; ok {
		return k
	}
	if k, ok := tr.s.kinds[name]; ok {
		return k
	}
	k := named(name)
	if tr.s.kinds == nil {
		tr.s.kinds = make(map[string]argumentKind)
	}
	if len(tr.s.kinds) < maxNames && len(name) <= maxShown {
		tr.s.kinds[strings.Clone(name)] = k
	}
	return k
}

// leaf looks up one value of the arguments.
func (tr *trace) leaf(name, value string, isText bool) {
	kind := tr.kind(name)
	if tr.p.moves && (name == "from" || name == "to") && strings.ContainsAny(value, "/.") {
		kind = kindPath
	}
	if tr.p.installs && kind == kindName && slices.Contains(packages, name) {
		kind = kindPackage
	}
	if isText {
		kind = kindOf(kind, value)
	}
	if kind == kindChoice || value == "" || !kind.leads() && tr.p.defaults[name] == value || !tr.changes && kind != kindURL || len(tr.sources) >= maxSources {
		return
	}
	if tr.leaves++; tr.leaves > maxLeaves {
		tr.s.budget = -1
	}
	if tr.collect {
		tr.object(name, value, kind)
		return
	}
	look := &tr.s.look
	*look = lookup{s: tr.s, host: tr.host, server: tr.call.Tool.Server, kind: kind, raw: value, norm: tr.s.value.Set(value), own: tr.p.defined, shows: tr.record}
	o := look.origin()
	rule, note := tr.judge(kind, &o, look.norm)
	if rule != "" && tr.endorsed(kind, value, rule) {
		rule, note = "", "you approved it in this session"
	}
	if rule == "" && tr.sensitive(kind, &o, value) {
		rule, note = SensitiveOut, "sensitive, and the tool reaches the open world"
	}
	tr.raised = tr.raised || rule != ""
	if tr.changes && !tr.record {
		tr.pass(value, &o)
	}
	if tr.record {
		if made := o.note(); made != "" {
			note = strings.TrimPrefix(note+"; "+made, "; ")
		}
		if o.from != fromUser && kind.exact() {
			if part := look.partly(); part != "" {
				note = strings.TrimPrefix(note+"; you named "+quote(part, maxShown)+" alone", "; ")
			}
		}
		if tr.endorses(kind, value, rule, &o) {
			note = strings.TrimPrefix(note+"; your approval covers it as "+kind.article()+" in this session", "; ")
		}
		tr.add(string(tr.place), value, kind, o, rule, note)
	}
}

// judge returns the rule that asks about a value of that origin, "" for none, and what there is to say to a person.
// What could not be compared, since the budget was used up, or may have come from a result that is no longer kept,
// counts as untrusted.
func (tr *trace) judge(kind argumentKind, o *origin, norm []byte) (Rule, string) {
	switch {
	case o.from == fromUser, o.from == fromHost, o.from == fromResult && o.result.trusted:
		return "", ""
	case o.from == fromResult:
		if tr.t.on(UntrustedValue) && tr.matters(kind, o, norm) {
			return UntrustedValue, ""
		}
		return "", ""
	case tr.s.budget < 0 && tr.t.on(UntrustedValue) && kind != kindTime:
		return UntrustedValue, "the results are too long to be compared with it"
	case tr.s.forgot && tr.t.on(UntrustedValue) && (kind.leads() || tr.s.known && kind != kindText && kind != kindTime && kind != kindAmount):
		return UntrustedValue, "or from an earlier result that is no longer kept"
	case tr.s.known && kind.leads() && len(norm) >= minValue && tr.t.on(UnknownAddress):
		return UnknownAddress, ""
	}
	return "", ""
}

// matters reports whether an argument that came from an untrusted result is consequential.
func (tr *trace) matters(kind argumentKind, o *origin, norm []byte) bool {
	if !tr.changes { // a URL that a result has as it is, or as a link, carries nothing out
		return o.how != "" && !o.link
	}
	switch {
	case o.offers(kind), o.made != nil && o.made.weak:
		return false
	case kind.leads():
		return true
	case kind == kindChoice || !tr.s.known:
		return false
	case tr.wanted(kind, o, tr.s.look.raw):
		return false
	case kind == kindTime: // a day that the user named is theirs, and a server's own dates are its references
		return o.users == nil && o.result.tool.Server != tr.call.Tool.Server
	case kind == kindCommand || kind == kindAddress:
		return true
	case kind == kindText:
		return !o.whole && o.how != "in part" && len(norm) >= minPassage
	case (kind == kindName || kind == kindDetail) && tr.p.commits:
		return true
	case kind == kindPath && o.users != nil: // a file that the user's words name
		return false
	}
	return !o.whole
}

// sensitive reports whether a value that is marked or recognized as sensitive leaves with the call.
func (tr *trace) sensitive(kind argumentKind, o *origin, raw string) bool {
	if !tr.changes || !tr.t.on(SensitiveOut) || tr.call.Tool.Annotations.OpenWorld == annotation.No || o.from == fromUser || o.from == fromHost {
		return false
	}
	if o.from == fromResult && o.result.sensitive {
		return true
	}
	return kind == kindText && tr.call.Tool.Annotations.OpenWorld == annotation.Yes && len(raw) >= minPassage && new(redact.Redactor).Text(raw) != raw
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
		for all := g.with(tr.p.stems); all != 0; all &= all - 1 {
			r := g.results[bits.TrailingZeros64(all)]
			if r.trusted || r.tool.Server == tr.call.Tool.Server && (r.channel != "" || r.tool.Name() == tr.call.Tool.Name()) {
				continue
			}
			if at := r.text.Names(tr.p.stems); at >= 0 {
				o := origin{from: fromResult, result: r, at: at, len: minPart}
				tr.add("the call", tr.call.Tool.Name(), kindCommand, o, Instructed, "the result names this action, and you did not")
				tr.raised = true
				return
			}
		}
	}
}

func (tr *trace) add(place, value string, kind argumentKind, o origin, rule Rule, note string) {
	s := middleware.Source{
		Argument: safetext.Word(place, maxShown), Kind: string(kind), Value: quote(value, maxShown),
		From: o.from, Rule: string(rule), Note: note, How: o.how,
	}
	if r := o.result; r != nil {
		s.Tool, s.Call, s.Trusted = safetext.Word(r.tool.String(), maxTool), r.call, r.trusted
		if r.session == tr.s.id {
			s.Ago = tr.s.seq - r.seq
		}
		if first := r.through; first != nil {
			s.Note = strings.TrimPrefix(s.Note+"; an earlier call wrote there what "+safetext.Word(first.tool.String(), maxTool)+" returned", "; ")
		}
		s.Around = around(r.text, o.at, o.len)
	}
	tr.sources = append(tr.sources, s)
}

func quote(s string, most int) string { return safetext.Quote(trim.Bytes(s, most), 0) }

// authors are lines and members that name who wrote a text.
var authors = lazyregexp.New(`(?i)(?:^|[\n{,])[ \t]*"?(?:from|sender|author)"?[ \t]*:[ \t]*"?[^"\n,{}@]{1,60}@[^"\n,{}]{1,60}`)

// author returns the last line or member of a text that names who wrote it, "" for none.
func author(text string) string {
	text = text[max(0, len(text)-maxHead):]
	if part := strings.LastIndex(text, partEnd); part >= 0 {
		text = text[part+len(partEnd):]
	}
	all := authors.FindAllString(text, -1)
	if len(all) == 0 {
		return ""
	}
	return strings.ReplaceAll(strings.TrimLeft(all[len(all)-1], "\n{, \t"), `"`, "") + " … "
}

// around returns the text of a result around a part of it, cut to whole words, after who wrote it if the text names them.
func around(t *folded.Text, at, n int) string {
	from := t.Place(at)
	end := min(len(t.Raw), from+max(n, len(t.Part(at, n))))
	room := max(0, maxAround-(end-from)) / 2
	before, after := max(0, from-room), min(len(t.Raw), end+room)
	if part := strings.LastIndex(t.Raw[before:from], partEnd); part >= 0 {
		before += part + len(partEnd)
	} else if blank := strings.IndexAny(t.Raw[before:from], " \t\n"); before > 0 && blank >= 0 {
		before += blank // no part of a word
	}
	if part := strings.Index(t.Raw[end:after], partEnd); part >= 0 {
		after = end + part
	}
	text := author(t.Raw[:before]) + t.Raw[before:after]
	return quote(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "), maxAround+maxAuthor)
}
