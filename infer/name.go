package infer

import "github.com/fairlead-go/fairlead/infer/internal/text"

// A verdict is what the name alone says.
type verdict struct {
	finding
	verb word // the head verb; none where its sense is 0
	head int  // its index, or -1
	firm bool // it stands on its own; else the description is asked first
	obj  object
	told bool    // the last word says that something is told: command_help
	odd  bool    // the first word is not in the lexicon
	only bool    // there is no other word
	last finding // what a grave verb at the end of the name does, which may be a noun
}

// judge finds the verb that speaks for the name and what it does, and whether
// another one makes it worse.
func judge(ws []word, from int) verdict {
	last := len(ws) - 1
	v := verdict{head: headVerb(ws, from), only: last == from, told: last >= 0 && ws[last].is(report)}
	v.odd = last >= 0 && ws[from].sense == 0
	if last > from && ws[from].is(modal) && ws[from].base != "will" && ws[from].base != "be" {
		v.finding, v.head, v.firm = finding{effect: reads, place: leadsName, word: ws[from].base}, from, true // can_cancel: a question
		return v
	}
	if v.head < 0 {
		if last > from && v.told && ws[last].flags&text.Folded == 0 {
			v.finding = finding{effect: reads, place: inName, word: ws[last].base} // printer_status: nothing is done
		}
		return v
	}
	v.verb = ws[v.head]
	v.obj = objectOf(ws, from, v.head)
	v.finding = v.verb.does(v.obj, inName)
	if v.head == from {
		v.place = leadsName
	}
	v.firm = v.stands(last)
	switch {
	case v.effect != reads:
	case v.verb.flags&text.Folded != 0, v.verb.sense&says != 0:
		v.firm, v.effect = false, unknown
	case v.verb.sense&(bends|seals) == bends|seals && v.head > from && v.obj.any&picture == 0:
		v.firm, v.effect = false, adds // notes_capture: of what, is not known
	}
	v.second(ws)
	return v
}

// stands reports whether the head verb stands on its own.
func (v *verdict) stands(last int) bool {
	s := v.verb.sense
	switch {
	case s&wire != 0 && v.effect == commands:
		return true
	case s&power != 0:
		return s&noun == 0 || v.head == last
	case s&(weak|noun) != 0, v.verb.form > third:
		return false
	case s&produce != 0 && v.effect == adds:
		return false // made of what, is not known
	case s&either != 0 && v.effect != reads:
		return v.head != last-1 || !v.told // a noun: deploy_status
	}
	return true
}

// second looks at the other verbs of the name.
func (v *verdict) second(ws []word) {
	for i := v.head + 1; i < len(ws); i++ {
		w := &ws[i]
		if !w.is(verbs) {
			continue
		}
		if v.verb.sense&supposes != 0 && w.is(verbs&^(read|compute)) && w.form == base {
			v.firm = false // preview_send: or things that are done in a preview
		}
		f := w.does(objectOf(ws, i, i), inName)
		switch {
		case v.with(ws, i, f):
			v.finding = v.worse(f)
		case v.looks() && i == len(ws)-1 && w.grave():
			v.last = f
		}
	}
}

// with reports whether the verb at i, which does f, is a deed beside the head verb.
func (v *verdict) with(ws []word, i int, f finding) bool {
	w := &ws[i]
	switch {
	case v.effect == reads && v.verb.sense&noun != 0 && w.form == base: // chat_post: two nouns that may be verbs
		return true
	case v.verb.sense&run != 0 && !v.told && w.grave(): // run_purge_job
		return true
	case v.effect.writes() && w.is(take) && w.sense&noun != 0: // request_deletion
		return true
	case !v.more(ws, i), w.sense&(produce|weak) == produce|weak:
		return false
	}
	return ws[i-1].is(and) || f.effect.dangerous() && v.verb.sense&supposes == 0
}

// more reports whether the verb at i is another one of the name: after "and",
// "or" or "then", or at the end, where no noun follows that it could describe.
// What stands behind a state word or before a noun is none: get_reset_token.
func (v *verdict) more(ws []word, i int) bool {
	w := &ws[i]
	if ws[i-1].is(and) {
		return w.form != past
	}
	return i == len(ws)-1 && w.imperative() && w.form == base && !v.looks()
}

// looks reports whether the verb is a plain one that only looks.
func (v *verdict) looks() bool {
	return v.effect == reads && v.verb.is(read) && v.verb.sense&(weak|noun|either) == 0
}

// A name is what the head verb is looked for in.
type naming struct {
	ws         []word
	from, last int
}

// verb reports whether the word at i can hardly be a noun.
func (n *naming) verb(i int) bool {
	w := &n.ws[i]
	return w.is(verbs) && w.sense&noun == 0 && (w.sense&agent == 0 || i == n.last)
}

// plain reports whether the word at i is a verb in the form that a name has.
func (n *naming) plain(i int) bool {
	if i < n.from || i > n.last || !n.verb(i) {
		return false
	}
	return n.ws[i].form == base || i == n.from && i < n.last && n.ws[i].form == third && n.ws[i].sense&either == 0
}

// sure is plain of a verb that is never a noun.
func (n *naming) sure(i int) bool {
	return n.plain(i) && n.ws[i].sense&either == 0 && n.ws[i].form == base
}

// object reports whether the plain verb at i is what a plainer one is done to. One
// that may be a noun gives way to the last word, survey_create, and one that says
// little to a plain one: screen_reload, reverse_geocode.
func (n *naming) object(i int) bool {
	s := n.ws[i].sense
	if s&weak != 0 && n.sure(i+1) && n.ws[i+1].sense&weak == 0 {
		return true
	}
	if s&(either|weak) == 0 || s&supposes != 0 || i >= n.last || !n.sure(n.last) {
		return false
	}
	return s&n.ws[n.last].sense&weak == 0 && !n.ws[n.last-1].is(prep)
}

// deed reports whether the noun at i may be the verb that leads the name.
func (n *naming) deed(i int) bool {
	w := &n.ws[i]
	if i != n.from || !w.is(verbs) || w.sense&noun == 0 || w.sense&manage != 0 {
		return false
	}
	return w.form == base || w.form == third && i < n.last && !n.ws[n.last].is(report)
}

// grave reports whether the noun at i names a deed that takes away or sends.
func (n *naming) grave(i int) bool {
	w := &n.ws[i]
	return w.form != third && (w.is(take) || i == n.last && w.is(out))
}

// manager reports whether the last word says that the tool does several things: ops,
// admin.
func (n *naming) manager(i int) bool {
	const manager = manage | noun
	return n.ws[i].sense&manager == manager && !n.ws[i-1].is(prep) && !n.sure(n.from) && !n.sure(n.from+1)
}

// headVerb returns the index of the verb that speaks for the name, or -1: the
// first word; else the one after a prefix or the last one; else any plain one;
// else one that may be a noun.
func headVerb(ws []word, from int) int {
	for from < len(ws)-1 && ws[from].is(many) && !ws[from].is(verbs) {
		from++
	}
	n := naming{ws, from, len(ws) - 1}
	last := n.last
	for last > from && ws[last].sense == 0 && ws[last].flags&text.Opaque != 0 {
		last--
	}
	switch {
	case last > from && n.manager(last):
		return last
	case n.plain(from) && !n.object(from):
		return from
	case n.plain(from+1) && ws[from+1].sense&supposes != 0, n.sure(from + 1):
		return from + 1
	case n.plain(last) && !ws[last-1].is(prep) && !n.copies(last):
		return last
	}
	for _, fits := range [...]func(*naming, int) bool{(*naming).sure, (*naming).plain, (*naming).deed, (*naming).grave} {
		for i := from; i <= n.last; i++ {
			if fits(&n, i) && !n.copies(i) {
				return i
			}
		}
	}
	return -1
}

// copies reports whether the last word names what the first one, a noun that may be
// a verb, makes another of: copy_snapshot, as against post_list.
func (n *naming) copies(i int) bool {
	return i == n.last && i > n.from && n.ws[i].is(bends) && n.deed(n.from)
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
		o.any |= ws[i].sense & (many | public)
	}
	return o
}
