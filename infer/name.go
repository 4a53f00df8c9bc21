package infer

import "strings"

const (
	// maxWords is how many words of a name are looked at. Names have at most 128
	// characters; of longer ones the rest is not needed to find the verb.
	maxWords = 24
	// maxCompound is how many letters a word may have in which two are looked for.
	maxCompound = 12
)

// cut returns the words of a name in any dress: snake, kebab, dots, slashes,
// camelCase, acronyms (HTTPDelete), digits.
func cut(text string) []word {
	ws := make([]word, 0, 8)
	start, before := -1, ""
	end := func(at int) {
		if start >= 0 && len(ws) < maxWords {
			plain, odd := letters(text[start:at])
			ws = appendWord(ws, plain, before, odd)
			before = plain
		}
		start = -1
	}
	for i, r := range text {
		switch k, _ := kindOf(r); {
		case k == letter || k == other:
			if start >= 0 && humps(text, i) {
				end(i)
			}
			if start < 0 {
				start = i
			}
		case k != silent:
			end(i)
		}
	}
	end(len(text))
	return ws
}

// humps reports whether a new word begins at i: deleteUser, HTTPDelete.
func humps(text string, i int) bool {
	return isUpper(text[i]) && (!isUpper(text[i-1]) || i+1 < len(text) && isLower(text[i+1]))
}

// appendWord appends a word of a name. A particle joins the verb before it if the
// lexicon has the two as one: check_out, shut_down.
func appendWord(ws []word, text, before string, odd bool) []word {
	w := lookup(text)
	if odd {
		w.flags = folded
	}
	if strings.Contains(text, "?") {
		w.flags |= opaque // in another script
	}
	if w.is(particle) && len(ws) > 0 {
		if both := phrasal(before, text); both.is(verbs) {
			both.flags = w.flags
			ws[len(ws)-1] = both
			return ws
		}
	}
	if w.sense == 0 && w.flags&opaque == 0 {
		if first, second, ok := compound(text); ok && len(ws)+1 < maxWords {
			return append(ws, first, second)
		}
	}
	return append(ws, w)
}

// compound cuts an unknown word that hides one that takes away or sends:
// bulkdelete, deleteall. Both halves have to be words of the lexicon.
func compound(text string) (first, second word, ok bool) {
	if len(text) > maxCompound {
		return word{}, word{}, false
	}
	for at := len(text) - 3; at >= 3; at-- {
		a, b := lookup(text[:at]), lookup(text[at:])
		if a.sense == 0 || b.sense == 0 || (a.sense|b.sense)&particle != 0 || a.imperative() && b.imperative() {
			continue
		}
		if a.grave() || b.grave() {
			return a, b, true
		}
	}
	return word{}, word{}, false
}

// imperative reports whether a word can only be a verb. Two of them make no
// compound: they are a brand, or something else that is no word of ours.
func (w *word) imperative() bool { return w.is(verbs) && w.sense&(noun|either|weak) == 0 }

func (w *word) grave() bool {
	return w.sense&(take|out|power) != 0 && w.sense&(noun|either) == 0 && w.form == base
}

// A verdict is what the name alone says.
type verdict struct {
	finding
	verb word // the head verb; none where its sense is 0
	at   int
	firm bool // it stands on its own; else the description is asked first
	obj  object
	told bool // the last word says that something is told: command_help
}

// judge finds the verb that speaks for the name and what it does, and whether
// another one makes it worse.
func judge(ws []word, from int) verdict {
	at := headVerb(ws, from)
	if at < 0 {
		last := len(ws) - 1
		v := verdict{at: -1, told: last >= 0 && ws[last].is(report)}
		if last > from && ws[last].is(report) && ws[last].flags&folded == 0 {
			v.finding = finding{reads, inName, ws[last].base} // printer_status: nothing is done
		}
		return v
	}
	v := verdict{verb: ws[at], at: at}
	v.obj = objectOf(ws, from, at)
	v.finding = finding{effectOf(v.verb.sense, v.obj), inName, v.verb.base}
	if at == from {
		v.place = leadsName
	}
	v.told = ws[len(ws)-1].sense&report != 0
	v.firm = v.verb.sense&wire != 0 && v.effect == commands || v.verb.sense&power != 0 && (v.verb.sense&noun == 0 || at == len(ws)-1) || v.verb.sense&(weak|noun) == 0 && v.verb.form <= third &&
		!(v.verb.sense&produce != 0 && v.effect == adds) && // made of what, is not known
		!(v.verb.sense&either != 0 && v.effect != reads && at == len(ws)-2 && v.told) // a noun: deploy_status
	if v.verb.sense&(bends|seals) == bends|seals && v.effect == reads && at > from && v.obj.any&picture == 0 {
		v.firm, v.effect = false, adds // notes_capture: of what, is not known
	}
	if v.effect == reads && (v.verb.flags&folded != 0 || v.verb.sense&says != 0) {
		v.firm, v.effect = false, unknown
	}
	for i := at + 1; i < len(ws); i++ {
		if !ws[i].is(verbs) {
			continue
		}
		f := finding{effectOf(ws[i].sense, objectOf(ws, i, i)), inName, ws[i].base}
		if v.verb.sense&supposes != 0 && ws[i].is(verbs&^(read|compute)) && ws[i].form == base {
			v.firm = false // preview_send: or things that are done in a preview
		}
		switch {
		case more(ws, i) && ws[i].sense&(produce|weak) != produce|weak && (f.effect.dangerous() && v.verb.sense&supposes == 0 || ws[i-1].is(and)),
			v.effect == reads && v.verb.sense&noun != 0 && ws[i].form == base, // chat_post: two nouns that may be verbs
			v.verb.sense&run != 0 && !v.told && ws[i].grave(),                 // run_purge_job
			v.effect.writes() && ws[i].is(take) && ws[i].sense&noun != 0:      // request_deletion
			v.finding = v.worse(f)
		}
	}
	return v
}

// more reports whether the verb at i is another one of the name: after "and",
// "or" or "then", or at the end, where no noun follows that it could describe.
// What stands behind a state word or before a noun is none: get_reset_token.
func more(ws []word, i int) bool {
	if ws[i-1].is(and) {
		return ws[i].form != past
	}
	return i == len(ws)-1 && ws[i].imperative() && ws[i].form == base
}

// headVerb returns the index of the verb that speaks for the name, or -1: the
// first word; else the one after a prefix or the last one; else any plain one;
// else one that may be a noun.
func headVerb(ws []word, from int) int {
	for from < len(ws)-1 && ws[from].is(many) && !ws[from].is(verbs) {
		from++
	}
	plain := func(i int) bool {
		return i >= from && i < len(ws) && ws[i].is(verbs) && ws[i].sense&noun == 0 &&
			(ws[i].sense&agent == 0 || i == len(ws)-1) && (ws[i].form == base || i == from && i < len(ws)-1 && ws[i].form == third && ws[i].sense&either == 0)
	}
	sure := func(i int) bool { return plain(i) && ws[i].sense&either == 0 && ws[i].form == base }
	// A reading verb that may be a noun is one before a plain verb: survey_create;
	// and one that says little gives way to a plain one: screen_reload, reverse_geocode.
	object := func(i int) bool {
		last := len(ws) - 1
		return ws[i].sense&(either|weak) != 0 && ws[i].sense&supposes == 0 && last > i && sure(last) && ws[i].sense&ws[last].sense&weak == 0 && !ws[last-1].is(prep) ||
			ws[i].sense&weak != 0 && sure(i+1) && ws[i+1].sense&weak == 0
	}
	last := len(ws) - 1
	for last > from && ws[last].sense == 0 && ws[last].flags&opaque != 0 {
		last--
	}
	switch {
	case last > from && ws[last].sense&manage != 0 && ws[last].sense&noun != 0 && !sure(from) && !sure(from+1):
		return last
	case plain(from) && !object(from):
		return from
	case plain(from+1) && ws[from+1].sense&supposes != 0:
		return from + 1
	case sure(from + 1):
		return from + 1
	case plain(last) && !ws[last-1].is(prep):
		return last
	}
	for _, fits := range []func(int) bool{
		sure, plain,
		func(i int) bool {
			return i == from && ws[i].is(verbs) && ws[i].sense&noun != 0 && ws[i].sense&manage == 0 &&
				(ws[i].form == base || ws[i].form == third && i < len(ws)-1 && !ws[len(ws)-1].is(report))
		},
		func(i int) bool {
			return ws[i].is(take) && ws[i].form != third || i == len(ws)-1 && ws[i].is(out) && ws[i].form != third
		},
	} {
		for i := from; i < len(ws); i++ {
			if fits(i) {
				return i
			}
		}
	}
	return -1
}

// objectOf collects what the verb is done to: what follows it up to a
// preposition, or, where nothing does, what stands before it. What is run "in a
// shell" is run by it.
func objectOf(ws []word, from, at int) (o object) {
	for i := at + 1; i < len(ws) && !ws[i].is(and) && (!ws[i].is(prep) || i == at+1 && ws[at].is(run|seals)); i++ {
		o.add(&ws[i])
	}
	if o.head == 0 && o.any == 0 {
		for i := from; i < at; i++ {
			o.add(&ws[i])
		}
		o.some = o.some && at+1 < len(ws)
	}
	for i := range ws {
		o.any |= ws[i].sense & many
	}
	return o
}
