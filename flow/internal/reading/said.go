package reading

import (
	"strings"
)

// A Part is what a part of a text spells out.
type Part struct {
	Text    string
	At, End int // in the text
}

// The least that counts as spelled out, in characters, and how many parts of a text are read.
const (
	minSaid  = 4
	maxParts = 256
)

// A speller reads characters that follow each other, each as a letter, a digit or the word for one, with the names of
// marks between them. A word beside such a name stands for itself: "ann at example dot org".
type speller struct {
	parts   []Part
	all     strings.Builder // each as what it stands for
	plain   strings.Builder // words that stand for letters as they are, as in an address
	at, end int
	said    int // characters
	named   int // marks
	before  *token
	again   int // how often the next one is said
}

// Said returns what the text spells out.
func (t Text) Said() []Part {
	s := speller{again: 1}
	for i := range t.tokens {
		if len(s.parts) >= maxParts {
			break
		}
		s.take(t.Raw, t.tokens, i)
	}
	s.close()
	return s.parts
}

func (s *speller) take(raw string, all []token, i int) {
	t := &all[i]
	w := words()
	if t.sort == '.' {
		if t.text == "." && (t.end == len(raw) || strings.ContainsAny(raw[t.end:t.end+1], " \n")) && s.before != nil || t.text == ";" {
			s.close() // the sentence ends
		} else if strings.ContainsAny(t.text, "@./_-:+") && s.all.Len() > 0 {
			s.all.WriteString(t.text)
			s.plain.WriteString(t.text)
		}
		return
	}
	switch t.text {
	case "double", "doppel":
		s.again = 2
		return
	case "triple":
		s.again = 3
		return
	}
	if s.all.Len() > 0 && filler(all, i) {
		return
	}
	char, word := "", t.text
	if mark, ok := w.first("mark", t.text); ok {
		if s.all.Len() > 0 || mark == "+" {
			s.write(t, mark, mark)
			s.named++
		}
		return
	}
	switch {
	case t.sort == '0', len([]rune(t.text)) == 1:
		char = t.text
	default:
		if digit, ok := w.first("digit", t.text); ok {
			char, word = digit, digit
		} else if number, ok := w.first("number", t.text); ok {
			char = tens(number, all, i)
			word = char
		} else if letter, ok := w.first("letter", t.text); ok {
			char = letter
		} else if t.text == "x" && i+2 < len(all) {
			char = "x"
		}
	}
	switch {
	case char != "":
		s.write(t, strings.Repeat(char, s.again), strings.Repeat(word, s.again))
		s.said++
	case s.beside(all, i):
		s.write(t, t.text, t.text)
	default:
		s.close()
	}
	s.again = 1
}

// filler reports whether a word between two characters stands for none: "four, then five", "at the domain example", or the
// article in "nine, a dot".
func filler(all []token, i int) bool {
	w := words()
	if _, ok := w.first("filler", all[i].text); ok {
		return true
	}
	if all[i].text != "a" || i+1 == len(all) || all[i-1].text != "," {
		return false
	}
	_, ok := w.first("mark", all[i+1].text)
	return ok
}

// tens returns the digits of a number that a word stands for, without the zero of "twenty" if a digit follows.
func tens(number string, all []token, i int) string {
	if strings.HasSuffix(number, "0") && number != "10" {
		for _, next := range all[i+1 : min(len(all), i+3)] {
			if digit, ok := words().first("digit", next.text); ok && digit != "0" {
				return number[:1]
			}
			if next.text != "-" {
				break
			}
		}
	}
	return number
}

// beside reports whether the name of a mark, or a mark, is next to a word.
func (s *speller) beside(all []token, i int) bool {
	near := func(step int) bool {
		for j, most := i+step, 3; j >= 0 && j < len(all) && most > 1; j, most = j+step, most-1 {
			if j > 0 && filler(all, j) {
				most++
				continue
			}
			if all[j].sort != '.' {
				mark, ok := words().first("mark", all[j].text)
				return ok && (mark != "+" || step < 0)
			}
			if strings.ContainsAny(all[j].text, "@/") {
				return true
			}
		}
		return false
	}
	return near(1) || near(-1)
}

func (s *speller) write(t *token, all, plain string) {
	if s.all.Len() == 0 {
		s.at = t.at
	}
	s.all.WriteString(all)
	s.plain.WriteString(plain)
	s.end, s.before = t.end, t
}

func (s *speller) close() {
	if s.said >= minSaid || s.named > 0 && s.all.Len() > minSaid {
		all, plain := s.all.String(), s.plain.String()
		s.parts = append(s.parts, Part{all, s.at, s.end})
		if plain != all {
			s.parts = append(s.parts, Part{plain, s.at, s.end})
		}
	}
	s.all.Reset()
	s.plain.Reset()
	s.said, s.named, s.before = 0, 0, nil
}
