package infer

import (
	"iter"
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
	cue   cue       // what it can mean in the name of a parameter
}

// means reports whether a word can have one of some senses, and all whether it can have each of them; is reports it of a
// word that is used, and not only mentioned.
func (w *word) means(s sense) bool { return w.sense.has(s) }

func (w *word) all(s sense) bool { return w.sense.hasAll(s) }

func (w *word) is(s sense) bool { return w.means(s) && w.flags&text.Opaque == 0 }

// holds reports whether the last word of an object is a place where an outcome stays: a file, a disk.
func (w *word) holds() bool { return w.means(storage) || w.may(location) }

func (w *word) entry() string {
	if w.sense == 0 {
		return ""
	}
	return w.base
}

// grave reports whether a word is a plain verb that takes away or sends.
func (w *word) grave() bool {
	return w.means(take|out|power) && !w.means(noun|either) && w.form == base
}

// first returns the first of some words that may mean s, "" if none does.
func first(ws []word, s sense) string {
	for i := range ws {
		if ws[i].is(s) {
			return ws[i].base
		}
	}
	return ""
}

// words are what is known of each written form. A word that is only known in the names of parameters has no sense.
var words = sync.OnceValue(func() map[string]word {
	all, cues := index(lexicon()), cuesOf()
	for written, w := range all {
		w.cue = cues[w.base]
		all[written] = w
	}
	for written, c := range cues {
		if all[written].sense == 0 {
			all[written] = word{base: written, cue: c}
		}
	}
	return all
})

func lookup(letters string) word {
	w := words()[letters]
	if w.sense == 0 {
		if verb := again(letters); verb.sense != 0 {
			return verb
		}
		w.base = letters
	}
	return w
}

// phrasal returns the verb that a word is with a particle, if the lexicon has the two as one: shut down.
func (w *word) phrasal(particle string) word {
	both := words()[w.base+particle]
	both.form = w.form
	return both
}

// An entry is one word of a group of the lexicon.
type entry struct {
	base  string
	group int
	sense sense
	forms map[string]form
}

func index(all []entry) map[string]word {
	out := make(map[string]word)
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

// formsOf returns every spelling of an entry with its form. Small words have no forms.
func formsOf(spellings []string, s sense) map[string]form {
	forms := make(map[string]form)
	for i, written := range spellings {
		switch {
		case strings.HasSuffix(written, "ise"), strings.HasSuffix(written, "yse"), i == 0:
			forms[written] = base
			if s&(verbs|involved) != 0 {
				forms[text.Inflect(written, "ed")] = past
				forms[text.Inflect(written, "ing")] = ing
			}
			if s&(verbs|involved|nouns) != 0 {
				forms[text.Inflect(written, "s")] = third
			}
		case strings.HasSuffix(written, "ing"):
			forms[written] = ing
		case strings.HasSuffix(written, "s"):
			forms[written] = third
		default:
			forms[written] = past
		}
	}
	return forms
}

const (
	// maxWords is how many words of a name are looked at.
	maxWords = 24
	// maxCompound is how many letters a word may have in which two are looked for.
	maxCompound = 12
	// longest is how many words and marks of a sentence are looked at together; the rest is another sentence.
	longest = 48
)

// cut returns the words of a name, with a verb and its particle as one: check_out, shut_down.
func cut(name string) []word { return cutInto(make([]word, 0, min(len(name), 8)), name) }

// cutInto appends the words of a name to ws.
func cutInto(ws []word, name string) []word {
	scan := text.Scanner{Text: name, Name: true}
	for t, ok := scan.Next(); ok && len(ws) < maxWords; t, ok = scan.Next() {
		if t.Mark != 0 {
			continue
		}
		w := lookup(t.Text)
		w.flags = t.Flag
		if last := len(ws) - 1; last >= 0 && w.is(particle) {
			if both := ws[last].phrasal(t.Text); both.is(verbs) {
				ws[last] = both
				continue
			}
		}
		if first, second, ok := compound(&w); ok {
			ws = append(ws, first, second)
			continue
		}
		ws = append(ws, w)
	}
	return ws
}

// again gives an unknown word that begins with re- or un- before a verb that writes the sense of a change: rerequest,
// unskip, reopens. A thing that is only looked at again is not changed.
func again(letters string) word {
	if len(letters) < 6 || letters[:2] != "re" && letters[:2] != "un" {
		return word{}
	}
	verb := words()[letters[2:]]
	switch {
	case len(verb.base) < 4:
	case verb.sense&(verbs|wire)&^(read|compute) != 0:
		return word{base: letters[:2] + verb.base, sense: change, form: verb.form}
	case verb.means(verbs) && !verb.means(noun) && letters[0] == 'r':
		return word{base: letters[:2] + verb.base, sense: read | either, form: verb.form}
	}
	return word{}
}

// compound cuts an unknown word in two words of the lexicon, one of which takes away or sends: bulkdelete.
func compound(w *word) (first, second word, ok bool) {
	if w.sense != 0 || len(w.base) > maxCompound || w.cue != 0 {
		return first, second, false
	}
	for at := len(w.base) - 3; at >= 3; at-- {
		first, second = lookup(w.base[:at]), lookup(w.base[at:])
		small := (first.sense|second.sense)&(particle|aux) != 0
		if first.sense != 0 && second.sense != 0 && !small && (first.grave() || second.grave()) {
			return first, second, true
		}
	}
	return first, second, false
}

// A parser cuts a text into sentences: runs of words and of marks between them.
type parser struct {
	scan  text.Scanner
	last  string // the letters of the last word
	words []word
}

// rooms are for the words of one sentence.
var rooms = sync.Pool{New: func() any { return new([longest]word) }}

// clauses returns the sentences of a text. The words of one are overwritten by the next.
func clauses(of string) iter.Seq[[]word] {
	return func(yield func([]word) bool) {
		room := rooms.Get().(*[longest]word)
		defer rooms.Put(room)
		p := parser{scan: text.Scanner{Text: of}, words: room[:0]}
		for p.next() && yield(p.words) {
		}
	}
}

// next reads the next sentence and reports whether there is one. The words of the one before are overwritten.
func (p *parser) next() bool {
	p.words = p.words[:0]
	for len(p.words) < longest {
		t, ok := p.scan.Next()
		switch {
		case !ok, t.Mark == text.End && len(p.words) > 0:
			return len(p.words) > 0
		case t.Mark == text.End:
		case t.Mark == 0:
			p.emit(t)
		case len(p.words) > 0:
			p.words = append(p.words, word{mark: t.Mark})
		}
	}
	return true
}

// emit appends a word, joined to the one before if the lexicon has the two as one: read-only, shut down.
func (p *parser) emit(t text.Token) {
	w := lookup(t.Text)
	w.flags = t.Flag
	if w.sense == 0 {
		w.flags |= text.Ending(t.Text)
	}
	if last := len(p.words) - 1; last >= 0 {
		both := word{}
		if w.means(particle) {
			both = p.words[last].phrasal(t.Text)
		}
		if t.Flag&text.Joined != 0 {
			both = lookup(p.last + t.Text)
		}
		if both.sense != 0 {
			p.words[last] = both
			return
		}
	}
	p.last = t.Text
	p.words = append(p.words, w)
}
