package infer

// speaksAnother reports whether a sentence has more small words of other
// languages than of English.
func speaksAnother(ws []word) bool {
	balance := 0
	for i := range ws {
		if ws[i].is(foreign) {
			balance++
		}
		if ws[i].is(english) {
			balance--
		}
	}
	return balance > 0
}

// advice reports whether the verb at i only says when to use the tool: "call
// once", "call with each message".
func advice(ws []word, i int) bool {
	const call = run | weak | noun
	return ws[i].sense&call == call && (i+1 == len(ws) || ws[i+1].sense == 0 || ws[i+1].is(prep|subord|lead) && !ws[i+1].is(article))
}

// compound reports whether the word at i may be the first of two nouns: "pay
// stubs of an employee".
func (r *reading) compound(ws []word, i int) bool {
	if ws[i].form != base || ws[i].is(add|change) || i+2 >= len(ws) || ws[i+1].is(english) {
		return false
	}
	after := ws[i+2].base
	return after == "of" || after == "for"
}

// mainVerb returns the verb that a clause begins with, past the words that may
// stand before it ("this tool will", "use this to"), or -1.
func mainVerb(ws []word) int {
	for i := range ws {
		w := &ws[i]
		switch {
		case w.is(not):
			return -1
		case i == 0 && heads(ws):
			return mainVerbFrom(ws, 1)
		case i == 0 && prefixed(ws):
			return 1
		case isVerb(ws, i) && (i == 0 || !ws[i-1].is(article)) && !lends(ws, i):
			return i
		case w.is(lead|aux|warning) || w.flags&likeThis != 0 || w.mark == colon || w.mark == quote:
			continue
		}
		// A few words and a colon are a heading.
		for j := i + 1; j < min(len(ws), i+4); j++ {
			if ws[j].mark == colon {
				return mainVerbFrom(ws, j+1)
			}
		}
		return -1
	}
	return -1
}

// mainVerbFrom is mainVerb for the words from the one at i on.
func mainVerbFrom(ws []word, i int) int {
	if v := mainVerb(ws[i:]); v >= 0 {
		return i + v
	}
	return -1
}

// heads reports whether a sentence begins with a heading that may be a verb:
// "Note:", "Step 1:".
func heads(ws []word) bool {
	return ws[0].sense&noun != 0 && len(ws) > 2 && (ws[1].mark == colon || ws[1].flags&opaque != 0 && ws[2].mark == colon)
}

// unlabelled returns a sentence without the labels in brackets before it, "[Maps]
// Find a way", that say nothing grave.
func unlabelled(ws []word) []word {
	for i := range ws {
		w := &ws[i]
		if w.mark == unparen && i+1 < len(ws) {
			return unlabelled(ws[i+1:])
		}
		if i > 4 || w.mark == paren && i > 0 || w.is(take|out|power) {
			break
		}
	}
	return ws
}

// prefixed reports whether a sentence begins with a verb that has something in
// front: "deep-inspect", "bulk-delete".
func prefixed(ws []word) bool {
	return len(ws) > 1 && ws[1].flags&joined != 0 && !ws[0].is(verbs) && ws[1].is(verbs) && ws[1].form <= third && ws[1].sense&noun == 0
}

// lends reports whether the verb at i only introduces another: "allows you to",
// "helps to".
func lends(ws []word, i int) bool {
	return ws[i].is(lead) && i+1 < len(ws) && ws[i+1].is(lead) && !ws[i+1].is(article)
}

// isVerb reports whether the word at i is used as a verb where a verb can stand.
func isVerb(ws []word, i int) bool {
	w := &ws[i]
	if !w.is(verbs) || w.form == past || w.flags&joined != 0 {
		return false
	}
	if i+1 == len(ws) {
		return true
	}
	next := &ws[i+1]
	if next.flags&joined != 0 || next.is(modal) {
		return false // part of a compound, or a subject: "updates will …"
	}
	if w.sense&noun != 0 && next.flags&capital != 0 {
		return false // a name: "Event Manager"
	}
	if w.sense&noun != 0 && w.form == ing && next.is(prep) {
		return false // spending by month
	}
	return w.sense&noun == 0 || w.form != third || next.is(english) || i == 0 && w.sense&says != 0
}

// does reports whether a sentence begins with a word that is more likely the verb
// of the tool than some things: "copies pages to a disk", not "orders of a day".
func does(ws []word) bool {
	return len(ws) > 1 && ws[0].is(add|change|take|out) && ws[0].form == third &&
		ws[1].mark == 0 && ws[1].form != past && !ws[1].is(prep|and|report|read|modal)
}

// deed reports whether a plain verb that does not only read stands in a phrase.
func deed(ws []word) bool {
	for i := range ws {
		if ws[i].is(verbs&^(read|compute)) && ws[i].sense&noun == 0 && ws[i].form <= third {
			return true
		}
	}
	return false
}

// things reports whether a phrase begins with the name of some things, in few
// words up to a preposition or a mark: "Open hours of a shop", "Content types,
// fields". One unknown word that has no plural may be a verb.
func (r *reading) things(ws []word) bool {
	for i := range ws {
		w := &ws[i]
		if i == 4 || w.is(english) && !w.is(prep|and) {
			return false
		}
		if w.mark == 0 && !w.is(prep|and) {
			continue
		}
		if i == 0 || ws[0].sense == 0 && ws[0].flags&plural == 0 && movesTo(w.base) {
			return false
		}
		last := &ws[i-1]
		if i == 1 && last.sense&nouns == 0 && last.flags&plural == 0 {
			return w.mark == comma && r.things(ws[2:]) || w.is(and) && r.things(ws[2:]) || w.base == "of"
		}
		return last.flags&plural != 0 || last.is(nouns) && (i > 1 || last.sense&verbs == 0)
	}
	return false
}

// movesTo reports whether a preposition goes with a verb of giving, "lend a hand
// to", more often than with a noun.
func movesTo(preposition string) bool {
	return preposition == "to" || preposition == "into" || preposition == "onto" || preposition == "with"
}

// infinitive reports whether the word at i is a verb after "to".
func infinitive(ws []word, i int) bool {
	if !ws[i].is(verbs) || ws[i].form != base {
		return false
	}
	for i--; i > 0 && ws[i].flags&likeThis != 0; i-- {
	}
	return i >= 0 && ws[i].is(lead) && ws[i].is(prep)
}

// used reports whether the word at i is a verb here: a plain one, or one that
// may be a noun between "and" and an article or "it": "and charge the card".
func used(ws []word, i int, before string) bool {
	return ws[i].flags&capital == 0 && (ws[i].sense&noun == 0 || before == "and" && i+1 < len(ws) && ws[i+1].is(lead) && ws[i+1].is(english) && !ws[i+1].is(prep|modal|subord))
}

// loose reports whether the word at i has no object, so that after a verb that
// reads it is more likely a noun: "get targets, rules, and rollouts".
func loose(ws []word, i int) bool {
	return i+1 == len(ws) || ws[i+1].mark != 0 || ws[i+1].is(and|prep)
}

// objectIn collects the object of the verb at i of a sentence.
func objectIn(ws []word, i int) (o object) {
	for j := i + 1; j < len(ws); j++ {
		w := &ws[j]
		if w.mark != 0 && w.mark != slash || w.is(subord) || w.is(and) || w.is(prep) && j > i+1 {
			break
		}
		if !w.is(english) || w.is(many) {
			o.add(w)
		}
	}
	return o
}
