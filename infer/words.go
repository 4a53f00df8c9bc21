package infer

import (
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

// A flag is what the scanner saw around a word.
type flag uint8

const (
	joined   flag = 1 << iota // a hyphen binds it to the word before
	opaque                    // quoted, or part of an identifier: a mention and no use
	folded                    // written with look-alikes or accents: it may raise and never lower
	likeThis                  // ends in -ly
	capital                   // begins with a capital and goes on small: a name, where no sentence begins
	plural                    // an unknown word that ends in -s
	doing                     // an unknown word that ends in -ion, -ent or -ing, and may name a deed
)

// A word is one word of a name or of a sentence, or a mark between words.
type word struct {
	sense sense // 0 where the lexicon does not have it, and of a mark
	id    uint16
	form  form
	flags flag
	mark  byte // 0 for a word
}

func (w *word) is(s sense) bool { return w.sense&s != 0 && w.flags&opaque == 0 }

// takesParticle reports whether a word may be a verb that a particle follows; some
// are in the lexicon with their particle only.
func (w *word) takesParticle() bool { return w.mark == 0 && (w.id == 0 || w.sense&verbs != 0) }

// A spelling is a word in one number: its last twelve letters, five bits each,
// and its length. Two words of the lexicon never share one (a test sees to it).
type spelling uint64

const (
	letterBits = 5
	letters    = 60
	letterMask = 1<<letters - 1
)

// add appends one letter, 1 for a to 26 for z.
func (k spelling) add(letter byte) spelling { return k<<letterBits | spelling(letter) }

// sized completes the spelling of a word of n letters.
func (k spelling) sized(n int) spelling { return k&letterMask | spelling(n&15)<<letters }

// glue is the spelling of k with another word of n letters after it, both
// without their sizes.
func (k spelling) glue(after spelling, n int) spelling {
	if n >= letters/letterBits {
		return after
	}
	return k<<(letterBits*n) | after
}

// ending says what the last letters tell of a word that the lexicon does not
// have.
func (k spelling) ending() flag {
	switch k & (1<<(2*letterBits) - 1) {
	case 'l'&31<<letterBits | 'y'&31:
		return likeThis
	case 's'&31<<letterBits | 's'&31:
		return 0
	}
	switch k & (1<<(3*letterBits) - 1) {
	case 'i'&31<<(2*letterBits) | 'o'&31<<letterBits | 'n'&31,
		'e'&31<<(2*letterBits) | 'n'&31<<letterBits | 't'&31,
		'i'&31<<(2*letterBits) | 'n'&31<<letterBits | 'g'&31:
		return doing
	}
	if k&(1<<letterBits-1) == 's'&31 {
		return plural
	}
	return 0
}

func spell(s string) spelling {
	var k spelling
	for i := range len(s) {
		k = k.add(s[i] - 'a' + 1)
	}
	return k.sized(len(s))
}

const (
	tableBits = 14
	tableSize = 1 << tableBits
)

// A table finds words by their spellings, by open addressing. The spellings
// stand by themselves, so that a word that is not there costs one look at few
// bytes. Where several words want the same place the shortest gets it, since
// texts are made of short words, and the others follow in order: so a look for one
// that is not there ends at the first that would come after it.
type table struct {
	spellings [tableSize]spelling
	entries   [tableSize]word
	words     []string // by id; 0 is no word
	none      word
}

// free is the spelling of a place that is free, after those of all words.
const free spelling = 1<<64 - 1

// slot returns where a spelling is, or would be.
func (t *table) slot(k spelling) uint64 {
	i := uint64(k) * 0x9e3779b97f4a7c15 >> (64 - tableBits)
	for t.spellings[i] < k {
		i = (i + 1) % tableSize
	}
	return i
}

// find returns the word of a spelling; its id is 0 where there is none.
func (t *table) find(k spelling) *word {
	if i := t.slot(k); t.spellings[i] == k {
		return &t.entries[i]
	}
	return &t.none
}

// put returns the word of a spelling, which is new where there was none.
func (t *table) put(k spelling) *word {
	i := t.slot(k)
	at := &t.entries[i]
	for moved, w := k, (word{}); t.spellings[i] != moved; {
		t.spellings[i], moved = moved, t.spellings[i]
		t.entries[i], w = w, t.entries[i]
		if moved == free {
			break
		}
		for t.spellings[i] < moved {
			i = (i + 1) % tableSize
		}
	}
	return at
}

// phrasal finds a verb that is written in two words: shut down, checks out.
func (t *table) phrasal(verb spelling, verbLen int, particle spelling, n int) word {
	first, whole := t.find(verb.sized(verbLen)), verb.glue(particle, n)
	if first.id != 0 {
		root := t.words[first.id]
		whole, verbLen = spell(root).glue(particle, n), len(root)
	}
	both := *t.find(whole.sized(verbLen + n))
	both.form = first.form
	return both
}

// words is the table of the lexicon.
var words = sync.OnceValue(func() *table { return newTable(lexicon) })

func newTable(groups []group) *table {
	t := &table{words: []string{""}}
	for i := range t.spellings {
		t.spellings[i] = free
	}
	ids := make(map[string]uint16)
	for _, g := range groups {
		for entry := range strings.FieldsSeq(g.words) {
			spellings := strings.Split(entry, "/")
			id, ok := ids[spellings[0]]
			if !ok {
				id = uint16(len(t.words))
				ids[spellings[0]] = id
				t.words = append(t.words, spellings[0])
			}
			for written, f := range formsOf(spellings, g.sense) {
				w := t.put(spell(written))
				// A word of its own goes before a form that a rule made of another one.
				if w.id == 0 || f == base && w.form != base {
					*w = word{id: id, form: f}
				}
				if w.id == id {
					w.sense |= g.sense
				}
			}
		}
	}
	return t
}

// formsOf returns every spelling of an entry with its form. Small words and the
// like have no forms.
func formsOf(spellings []string, s sense) map[string]form {
	forms := map[string]form{spellings[0]: base}
	if s&(verbs|involved) != 0 {
		for _, written := range spellings[:1] {
			forms[inflect(written, "s")] = third
			forms[inflect(written, "ed")] = past
			forms[inflect(written, "ing")] = ing
		}
	}
	if s&nouns != 0 {
		forms[inflect(spellings[0], "s")] = third
	}
	for _, written := range spellings[1:] {
		switch {
		case strings.HasSuffix(written, "ing"):
			forms[written] = ing
		case strings.HasSuffix(written, "s"):
			forms[written] = third
		case strings.HasSuffix(written, "ise") || strings.HasSuffix(written, "yse"):
			// The British spelling has forms of its own.
			forms[written] = base
			forms[inflect(written, "s")] = third
			forms[inflect(written, "ed")] = past
			forms[inflect(written, "ing")] = ing
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
		if strings.HasSuffix(verb, "s") || strings.HasSuffix(verb, "x") || strings.HasSuffix(verb, "sh") || strings.HasSuffix(verb, "ch") || strings.HasSuffix(verb, "z") {
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
	if n < 3 || strings.ContainsRune("aeiouwxy", rune(verb[n-1])) || !vowel(verb[n-2]) || vowel(verb[n-3]) {
		return false
	}
	switch {
	case strings.HasSuffix(verb, "er"), strings.HasSuffix(verb, "en"), strings.HasSuffix(verb, "el"),
		strings.HasSuffix(verb, "on"), strings.HasSuffix(verb, "or"), strings.HasSuffix(verb, "isit"),
		strings.HasSuffix(verb, "dit"), strings.HasSuffix(verb, "ain"):
		return false
	}
	return true
}

func vowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }
