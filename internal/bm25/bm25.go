// Package bm25 ranks short documents against the words of a question by BM25F (Robertson and Zaragoza, "The
// Probabilistic Relevance Framework: BM25 and Beyond", 2009). An index is built once and then only read.
package bm25

import "math"

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

// A posting is a document that has a word, with its score.
type posting struct {
	doc   int32
	score float64
}

// An occurrence is how often one field of a document has a word.
type occurrence struct {
	doc   int32
	field int16
	count int16
}

// New returns the index of documents that have the given fields, in their order. The score of a word in a document is
// computed here, once:
//
//	tf    = Σ over the fields of weight · count / (1 − B + B · length / average length)
//	score = log(1 + (N − n + 0.5) / (n + 0.5)) · tf / (k1 + tf)
//
// with N documents, n of which have the word. The score of a question is the sum over its terms.
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
