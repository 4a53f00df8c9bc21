package infer

// soft reports whether the verb that decided may leave something behind, as
// extracting and rendering do and getting does not.
func soft(v *verdict, r *reading, f finding) bool {
	verb := v.verb.sense
	if f.place == mainOfDescription {
		verb = r.verb
	}
	return verb&verbs != 0 && (verb&read == 0 || verb&(weak|noun|bends) != 0)
}

// outcome finds what says that the outcome stays: "reports are saved to a
// folder", ", persisted with a trail". It weighs where the verb is a soft one.
func (r *reading) outcome(ws []word) {
	for i := range ws {
		w := &ws[i]
		if w.is(not | subord) {
			return
		}
		if i == 0 || i+1 == len(ws) || !w.is(add) || w.form != past || !ws[i+1].is(prep|and) {
			continue
		}
		if before := &ws[i-1]; before.is(modal|and|aux) || before.mark == comma {
			r.stays = r.stays.worse(finding{adds, inDescription, w.base})
		}
	}
}

// goesInto finds what the outcome goes into, unless that is handed back: "into a
// folder", "to a file", not "into markdown". It weighs where the verb is a soft
// one.
func (r *reading) goesInto(ws []word) {
	for i := range ws {
		if ws[i].is(subord) {
			return
		}
		if ws[i].sense&prep == 0 {
			continue
		}
		if to := ws[i].base; to == "into" && objectIn(ws, i).any&artefact == 0 || to == "to" && holds(objectIn(ws, i).head) {
			r.stays = r.stays.worse(finding{adds, inDescription, ws[i].base})
		}
	}
}

// holds reports whether a thing is a place where an outcome stays: a file, a disk.
func holds(thing sense) bool { return thing&storage != 0 || thing&location == location }
