// Package bm25 ranks short documents against the words of a question by BM25F (Robertson and Zaragoza, "The
// Probabilistic Relevance Framework: BM25 and Beyond", 2009). An index is built once and then only read.
package bm25

import (
	"iter"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// k1 is the saturation of a term's frequency; the usual value.
const k1 = 1.2

// most is how often a word counts in one field of a document, so that repetition does not help.
const most = 4

// A Field is a part of every document.
type Field struct {
	// Weight is how much a word in it counts.
	Weight float64
	// B is how much a word counts less where the field is long, 0 to 1.
	B float64
}

// An Index holds documents, each known by its number, from 0. It is safe for concurrent use.
type Index struct {
	size     int
	postings map[string][]posting // by stem
}

type posting struct {
	doc   int32
	score float64
}

// New returns the index of documents that have the given fields, in their order.
func New(fields []Field, documents [][]string) *Index {
	found := make(map[string][]occurrence)       // by stem
	lengths := make([][]float64, len(documents)) // of each field
	total := make([]float64, len(fields))
	for doc, texts := range documents {
		lengths[doc] = make([]float64, len(fields))
		for field, text := range texts {
			for word := range Words(text) {
				stem := Stem(word)
				of := found[stem]
				if last := len(of) - 1; last >= 0 && of[last].doc == int32(doc) && of[last].field == int16(field) {
					of[last].count = min(of[last].count+1, most)
				} else {
					found[stem] = append(of, occurrence{int32(doc), int16(field), 1})
				}
				lengths[doc][field]++
			}
			total[field] += lengths[doc][field]
		}
	}
	size := float64(len(documents))
	x := &Index{size: len(documents), postings: make(map[string][]posting, len(found))}
	for stem, of := range found {
		var list []posting
		for _, o := range of {
			f, length := fields[o.field], lengths[o.doc][o.field]/(total[o.field]/size)
			if last := len(list) - 1; last < 0 || list[last].doc != o.doc {
				list = append(list, posting{doc: o.doc})
			}
			list[len(list)-1].score += f.Weight * float64(o.count) / (1 - f.B + f.B*length)
		}
		n := float64(len(list))
		rarity := math.Log(1 + (size-n+0.5)/(n+0.5))
		for i, p := range list {
			list[i].score = rarity * p.score / (k1 + p.score)
		}
		x.postings[stem] = list
	}
	return x
}

type occurrence struct {
	doc   int32
	field int16
	count int16
}

// Has reports whether a document has a word of this stem.
func (x *Index) Has(stem string) bool { return len(x.postings[stem]) > 0 }

// A Term is one thing that is asked for, by all its names. A document counts the best of them and not their sum.
type Term []Name

// A Name is a stem, and what it is worth as a name of the thing: 1 for what was said itself.
type Name struct {
	Stem   string
	Weight float64
}

// Scores returns the score of every document against all the terms, 0 where none is in it.
func (x *Index) Scores(terms []Term) []float64 {
	scores, best := make([]float64, x.size), make([]float64, x.size)
	for _, names := range terms {
		for _, name := range names {
			for _, p := range x.postings[name.Stem] {
				if s := p.score * name.Weight; s > best[p.doc] {
					scores[p.doc] += s - best[p.doc]
					best[p.doc] = s
				}
			}
		}
		for _, name := range names {
			for _, p := range x.postings[name.Stem] {
				best[p.doc] = 0
			}
		}
	}
	return scores
}

// Words yields the words of a text or identifier in lower case: its runs and the parts of each run, so that
// "GitHub" is found by "github" and "listIssues" by "issues".
func Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for run := range Runs(text) {
			for part := range Parts(run) {
				if len(part) < len(run) && !yield(part) {
					return
				}
			}
			if !yield(strings.ToLower(run)) {
				return
			}
		}
	}
}

// Runs yields the runs of letters and digits of a text.
func Runs(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(text, func(r rune) bool { return !wordy(r) })
}

func wordy(r rune) bool {
	if r < utf8.RuneSelf {
		return lower(byte(r)) || upper(byte(r)) || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// Parts yields the parts of a run in lower case, which end where camelCase or an acronym does; most have one.
func Parts(run string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		for i := 1; i < len(run); i++ {
			if seam(run, i) {
				if !yield(strings.ToLower(run[from:i])) {
					return
				}
				from = i
			}
		}
		yield(strings.ToLower(run[from:]))
	}
}

// seam reports whether a capital at i begins a part: after a small letter or a digit, or before a small letter
// that follows an acronym (HTTPServer), except a plural s (URLs).
func seam(run string, i int) bool {
	if !upper(run[i]) {
		return false
	}
	if !upper(run[i-1]) {
		return true
	}
	return i+1 < len(run) && lower(run[i+1]) && (run[i+1] != 's' || i+2 < len(run) && lower(run[i+2]))
}

func upper(c byte) bool { return 'A' <= c && c <= 'Z' }
func lower(c byte) bool { return 'a' <= c && c <= 'z' }

// Stem removes from a word in lower case the endings of inflection, and those that make a noun of a verb:
// deletes, deleted, deleting and deletion have one stem.
func Stem(word string) string {
	if len(word) < 4 || strings.ContainsAny(word, "0123456789") {
		return word
	}
	w := singular(word)
	switch {
	case strings.HasSuffix(w, "ied") && len(w) > 4:
		w = w[:len(w)-2]
	case ends(w, "ing", 3) && vowels(w[:len(w)-3]):
		w = undouble(w[:len(w)-3])
	case ends(w, "ed", 3) && !strings.HasSuffix(w, "eed") && vowels(w[:len(w)-2]):
		w = undouble(w[:len(w)-2])
	case ends(w, "tion", 2), ends(w, "sion", 3):
		w = w[:len(w)-3]
	case ends(w, "ment", 5):
		w = w[:len(w)-4]
	}
	if ends(w, "e", 3) {
		w = w[:len(w)-1]
	}
	if ends(w, "at", 5) { // migrate, migration; document, documentation
		w = w[:len(w)-2]
	}
	if strings.HasSuffix(w, "y") && len(w) > 3 {
		w = w[:len(w)-1] + "i"
	}
	return w
}

func ends(w, suffix string, n int) bool {
	return len(w) >= len(suffix)+n && strings.HasSuffix(w, suffix)
}

func singular(w string) string {
	switch {
	case w == "news", !strings.HasSuffix(w, "s"), strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case ends(w, "ies", 2):
		return w[:len(w)-2]
	case ends(w, "sses", 1), ends(w, "ches", 2), ends(w, "shes", 2), ends(w, "xes", 1), ends(w, "zzes", 1):
		return w[:len(w)-2]
	}
	return w[:len(w)-1]
}

// undouble undoes what an ending doubled: stopping, but not calling.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

func vowels(w string) bool { return strings.ContainsAny(w, "aeiouy") }
