package infer

import (
	"cmp"
	"slices"

	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// raises are the rules for what else is stated.
var raises = []rule{
	{"name and description at odds", func(t *tool) finding {
		made := t.name.verb.means(secret) && t.said.verb.has(produce)
		queries := t.said.query && !t.params.asks && !t.so.effect.writes() && (t.params.any || !t.name.runs())
		executes := t.said.main.effect == commands && !queries
		more := t.said.plain && t.said.main.effect != commands || made || executes
		return t.said.main.when(t.name.firm && more)
	}},
	{"a verb of another language", func(t *tool) finding { return t.said.abroad.main.worse(t.said.abroad.also) }},
	{"a second verb of the name", func(t *tool) finding { return t.name.last.when(t.said.main.effect != reads) }},
	{"what else is said", func(t *tool) finding { return t.said.also }},
	{"what is done to something", func(t *tool) finding { return t.said.done.when(!t.so.effect.writes()) }},
	{"what is lost by a write", func(t *tool) finding { return t.said.done.when(t.said.done.effect >= takes) }},
	{"what a weak verb means", func(t *tool) finding {
		const review = read | weak | either
		return t.said.order.when(t.name.verb.all(review))
	}},
	{"the title", func(t *tool) finding {
		v := judge(cut(t.title))
		return v.at(inTitle).when(v.firm && v.effect.dangerous())
	}},
	{"the outcome stays", func(t *tool) finding { return t.said.stays.when(t.reads() && t.soft()) }},
	{"credentials are handed out", func(t *tool) finding { return t.said.hands }},
	{"no way back", func(t *tool) finding { return t.said.warn.when(!t.reads()) }},
}

// A reading is the meaning of the description, sentence by sentence.
type reading struct {
	name    string  // the tool's
	main    finding // the main verb of the first sentence
	also    finding // the gravest of what else is stated of the tool
	listed  finding // the gravest verb of a list: "actions like list, get and delete"
	done    finding // the gravest of what is done to something: "older files are deleted"
	order   finding // the gravest imperative of a later sentence
	hands   finding // states that credentials are handed out
	warn    finding // states that there is no way back
	stays   finding // states that the outcome does: "is saved to a file"
	verb    sense   // the main verb
	told    bool    // a sentence has been read
	plain   bool    // the main verb can hardly be anything else
	unread  string  // the verb that the first sentence begins with, if the lexicon does not have it
	object  bool    // the main verb has an object
	query   bool    // the object is a query, which may be of a language or a search
	manages bool    // the first sentence has commands that manage
	vague   bool    // the first sentence is a phrase without a verb, and informs only by that

	open, stem string // the first word for the world outside, the first stem of a complex tool
	strange    bool   // the first sentence is in another language
	abroad     translation
	odd        string // the first word of it that is not understood
}

func (r *reading) read(description string) {
	room := rooms.Get().(*[longest]word)
	defer rooms.Put(room)
	p := parser{scan: text.Scanner{Text: description}, words: room[:0]}
	start, begins := 0, 0 // where this sentence begins, and the first one that states something
	for p.next() {
		if !r.told {
			begins = start
		}
		r.sentence(p.words, p.scan.Odd)
		start = p.scan.Pos()
	}
	r.understand(description, description[begins:])
}

// sentence reads one sentence. One about the tool itself going away does not count.
func (r *reading) sentence(ws []word, odd bool) {
	r.open = cmp.Or(r.open, first(ws, outside))
	r.stem = cmp.Or(r.stem, first(ws, involved))
	if slices.ContainsFunc(ws, func(w word) bool { return w.base == "deprecate" }) {
		return
	}
	r.passing(ws)
	r.row(ws)
	r.sideEffects(ws)
	if r.told {
		if ws[0].is(add|change|take|out) && ws[0].form == base {
			r.order = r.order.worse(ws[0].does(objectIn(ws, 0), inDescription))
		}
		r.later(ws)
		for i := 1; i < len(ws)-1; i++ {
			if ws[i].mark == text.Colon || warned(ws, i) {
				r.later(ws[i+1:])
			}
		}
		return
	}
	r.first(ws)
	r.manages = first(ws, manage) != ""
	r.hands = freshSecret(ws)
	r.strange = r.another(ws, odd)
	r.told = r.told || r.strange && (odd || first(ws, foreign) != "") // a short one as well, since it is not a label
}

// sideEffects reads a label of that name, "Side effects: writes a log", unless there are none.
func (r *reading) sideEffects(ws []word) {
	if len(ws) < 4 || ws[0].base != "side" || ws[1].base != "effect" && ws[1].base != "effects" || ws[2].mark != text.Colon {
		return
	}
	if w := &ws[3]; !w.is(not) && w.base != "none" && !w.is(read) {
		r.also = r.also.worse(finding{effect: changes, place: inDescription, word: "side effects"})
	}
}

// row reads a list of deeds: "Actions: list, add, remove", "all lamp operations (get, dim)".
func (r *reading) row(ws []word) {
	at := slices.IndexFunc(ws, func(w word) bool { return w.mark == text.Colon || w.mark == text.Paren })
	if at < 1 || at > 6 || !ws[at-1].may(chooser) {
		return
	}
	for i := at + 1; i < len(ws); i++ {
		begins := ws[i-1].mark != 0 || ws[i-1].is(and)
		if at == 1 || begins && ws[i].form == base {
			if ws[i].is(add | change | take | out | power) {
				r.claim(ws, i)
			}
		}
	}
}

// first reads the main verb of the first sentence, behind labels in brackets, and the verbs beside it. It passes
// over a verb that shows only when to use the tool: "call once".
func (r *reading) first(ws []word) {
	ws = behindTags(ws)
	if isLabel(ws) || aboutPeople(ws) {
		return
	}
	i := mainVerb(ws)
	if i < 0 {
		r.main = r.nominal(ws)
		r.told = len(ws) > 3
		return
	}
	if advertises(ws, i) {
		return
	}
	if i+1 < len(ws) && ws[i+1].base == "nothing" {
		return // "changes nothing" states no deed
	}
	const call = run | weak | noun
	if ws[i].all(call) && (i+1 == len(ws) || ws[i+1].is(prep|subord|lead) && !ws[i+1].is(article)) {
		for i++; i < len(ws) && !infinitive(ws, i); i++ {
		}
		if i == len(ws) {
			return
		}
	}
	r.told = true
	r.main = r.leading(ws, i)
	r.asides(ws[i+1:])
}

// asides reads what the first sentence states behind a bracket or a colon: "Read a conversation (marks it as read)",
// "Review a request: submit an opinion".
func (r *reading) asides(ws []word) {
	for i := range len(ws) - 1 {
		if ws[i].mark != text.Paren && ws[i].mark != text.Colon {
			continue
		}
		if w := &ws[i+1]; ws[i].mark == text.Colon && w.is(add|change|take|out) && w.form == base && !w.means(noun|either|weak) {
			r.order = r.order.worse(w.does(objectIn(ws, i+1), inDescription))
		}
		r.later(ws[i+1:])
	}
}

// behindTags strips what stands in brackets before the first sentence, "[Requires Login] Place an order", and adverbs,
// "quickly list". A tag that is a grave verb stays: it states a deed.
func behindTags(ws []word) []word {
	const longestTag = 8
	for len(ws) > 2 {
		if ws[0].mark == text.Paren {
			ws = ws[1:]
			continue
		}
		closing := slices.IndexFunc(ws[:min(len(ws), longestTag)], func(w word) bool { return w.mark == text.Unparen || w.mark == text.Paren })
		switch {
		case closing > 0 && ws[closing].mark == text.Unparen && closing+1 < len(ws) && !(closing == 1 && ws[0].is(take|out|power)):
			ws = ws[closing+1:]
		case ws[0].flags&text.LikeThis != 0 && !ws[0].means(verbs) && (ws[1].is(verbs) || ws[1].mark == text.Paren):
			ws = ws[1:]
		default:
			return ws
		}
	}
	return ws
}

// aboutPeople reports whether a sentence states what people may do, and not what the tool does: "Some users may see this".
func aboutPeople(ws []word) bool {
	for i := range ws[:min(len(ws), 6)] {
		switch w := &ws[i]; w.base {
		case "users", "user", "admins", "customers", "members", "owners", "people", "teams":
			return i+1 < len(ws) && ws[i+1].is(modal)
		case "allow", "allows", "let", "lets", "enable", "enables", "help", "helps":
			return false
		}
	}
	return false
}

// advertises reports whether the verb at i only states what the tool is good for: "replaces five calls".
func advertises(ws []word, i int) bool {
	const near = 5
	return ws[i].base == "replace" && slices.ContainsFunc(ws[i+1:min(len(ws), i+near)], func(w word) bool { return w.base == "call" })
}

// isLabel reports whether a sentence only states for whom or when a tool is: "Admin only", "Beta feature".
func isLabel(ws []word) bool {
	if len(ws) == 0 || len(ws) > 4 {
		return false
	}
	switch ws[len(ws)-1].base {
	case "only", "feature", "plan", "tier", "beta", "alpha", "experimental", "premium", "required":
		return true
	}
	return false
}

// mainVerb returns the verb that a clause begins with, past "this tool will", "use this to", "Step 1:", or -1.
func mainVerb(ws []word) int {
	for i := 0; i < len(ws); i++ {
		w := &ws[i]
		colon := slices.IndexFunc(ws[i:min(len(ws), i+4)], func(w word) bool { return w.mark == text.Colon })
		switch {
		case w.is(not):
			return -1
		case i == 0 && colon > 0 && w.means(noun):
			i = colon
		case i == 0 && len(ws) > 1 && ws[1].flags&text.Joined != 0 && ws[1].is(verbs):
			return 1
		case i+3 < len(ws) && ws[i+1].base == "permission":
			return i + 3 // "grants permission to": what it is for
		case i+1 < len(ws) && w.is(lead) && ws[i+1].is(lead): // "allows you to"
		case isVerb(ws, i) && (i == 0 || !ws[i-1].is(article)):
			return i
		case w.is(lead | aux | warning):
		case colon > 0:
			i += colon
		default:
			return -1
		}
	}
	return -1
}

// leading returns the finding for the main verb at i. One that only informs does nothing: "report whether"; one
// without a meaning of its own yields to those that it lists: "perform actions like …".
func (r *reading) leading(ws []word, i int) finding {
	if i+2 < len(ws) && ws[i].base == "select" && ws[i+1].is(and) && ws[i+2].is(run) {
		i += 2 // "select and run one of them"
	}
	w, o := &ws[i], objectIn(ws, i)
	r.verb, r.object, r.query = w.sense, o.some, o.plain
	f := w.does(o, mainOfDescription)
	if both := parted(ws, i); both.is(verbs) {
		f = both.does(o, mainOfDescription)
	}
	last := i+1 == len(ws)
	if !last && (ws[i+1].is(subord) && w.means(noun) || w.all(says|noun) && w.form == third) {
		f.effect = reads
	}
	if w.is(run) && runsReads(ws[i+1:]) {
		f.effect = reads
	}
	r.goesInto(ws[i+1:])
	compound := i+2 < len(ws) && !w.is(add|change) && ws[i+2].base == "of"                                         // "pay stubs of an employee"
	sure := !w.means(noun|either) || !last && (ws[i+1].is(article) || w.form == third && ws[i+1].is(money|access)) // "transfers money"
	loose := w.means(weak|produce|manage) || w.means(run) && !w.means(change)                                      // "perform a search"
	r.plain = len(ws) > 1 && sure && !compound && !loose
	r.beside(ws, i)
	r.purpose(ws, i)
	r.destination(ws, i)
	if w.means(run|manage) && r.listed.effect != unknown && o.last.may(chooser) && !o.any.has(code) {
		f.effect, f.word = r.listed.effect, r.listed.word
	}
	return f
}

// runsReads reports whether what is run are only reads: "one of the following read operations".
func runsReads(ws []word) bool {
	reading := false
	for i := range ws {
		switch w := &ws[i]; {
		case w.mark != 0, w.is(and), w.is(add | change | take | out | power | manage):
			return false
		case w.may(chooser):
			return reading
		case w.is(prep) && w.base != "of":
			return false
		default:
			reading = w.base == "read"
		}
	}
	return false
}

// purpose reads what the verb at i is done for, if it has no meaning of its own or leaves something to be done: "trigger
// a campaign to send it", "schedule a campaign to be sent", "submit a script to run". A thing that is only looked at may
// be for anything ("find users to update"), unless it is worked on: "analyzes a table to update its statistics".
func (r *reading) purpose(ws []word, i int) {
	verb := &ws[i]
	looks := verb.is(read|compute) && !verb.means(secret|noun|either|weak|says)
	if !verb.is(run|add|change) && !looks {
		return
	}
	submits := verb.all(add|seals) && !verb.means(noun|either)
	for j := i + 2; j < len(ws); j++ {
		if ws[j-1].base != "to" || ws[j].mark != 0 {
			continue
		}
		at, passive := j, ws[j].base == "be" && j+1 < len(ws) && ws[j+1].form == past
		if passive {
			at++
		}
		switch w := &ws[at]; {
		case !passive && w.form != base:
			continue
		case looks:
			if w.is(take|change) && !w.means(noun|either|weak) && !ends(ws, at) {
				r.also = r.also.worse(w.does(objectIn(ws, at), inDescription))
			}
		case submits && w.is(run) && !w.means(change|noun|weak) && ends(ws, at):
			r.also = r.also.worse(finding{effect: commands, place: inDescription, word: w.base, gives: givesPower})
		case !passive && !verb.is(run):
			continue
		case w.is(take|out|add) && !w.means(noun):
			r.also = r.also.worse(w.does(objectIn(ws, at), inDescription))
		}
		return
	}
}

// destination reads where the object of the verb at i goes. A configuration that is pushed to the devices on which it is
// in effect goes live: "commit the candidate to the running config". A job that is submitted to a cluster is carried out.
func (r *reading) destination(ws []word, i int) {
	w := &ws[i]
	if w.base != "push" && w.base != "commit" && w.base != "submit" {
		return
	}
	configures, computes, to := false, false, false
	for j := i + 1; j < len(ws) && ws[j].mark == 0 && !ws[j].is(subord); j++ {
		switch o := &ws[j]; {
		case o.base == "to" || o.base == "onto" || o.base == "on":
			to = true
		case !to:
			configures = configures || isConfiguration(o)
			computes = computes || isJob(o)
		case configures && w.base != "submit" && inEffect(o):
			r.also = r.also.worse(finding{effect: leaves, place: inDescription, word: w.base, gives: givesLive})
		case computes && w.base == "submit" && carriesOutJobs(o):
			r.also = r.also.worse(finding{effect: commands, place: inDescription, word: w.base, gives: givesPower})
		}
	}
}

func isConfiguration(w *word) bool {
	switch w.base {
	case "config", "configs", "configuration", "configurations", "candidate", "policy", "policies", "ruleset", "settings":
		return true
	}
	return false
}

// inEffect reports whether a word names where a configuration has its effect at once.
func inEffect(w *word) bool {
	switch w.base {
	case "production", "prod", "live", "device", "devices", "firewall", "router", "routers", "fleet", "appliance", "appliances":
		return true
	}
	return w.base == "run" && w.form == ing // the running config
}

func isJob(w *word) bool {
	switch w.base {
	case "job", "jobs", "batch", "workload", "application", "script", "program":
		return true
	}
	return false
}

func carriesOutJobs(w *word) bool {
	switch w.base {
	case "cluster", "clusters", "mainframe", "supercomputer", "scheduler", "grid", "hpc":
		return true
	}
	return false
}

// nominal reads a first sentence that begins without a verb: "Paginated list of assets", "The search API returns …".
func (r *reading) nominal(ws []word) finding {
	if len(ws) > 1 && ws[0].is(question) {
		return finding{effect: reads, place: mainOfDescription, word: ws[0].base}
	}
	// "Copies pages to a disk", and not "orders of a day" or "notes, revision 1".
	copies := len(ws) > 1 && ws[0].is(add|change|take|out) && ws[0].form == third && !ends(ws, 0) && !ws[1].is(report|read|modal)
	for i := range ws {
		w := &ws[i]
		switch {
		case i == 1 && ws[0].unread(w):
			r.unread = ws[0].base
			r.beside(ws, 0)
			return finding{}
		case advertises(ws, i):
			return finding{}
		case i > 0 && w.form == third && isVerb(ws, i) && !ends(ws, i), infinitive(ws, i), i == 0 && copies:
			return r.leading(ws, i)
		case w.is(read|compute|report) && !w.means(acting|right) && ends(ws, i):
			return finding{effect: reads, place: mainOfDescription, word: w.base}
		case w.is(prep) && !(w.is(lead) && i+1 < len(ws) && (infinitive(ws, i+1) || ws[i+1].sense == 0)):
			return r.phrase(ws)
		}
	}
	return r.phrase(ws)
}

// unread reports whether an unknown word that begins a sentence is a verb, by the word after it.
func (w *word) unread(next *word) bool {
	return w.sense == 0 && (next.is(article) || w.flags&text.Plural != 0 && (next.means(nouns) || next.flags&text.Plural != 0))
}

// phrase reads a phrase without a verb: "Current prices". A thing that acts implies nothing: "A REST client".
func (r *reading) phrase(ws []word) finding {
	for i := range ws {
		w := &ws[i]
		if w.flags&text.Doing != 0 && i+1 < len(ws) || w.is(verbs&^(read|compute)) && !w.means(noun) && w.form <= third {
			return finding{}
		}
	}
	for len(ws) > 1 && (ws[0].flags&text.LikeThis != 0 || ws[0].is(article) && ws[1].is(report|artefact)) {
		ws = ws[1:]
	}
	begins := &ws[0]
	if begins.form == base && begins.is(money|message|pact|add|change|take|out) || begins.base == "allows" {
		return finding{} // a payment may be one that is made
	}
	told := begins.is(many | tells)
	r.vague = !begins.is(many)
	if told {
		ws = ws[1:]
	}
	if !things(ws, told) {
		return finding{}
	}
	return finding{effect: reads, place: saysNoDeed, word: begins.entry()}
}

// things reports whether a phrase begins with a name of things. One unknown singular may be a verb, unless marked.
func things(ws []word, told bool) bool {
	end := slices.IndexFunc(ws, func(w word) bool { return w.is(english | prep | and) })
	switch {
	case end < 0:
		return told && len(ws) > 0 && ws[len(ws)-1].tells(true)
	case end == 0, !ws[end].is(prep | and), ws[end].base == "to":
		return false
	case end == 1 && !told && ws[0].flags&text.Plural == 0:
		return ws[1].base == "of" || things(ws[2:], false)
	}
	return ws[end-1].tells(told || end > 1)
}

// shows reports whether the last word of a phrase names information: several things, or one such as a report.
func (w *word) tells(behind bool) bool {
	return !w.means(acting) && (w.flags&text.Plural != 0 || w.is(nouns) && (behind || !w.means(verbs)))
}

// beside reads the verbs beside the one at i: "create or overwrite", ", replacing the old one".
func (r *reading) beside(ws []word, i int) {
	under, last := false, i // last is the last verb of a row of verbs: "list, apply, restore patches"
	careful := ws[i].does(object{}, inDescription).effect == reads
	for j := i + 1; j < len(ws); j++ {
		w, before := &ws[j], &ws[j-1]
		switch {
		case w.is(subord), w.form == base && w.is(verbs) && before.is(prep):
			under = true
		case w.form == ing && w.is(take|out) && (before.mark == text.Comma || before.base == "by"):
			r.claim(ws, j)
		case w.is(not), careful && w.mark == text.Colon:
			return
		case w.is(and | aux), w.mark == text.Comma, w.mark == text.Slash:
			k := j + 1
			for k < len(ws) && ws[k].is(and|aux) {
				k++
			}
			if k == len(ws) || under || !joins(ws, i, k) {
				continue
			}
			if ws[k].flags&text.Capital != 0 && j != last+1 {
				continue // the name of a product: "by id or Resend URL"
			}
			emptied := ws[k].means(sweep) || ws[i].means(settled) && ws[i].base != "update" && ws[k-1].base == "or" // set or clear: a field
			also := r.also
			if !careful || !listed(ws, last, j, k) {
				r.claim(ws, k)
			}
			if emptied {
				r.also = also
			}
			if j == last+1 {
				last = k
			}
			j = k
		}
	}
}

// joins reports whether the word at k is a verb like the one at i, by its form or the next word.
func joins(ws []word, i, k int) bool {
	w := &ws[k]
	made := w.means(weak) && w.means(produce|says)
	used := !w.means(noun)
	if k+1 < len(ws) && !used {
		used = ws[k+1].is(lead) && ws[k+1].is(english) && !ws[k+1].is(prep|modal|subord)
	}
	return w.form == ws[i].form && used && !made && isVerb(ws, k)
}

// listed reports whether the word at k is one of a list of things: "get targets, rules, and rollouts".
func listed(ws []word, last, j, k int) bool {
	join, w := &ws[j], &ws[k]
	surely := w.form == base && !w.means(noun|either|weak)
	if j == last+1 && surely {
		return false
	}
	if ends(ws, k) || ws[k+1].is(english) {
		return ends(ws, k)
	}
	if j == last+1 && !w.means(weak) {
		return false
	}
	if join.base == "or" && surely && w.is(change) && ws[k+1].sense == 0 && ws[k+1].flags&text.Plural == 0 {
		return false // "get the state or set brightness"
	}
	return w.means(weak) || ws[k+1].is(report) || (!join.is(and) || join.base == "or") && !w.means(take|out)
}

func (r *reading) claim(ws []word, i int) {
	if r.verb.has(settled) && ws[i].base == "replace" || advertises(ws, i) {
		return // it is set
	}
	o := objectIn(ws, i)
	f := ws[i].does(o, inDescription)
	r.listed = r.listed.worse(f)
	runsCode := f.effect == commands && !o.plain // a shell command, and no query, which may be a search
	if f.effect.writes() && (!ws[i].means(run) || ws[i].means(change) || runsCode) {
		r.also = r.also.worse(f)
	}
}

// parted finds the verb at i with a particle behind its object: "rolls a release back", "checks a guest in".
func parted(ws []word, i int) word {
	for j := i + 1; j < min(len(ws), i+6); j++ {
		if w := &ws[j]; w.is(particle) && (!w.is(prep) || j+1 == len(ws) || ws[j+1].is(and)) {
			return ws[i].phrasal(w.base)
		}
	}
	return word{}
}

func warned(ws []word, i int) bool { return ws[i].base == "that" && i < 4 }

// freshSecret finds credentials that are made for the call: "a set of temporary credentials".
func freshSecret(ws []word) finding {
	made := 0
	for i := range ws {
		w := &ws[i]
		if w.base == "temporary" || w.base == "fresh" {
			made = i + 4
		}
		behind := i > 1 && ends(ws, i) && (ws[i-1].base == "and" || ws[i-2].base == "and")
		if w.is(secret|access) && (i < made || behind && (w.is(secret) || w.form == base)) {
			return finding{effect: adds, place: inDescription, word: w.base}
		}
	}
	return finding{}
}

// later reads a clause after the first sentence. Only what it states of the tool counts; an imperative is advice.
func (r *reading) later(ws []word) {
	stated := false
	for i := range ws {
		w := &ws[i]
		switch {
		case w.is(verbs) && (w.form == third || stated):
			f := w.does(objectIn(ws, i), inDescription)
			verb := !w.means(noun) || stated && w.is(message) && !ends(ws, i) && ws[i+1].is(article)
			plain := verb && !w.means(run|produce|retire|says) && !w.all(weak|change)
			joined := stated && i+1 < len(ws) && (ws[i+1].is(and) || ws[i+1].mark == text.Comma) && w.form == base
			if (joined || !ends(ws, i) || f.effect == commands) && (plain || f.effect == commands && !w.is(change) || f.gives == givesPublic || f.gives == givesMoney && !w.is(says)) {
				r.claim(ws, i)
			}
			if w.form == third || joined {
				r.beside(ws, i)
			}
			return
		case w.is(aux):
			stated = true
		case w.is(lead) && !w.is(subord|prep) && w.base != "user" && w.base != "you":
		case i == 0 && w.form == ing && len(ws) > 1:
		default:
			return
		}
	}
}

// passing finds what a sentence mentions: that there is no way back, that nothing is changed, that the outcome
// stays, and what is done to something, but not what was, may or would be done.
func (r *reading) passing(ws []word) {
	negated, aside, held, done := false, false, false, false
	for i := range ws {
		w := &ws[i]
		if !aside && saved(ws, i) {
			r.stays = r.stays.worse(finding{effect: adds, place: inDescription, word: w.base})
		}
		switch {
		case w.mark != 0:
			negated, held, done = false, false, false
		case w.is(not | subord):
			negated, aside, held = negated || w.is(not), true, !warned(ws, i)
		case w.is(warning) && !negated, w.is(unmade) && negated:
			r.warn = finding{effect: leaves, place: warns, word: w.base}
		case !held && happens(ws[:i]), done && ws[i-1].is(and):
			done = true
			r.done = r.done.worse(w.undergone(ws[i-1].base, !aside && i+1 < len(ws) && perCall(ws[i+1].base)))
		}
	}
}

// saved reports whether the outcome stays, by the word at i: "are saved to", ", persisted with".
func saved(ws []word, i int) bool {
	if i == 0 || i+1 == len(ws) || !ws[i].is(add) || !ws[i+1].is(prep|and) {
		return false
	}
	return ws[i-1].is(modal|and|aux) || ws[i-1].mark == text.Comma
}

// undergone returns what a verb does to its subject after a form of "to be". A thing that is paid may have been paid before.
func (w *word) undergone(before string, perCall bool) finding {
	noun := lookup(w.base)
	now := perCall || before == "be" || before == "get" || w.base == "deduct" || noun.means(message)
	if w.form != past && (!w.means(sweep) || before == "get") || !w.is(take) && !(w.is(out) && now) {
		return finding{}
	}
	f := w.does(object{}, inDescription)
	if w.means(sweep) {
		f.effect = leaves
	}
	return f
}

// perCall reports whether what is done is done by the call, as in "is paid on answer", from the word behind it.
func perCall(w string) bool {
	switch w {
	case "on", "upon", "per", "when", "once", "each":
		return true
	}
	return false
}

// happens reports whether words end in a form of "to be" that states something.
func happens(ws []word) bool {
	last := len(ws) - 1
	if last < 1 {
		return false
	}
	if ws[last].base == "be" {
		return ws[last-1].base == "will" || last > 1 && ws[last-2].base == "will"
	}
	return ws[last].base == "is" || ws[last].base == "are" || ws[last].base == "get"
}

// goesInto finds what the outcome goes into: "into a folder", "to a file", not "into markdown".
func (r *reading) goesInto(ws []word) {
	for i := range ws {
		w := &ws[i]
		if w.is(subord) {
			return
		}
		if w.base != "into" && w.base != "to" {
			continue
		}
		if o := objectIn(ws, i); w.base == "into" && o.any&artefact == 0 || w.base == "to" && o.last.holds() {
			r.stays = r.stays.worse(finding{effect: adds, place: inDescription, word: w.base})
		}
	}
}

// isVerb reports whether the word at i is a verb, not a subject, a noun ("access to") or part of a name.
func isVerb(ws []word, i int) bool {
	w := &ws[i]
	if !w.is(verbs) || w.form == past || i+1 == len(ws) {
		return w.is(verbs) && w.form != past
	}
	next := &ws[i+1]
	switch {
	case next.is(modal), w.is(right) && next.is(prep), next.flags&text.Joined != 0 && next.is(prep|particle): // reply-to
		return false
	case !w.means(noun):
		return true
	case next.mark == text.Slash && i+2 < len(ws) && !ws[i+2].is(verbs): // exchange/market data
		return false
	case next.flags&text.Capital != 0, w.form == ing:
		return false
	}
	return w.form != third || next.is(english) || i == 0 && w.means(says)
}

func infinitive(ws []word, i int) bool {
	if !ws[i].is(verbs) {
		return false
	}
	for i--; i > 0 && ws[i].flags&text.LikeThis != 0; i-- {
	}
	return i >= 0 && ws[i].is(lead) && ws[i].is(prep)
}

// ends reports whether a phrase ends at i, so that a verb there has no object.
func ends(ws []word, i int) bool { return i+1 == len(ws) || ws[i+1].mark != 0 || ws[i+1].is(and|prep) }

func objectIn(ws []word, i int) (o object) {
	for j := i + 1; j < len(ws); j++ {
		w := &ws[j]
		over := w.mark != 0 && w.mark != text.Slash || w.is(subord|and)
		if over || w.is(prep) && j > i+1 && ws[j-1].base != "up" { // "up to 20 lamps"
			break
		}
		if !w.is(english) || w.is(many) {
			o.add(w)
		}
	}
	return o
}
