package flow

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/flow/internal/folded"
	"github.com/fairlead-go/fairlead/flow/internal/reading"
)

const (
	maxPieces  = 4   // of which a value is put together
	minPiece   = 2   // letters of one
	minWords   = 6   // letters of the words of a name
	nearWords  = 120 // folded bytes in which they stand
	minNearly  = 8   // letters of a value in which one is changed
	minMeaning = 3
	maxSteps   = 256 // in which a value is cut into pieces, over all texts: a hostile one has many beginnings
)

// names notes the words of a name, of a path without its folders and ending, or of an address.
func (m *maker) names() {
	value := m.raw
	if m.kind == kindPath {
		value = path.Base(strings.ReplaceAll(value, `\`, "/"))
		value = strings.TrimSuffix(value, path.Ext(value))
	}
	if m.kind == kindID || m.kind == kindRepository || m.kind.leads() {
		return
	}
	if oneWord(value) {
		for _, word := range reading.Translations(value) {
			if len(word) >= minMeaning {
				m.meant = append(m.meant, folded.New(word, false).Norm)
			}
		}
		return
	}
	m.words = foldedWords(value)
	if letters(m.words) < minWords || len(m.words) < 2 || len(m.longest()) < minPart {
		m.words = nil
	}
}

// oneWord reports whether a value is letters in one case.
func oneWord(value string) bool {
	for i, r := range value {
		if !unicode.IsLetter(r) || i > 0 && unicode.IsUpper(r) {
			return false
		}
	}
	return true
}

// addressee notes the words of a mail address, or what a telephone number is in its country.
func (m *maker) addressee() {
	local, domain, mails := strings.Cut(m.raw, "@")
	if !mails {
		for code := 1; code <= 3 && strings.HasPrefix(m.raw, "+") && len(m.norm) > code+minInside; code++ {
			m.abroad = append(m.abroad, append([]byte("0"), m.norm[code:]...))
		}
		m.abroad = append(m.abroad, append([]byte("00"), m.norm...))
		return
	}
	m.domain, m.words = folded.New(domain, false).Norm, foldedWords(local)
}

func letters(words [][]byte) (n int) {
	for _, word := range words {
		n += len(word)
	}
	return n
}

// foldedWords returns the words of a name, also of one in camel case.
func foldedWords(value string) (words [][]byte) {
	var spaced strings.Builder
	last := ' '
	for _, r := range value {
		if unicode.IsUpper(r) && unicode.IsLower(last) || unicode.IsDigit(r) != unicode.IsDigit(last) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
		last = r
	}
	for word := range strings.FieldsFuncSeq(spaced.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if norm := folded.New(word, false).Norm; len(norm) > 0 {
			words = append(words, norm)
		}
	}
	return words
}

// textFrom returns from what a text makes a value other than a number or a date.
func (m *maker) textFrom(t *folded.Text, r *readings) (made, bool) {
	if len(m.norm) >= minPart {
		for _, said := range r.said {
			if bytes.Equal(said.norm, m.norm) || len(m.norm) >= minInside && bytes.Contains(said.norm, m.norm) {
				text := r.raw[said.At:said.End]
				return made{how: saidInWords, of: m.parts("", text), first: text}, true
			}
		}
	}
	for _, norm := range m.abroad {
		if at := t.Find(norm, true, 0); at >= 0 {
			return made{how: otherForm, of: m.parts("", t.Part(at, len(norm))), at: at, len: len(norm)}, true
		}
	}
	for _, norm := range m.meant {
		if at := t.Find(norm, true, 0); at >= 0 && t.Edge(at) && t.Edge(at+len(norm)) {
			return made{how: translated, of: m.parts("", t.Part(at, len(norm))), at: at, len: len(norm)}, true
		}
	}
	if m.kind.leads() || m.kind == kindPath {
		if got, ok := m.nearly(t); ok {
			return got, true
		}
		if pieces := m.pieces(t, m.norm, maxPieces); len(pieces) > 1 && len(m.norm) >= minSplit {
			return m.together(t, pieces), true
		}
	}
	return m.wordsFrom(t, r)
}

// together returns a value that was put together from pieces.
func (m *maker) together(t *folded.Text, pieces []int) made {
	got := made{how: inParts}
	var parts []string
	at := 0
	for _, n := range pieces {
		place := m.piece(t, m.norm[at:at+n])
		parts = append(parts, t.Part(place, n))
		if n > got.len {
			got.at, got.len = place, n
		}
		at += n
	}
	got.of = m.parts(" + ", parts...)
	return got
}

// piece returns where a text has a part of the value between two edges of words, -1 if nowhere.
func (m *maker) piece(t *folded.Text, norm []byte) int {
	at := t.Find(norm, true, 0)
	if at >= 0 && t.Edge(at) && t.Edge(at+len(norm)) {
		return at
	}
	return -1
}

// pieces returns the lengths of the parts of a value that a text has, nil if it has not all of it in so many.
func (m *maker) pieces(t *folded.Text, norm []byte, most int) []int {
	switch {
	case len(norm) == 0:
		return []int{}
	case most == 0:
		return nil
	}
	if m.steps++; m.steps > maxSteps {
		return nil
	}
	for n := min(len(norm), maxShown); n >= min(minPiece, len(norm)); n-- {
		if most == 1 && n < len(norm) {
			return nil
		}
		if m.piece(t, norm[:n]) < 0 {
			continue
		}
		if rest := m.pieces(t, norm[n:], most-1); rest != nil {
			return append([]int{n}, rest...)
		}
	}
	return nil
}

// nearly returns a word of a text from which the value differs in one character.
func (m *maker) nearly(t *folded.Text) (made, bool) {
	n := len(m.norm)
	if n < minNearly || n > maxObject {
		return made{}, false
	}
	half := n / 2
	for _, back := range []int{0, half} {
		piece := m.norm[back : back+half]
		for at, tries := t.Find(piece, false, 0), 0; at >= 0 && tries < folded.MaxTries; at, tries = t.Find(piece, false, at+1), tries+1 {
			for from := max(0, at-back-1); from <= at; from++ {
				for length := n - 1; length <= n+1; length++ {
					if to := from + length; to <= t.Own && t.Edge(from) && t.Edge(to) && oneOff(t.Norm[from:to], m.norm) {
						return made{how: corrected, of: m.parts("", t.Part(from, length)), at: from, len: length}, true
					}
				}
			}
		}
	}
	return made{}, false
}

// oneOff reports whether two texts differ in one byte that is changed, missing or added, or in two that changed places.
func oneOff(a, b []byte) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return bytes.Equal(a[i:], b[i+1:])
	}
	if i >= len(a)-1 || bytes.Equal(a[i+1:], b[i+1:]) {
		return i < len(a)
	}
	return a[i] == b[i+1] && a[i+1] == b[i] && bytes.Equal(a[i+2:], b[i+2:])
}

// wordsFrom returns the place of a text that has all words of the value, in any order and with others between them.
func (m *maker) wordsFrom(t *folded.Text, r *readings) (made, bool) {
	if len(m.words) == 0 {
		return made{}, false
	}
	if len(m.domain) > 0 && t.Find(m.domain, true, 0) < 0 {
		return made{}, false
	}
	longest := m.longest()
	if len(longest) < minPart {
		return made{}, false
	}
	anchor, initial := longest, byte(0)
	at := t.Word(anchor, 0)
	if at < 0 && len(m.domain) > 0 && len(longest) > minPart { // an initial before the name
		anchor, initial = longest[1:], longest[0]
		at = t.Word(anchor, 0)
	}
	for tries := 0; at >= 0 && tries < folded.MaxTries; at, tries = t.Word(anchor, at+1), tries+1 {
		from, to := max(0, at-nearWords), min(t.Own, at+len(anchor)+nearWords)
		ok := t.Edge(at + len(anchor))
		for _, word := range m.words {
			ok = ok && (bytes.Equal(word, longest) || near(t, word, from, to) || r.saidNear(word, t, at))
		}
		if ok && (initial == 0 || near(t, []byte{initial}, from, to)) {
			first, last := m.extent(t, at, len(anchor), from, to)
			return made{how: otherForm, of: m.parts("", t.Part(first, last-first)), at: first, len: last - first}, true
		}
	}
	return made{}, false
}

// near reports whether a word stands between two places: as a whole, or begins there with its one letter.
func near(t *folded.Text, word []byte, from, to int) bool {
	for at := t.Word(word, from); at >= 0 && at < to; at = t.Word(word, at+1) {
		if len(word) == 1 || t.Edge(at+len(word)) {
			return true
		}
	}
	return false
}

// saidNear reports whether the number of a name, such as that of a house, is said in words around a place of the text.
func (r *readings) saidNear(word []byte, t *folded.Text, at int) bool {
	n, err := strconv.Atoi(string(word))
	if err != nil {
		return false
	}
	raw := t.Place(at)
	return slices.ContainsFunc(r.numbers, func(number reading.Number) bool {
		return number.Said && number.Value == float64(n) && max(number.At-raw, raw-number.At) < nearWords
	})
}

// extent returns from where to where the words of the value stand, for a person.
func (m *maker) extent(t *folded.Text, at, n, from, to int) (first, last int) {
	first, last = at, at+n
	for _, word := range m.words {
		if p := t.Word(word, from); len(word) > 1 && p >= 0 && p < to {
			first, last = min(first, p), max(last, p+len(word))
		}
	}
	return first, last
}
