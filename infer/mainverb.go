package infer

import (
	"slices"

	"github.com/fairlead-go/fairlead/infer/internal/text"
)

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
