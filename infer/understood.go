package infer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/infer/internal/text"
)

// doubts are the rules for what is not understood. They count if what was found before only reads.
var doubts = []rule{
	{"another language", func(t *tool) finding {
		return notKnown(t.said.odd).when(t.said.strange && t.said.abroad.main.effect == unknown)
	}},
	{"a noun alone", func(t *tool) finding {
		is := t.name.verb.means(noun)
		return finding{place: mayBeAThing, word: t.so.word}.when(is && t.said.told && t.said.main.effect == unknown)
	}},
	{"the description manages", func(t *tool) finding {
		return finding{place: mainOfDescription, word: t.said.main.word}.when(t.said.verb.has(manage) && !t.params.choose)
	}},
	{"an unknown deed is simulated", func(t *tool) finding {
		const simulate = compute | bends
		return finding{place: simulatesUnknown, word: t.so.word}.when(t.so.place == mainOfDescription && t.said.verb.hasAll(simulate))
	}},
	{"a phrase beside a body or a method", func(t *tool) finding {
		return finding{place: inSchema, word: t.params.carries}.when(t.so.place == saysNoDeed && t.params.carries != "")
	}},
}

// notKnown is the finding that a word is not understood, "" for none in particular.
func notKnown(word string) finding {
	if word == "" {
		return finding{place: notUnderstood}
	}
	return finding{place: isNotUnderstood, word: word}
}

// unread is the finding for a tool that is not understood at all: the words of its name that are not known, or else the
// name, which has no verb.
func (t *tool) unread() finding {
	if !isASCII(t.said.name) {
		return notKnown(oddWord(t.said.name))
	}
	var unknown []string
	for i := range t.words {
		if w := &t.words[i]; w.sense == 0 {
			unknown = append(unknown, w.base)
		}
	}
	if len(unknown) > 0 {
		return notKnown(strings.Join(unknown, " "))
	}
	return finding{place: namesNoDeed, word: t.said.name}
}

// oddWord returns the first word of a text in letters that are not Latin, or else the first long one.
func oddWord(s string) string {
	const most = 12 // letters, of a script without spaces
	begins, n := -1, 0
	for i, r := range s {
		foreign := r >= utf8.RuneSelf && unicode.IsLetter(r)
		switch {
		case foreign && begins < 0:
			begins, n = i, 1
		case foreign && n < most:
			n++
		case begins >= 0:
			return s[begins:i]
		}
	}
	if begins >= 0 {
		return s[begins:]
	}
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if known := lookup(strings.ToLower(w)); len(w) > 3 && known.sense == 0 {
			return w
		}
	}
	return ""
}

// soft reports whether the verb that decided may leave something behind, as rendering does and getting does not.
func (t *tool) soft() bool {
	verb := t.name.verb.sense
	if t.so.place == mainOfDescription {
		verb = t.said.verb
	}
	return verb&read == 0 || verb&(weak|noun|bends) != 0
}

// understand reads what is in another language, from the first sentence on that states something. Its English words lower
// nothing.
func (r *reading) understand(whole, description string) {
	if !r.strange && isASCII(whole) {
		return
	}
	sentence, _ := firstSentence(untagged(description))
	if r.strange = r.strange || scriptOf(unglossed(sentence)) != ""; !r.strange {
		return
	}
	r.abroad = translate(description)
	if r.abroad.main.effect == unknown {
		r.odd = oddWord(sentence)
	}
	if !r.main.effect.writes() || r.abroad.main.effect != unknown {
		r.main, r.verb, r.plain, r.unread, r.listed = finding{}, 0, false, "", finding{}
	}
}

// another reports whether a sentence is in another language: it has more small words of others than of English,
// or none of English and few known words. Three words may be, unless one is of the tool's name.
func (r *reading) another(ws []word, odd bool) bool {
	count := func(holds func(*word) bool) (n int) {
		for i := range ws {
			if holds(&ws[i]) {
				n++
			}
		}
		return n
	}
	all, known := count(func(w *word) bool { return w.mark == 0 }), count(func(w *word) bool { return w.sense&^foreign != 0 })
	small, englishes := count(func(w *word) bool { return w.is(foreign) }), count(func(w *word) bool { return w.is(english) })
	odd = odd && strayed(ws)
	few := r.main.effect == unknown && all > 2 && 4*known <= all
	verb := len(ws[0].base) > 3 && ws[0].sense == 0 && ws[0].flags&text.Plural == 0
	brief := verb && len(ws) < 4 && all == len(ws) && 2*known <= all
	return small > englishes || englishes == 0 && (odd || few || brief && !r.named(ws))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// unglossed returns a sentence without what is in brackets, unless nothing is left.
func unglossed(sentence string) string {
	var b strings.Builder
	depth := 0
	for _, r := range sentence {
		switch {
		case r == '(' || r == '（':
			depth++
		case r == ')' || r == '）':
			depth--
		case depth <= 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// strayed reports whether a word outside of brackets is in another script; one in brackets is a gloss.
func strayed(ws []word) bool {
	depth := 0
	for i := range ws {
		switch w := &ws[i]; {
		case w.mark == text.Paren:
			depth++
		case w.mark == text.Unparen:
			depth = max(depth-1, 0)
		case w.flags&text.Folded != 0 && depth <= 0:
			return true
		}
	}
	return false
}

func (r *reading) named(ws []word) bool {
	name, _ := text.Letters(r.name)
	return slices.ContainsFunc(ws, func(w word) bool { return len(w.base) > 2 && strings.Contains(name, w.base) })
}
