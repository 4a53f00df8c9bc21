package infer

import (
	"cmp"
	"strings"
	"sync"
)

// A form is how a word of the lexicon is written.
type form uint8

const (
	base  form = iota // delete
	third             // deletes; also a noun's plural
	past              // deleted
	ing               // deleting
)

// A flag is what stands around a word, or how it is written.
type flag uint8

const (
	joined   flag = 1 << iota // a hyphen binds it to the word before
	opaque                    // quoted, or part of an identifier: a mention and no use
	folded                    // written with look-alikes or accents: it may raise and never lower
	likeThis                  // ends in -ly
	capital                   // begins with a capital and goes on small: a name, unless it begins the sentence
	plural                    // an unknown word that ends in -s
	doing                     // an unknown word that ends in -ion, -ent or -ing, and may name a deed
)

// A word is one word of a name or of a sentence, or a mark between words.
type word struct {
	base  string // the entry of the lexicon that it is a form of, or the letters of an unknown word
	sense sense  // 0 for an unknown word and for a mark
	form  form
	flags flag
	mark  kind // 0 for a word
}

func (w *word) is(s sense) bool { return w.sense&s != 0 && w.flags&opaque == 0 }

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

// ending returns what the last letters tell of a word that the lexicon does not have.
func ending(text string) flag {
	switch {
	case strings.HasSuffix(text, "ly"):
		return likeThis
	case strings.HasSuffix(text, "ion"), strings.HasSuffix(text, "ent"), strings.HasSuffix(text, "ing"):
		return doing
	case strings.HasSuffix(text, "s") && !strings.HasSuffix(text, "ss"):
		return plural
	}
	return 0
}

// words holds the words of the lexicon in all their forms, by their letters.
var words = sync.OnceValue(func() map[string]word { return index(entries(lexicon)) })

// lookup returns the word of these letters. It has no sense if the lexicon does not
// have it.
func lookup(text string) word {
	w, ok := words()[text]
	if !ok {
		w.base = text
	}
	return w
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
		forms[inflect(verb, "s")] = third
		forms[inflect(verb, "ed")] = past
		forms[inflect(verb, "ing")] = ing
	}
	first := spellings[0]
	forms[first] = base
	if s&(verbs|involved) != 0 {
		conjugate(first)
	}
	if s&nouns != 0 {
		forms[inflect(first, "s")] = third
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

// inflect adds a regular ending: delete, deletes, deleted; copy, copies; stop,
// stopped; search, searches.
func inflect(verb, ending string) string {
	last := verb[len(verb)-1]
	switch {
	case last == 'y' && len(verb) > 1 && !vowel(verb[len(verb)-2]) && ending != "ing":
		return verb[:len(verb)-1] + "ie" + ending[len(ending)-1:]
	case ending == "s":
		if endsIn(verb, "s", "x", "sh", "ch", "z") {
			return verb + "es"
		}
		return verb + "s"
	case last == 'e' && ending == "ed":
		return verb + "d"
	case last == 'e' && ending == "ing" && !strings.HasSuffix(verb, "ee"):
		return verb[:len(verb)-1] + "ing"
	case doubles(verb):
		return verb + string(last) + ending
	}
	return verb + ending
}

// doubles reports whether the last letter is written twice: stop, drag, reset,
// submit; not open, visit, show.
func doubles(verb string) bool {
	n := len(verb)
	if n < 3 || strings.IndexByte("aeiouwxy", verb[n-1]) >= 0 || !vowel(verb[n-2]) || vowel(verb[n-3]) {
		return false
	}
	return !endsIn(verb, "er", "en", "el", "on", "or", "isit", "dit", "ain")
}

func endsIn(text string, endings ...string) bool {
	for _, e := range endings {
		if strings.HasSuffix(text, e) {
			return true
		}
	}
	return false
}

func vowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }
