package infer

import "github.com/fairlead-go/fairlead/infer/internal/text"

// soft reports whether a verb may leave something behind, as extracting and
// rendering do and getting does not.
func soft(verb sense) bool {
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
		if before := &ws[i-1]; before.is(modal|and|aux) || before.mark == text.Comma {
			r.stays = r.stays.worse(finding{effect: adds, place: inDescription, word: w.base})
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
		if to := ws[i].base; to == "into" && objectIn(ws, i).any&artefact == 0 || to == "to" && holds(objectIn(ws, i).last) {
			r.stays = r.stays.worse(finding{effect: adds, place: inDescription, word: ws[i].base})
		}
	}
}

// holds reports whether the last word of an object is a place where an outcome
// stays: a file, a disk.
func holds(w *word) bool { return w != nil && (w.sense&storage != 0 || w.may(location)) }
