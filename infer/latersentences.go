package infer

import "github.com/fairlead-go/fairlead/infer/internal/text"

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
			verb = verb && (stated || ends(ws, i) || !ws[i+1].is(modal)) // "Highlights are on"
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

// goesInto finds what the outcome goes into: "into a folder", "to a file", not "into markdown"; and that it takes the place
// of the original: "in place".
func (r *reading) goesInto(ws []word) {
	for i := range ws {
		w := &ws[i]
		if w.is(subord) {
			return
		}
		if w.base == "in" && i+1 < len(ws) && ws[i+1].base == "place" && (i+2 == len(ws) || ws[i+2].base != "of") {
			r.stays = r.stays.worse(finding{effect: changes, place: inDescription, word: "in place"})
		}
		if w.base != "into" && w.base != "to" {
			continue
		}
		if o := objectIn(ws, i); w.base == "into" && o.any&artefact == 0 || o.last.holds() {
			r.stays = r.stays.worse(finding{effect: adds, place: inDescription, word: w.base})
		}
	}
}
