package infer

import (
	"cmp"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// A form is how a word of the lexicon is written.
type form uint8

const (
	base  form = iota // delete
	third             // deletes; also a noun's plural
	past              // deleted
	ing               // deleting
)

// A word is one word of a name or of a sentence, or a mark between words.
type word struct {
	base  string // the entry of the lexicon that it is a form of, or the letters of an unknown word
	sense sense  // 0 for an unknown word and for a mark
	form  form
	flags text.Flag
	mark  text.Kind // 0 for a word
}

func (w *word) is(s sense) bool { return w.sense&s != 0 && w.flags&text.Opaque == 0 }

// first returns the first of some words that may mean s, "" if none does.
func first(ws []word, s sense) string {
	for i := range ws {
		if ws[i].is(s) {
			return ws[i].base
		}
	}
	return ""
}

// entry returns the entry of the lexicon that the word is a form of, or nothing.
func (w *word) entry() string {
	if w.sense == 0 {
		return ""
	}
	return w.base
}

// takesParticle reports whether a word may be a verb that a particle follows. Some
// verbs are in the lexicon with their particle only.
func (w *word) takesParticle() bool { return w.mark == 0 && (w.sense == 0 || w.sense&verbs != 0) }

// imperative reports whether a word can only be a verb. Two of them make no
// compound: they are a brand, or something else that is no word of ours.
func (w *word) imperative() bool { return w.is(verbs) && w.sense&(noun|either|weak) == 0 }

func (w *word) grave() bool {
	return w.sense&(take|out|power) != 0 && w.sense&(noun|either) == 0 && w.form == base
}

// words holds the words of the lexicon in all their forms, by their letters.
var words = sync.OnceValue(func() map[string]word { return index(entries(lexicon)) })

// lookup returns the word of these letters. It has no sense if the lexicon does not
// have it.
func lookup(letters string) word {
	w, ok := words()[letters]
	if !ok {
		w.base = letters
	}
	return w
}

// cues holds the words of the names of parameters.
var cuesOf = sync.OnceValue(func() map[string]cue {
	m := make(map[string]cue)
	for _, p := range parameters {
		for w := range strings.FieldsSeq(p.words) {
			m[w] |= p.cue
		}
	}
	return m
})

// may reports whether a word of the name of a parameter can mean this.
func (w *word) may(c cue) bool {
	return w.flags&text.Opaque == 0 && w.form <= third && cuesOf()[w.base]&c != 0
}

// phrasal returns the verb that is written in two words: shut down, checks out.
// It is not a verb if the lexicon does not have the two as one.
func phrasal(verb, particle string) word {
	first := words()[verb]
	both := words()[cmp.Or(first.base, verb)+particle]
	both.form = first.form
	return both
}

// An entry is one word of one group of the lexicon.
type entry struct {
	base  string
	group int
	sense sense
	forms map[string]form
}

func entries(groups []group) []entry {
	var out []entry
	for i, g := range groups {
		for line := range strings.FieldsSeq(g.words) {
			spellings := strings.Split(line, "/")
			out = append(out, entry{spellings[0], i, g.sense, formsOf(spellings, g.sense)})
		}
	}
	return out
}

func index(all []entry) map[string]word {
	out := make(map[string]word, 4*len(all))
	for _, e := range all {
		for written, f := range e.forms {
			w := out[written]
			// A word of its own goes before a form that a rule made of another one.
			if w.base == "" || f == base && w.form != base {
				w = word{base: e.base, form: f}
			}
			if w.base == e.base {
				w.sense |= e.sense
			}
			out[written] = w
		}
	}
	return out
}

// formsOf returns every spelling of an entry with its form. Small words have no
// forms.
func formsOf(spellings []string, s sense) map[string]form {
	forms := make(map[string]form)
	conjugate := func(verb string) {
		forms[verb] = base
		forms[text.Inflect(verb, "s")] = third
		forms[text.Inflect(verb, "ed")] = past
		forms[text.Inflect(verb, "ing")] = ing
	}
	first := spellings[0]
	forms[first] = base
	if s&(verbs|involved) != 0 {
		conjugate(first)
	}
	if s&nouns != 0 {
		forms[text.Inflect(first, "s")] = third
	}
	for _, written := range spellings[1:] {
		switch {
		case strings.HasSuffix(written, "ing"):
			forms[written] = ing
		case strings.HasSuffix(written, "s"):
			forms[written] = third
		case strings.HasSuffix(written, "ise"), strings.HasSuffix(written, "yse"):
			conjugate(written) // the British spelling has forms of its own
		default:
			forms[written] = past
		}
	}
	return forms
}
