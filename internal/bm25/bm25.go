// Package bm25 ranks short documents against the words of a question.
//
// The measure is BM25F (Robertson and Zaragoza, "The Probabilistic Relevance
// Framework: BM25 and Beyond", 2009). An index is built once and then only read.
// The libraries that do the same are search engines with storage of their own and
// dozens of modules behind them; a catalogue of tools fits in memory.
package bm25

import "math"

// k1 says how soon more of the same word stops to count; the usual value.
const k1 = 1.2

// most is how often a word counts in one field of a document at most, so that who
// repeats a word is not found first by it.
const most = 4

// A Field is a part of every document.
type Field struct {
	// Weight is how much a word in it counts.
	Weight float64
	// B is how much a word counts less where the field is long, 0 to 1.
	B float64
}

// An Index holds documents, each known by its number, from 0. It is safe for
// concurrent use.
type Index struct {
	size     int
	postings map[string][]posting // by stem
}

// A posting is what one word adds to the score of one document.
type posting struct {
	doc   int32
	score float32
}

// New returns the index of documents that have the given fields, in their order.
func New(fields []Field, documents [][]string) *Index {
	b := builder{
		fields: fields, size: float64(len(documents)), stems: make(map[string]string), found: make(map[string][]occurrence),
		lengths: make([]float64, len(fields)*len(documents)), total: make([]float64, len(fields)),
	}
	for doc, texts := range documents {
		for field, text := range texts {
			length := &b.lengths[doc*len(fields)+field]
			for word := range Words(text) {
				b.count(word, occurrence{doc: int32(doc), field: int16(field), count: 1})
				*length++
			}
			b.total[field] += *length
		}
	}
	x := &Index{size: len(documents), postings: make(map[string][]posting, len(b.found))}
	for stem, of := range b.found {
		x.postings[stem] = b.weigh(of)
	}
	return x
}

// An occurrence is how often a word stands in a field of a document.
type occurrence struct {
	doc   int32
	field int16
	count int16
}

type builder struct {
	fields  []Field
	size    float64                 // how many documents there are
	stems   map[string]string       // by word, since words come again and again
	found   map[string][]occurrence // by stem
	lengths []float64               // of field f of document d at d*len(fields)+f
	total   []float64               // length of a field over all documents
}

func (b *builder) count(word string, one occurrence) {
	stem, ok := b.stems[word]
	if !ok {
		stem = Stem(word)
		b.stems[word] = stem
	}
	of := b.found[stem]
	if last := len(of) - 1; last >= 0 && of[last].doc == one.doc && of[last].field == one.field {
		of[last].count = min(of[last].count+1, most)
		return
	}
	b.found[stem] = append(of, one)
}

// weigh turns the occurrences of one word, which stand in the order of the documents, into what it
// adds to the score of each.
func (b *builder) weigh(of []occurrence) []posting {
	var list []posting
	for i := 0; i < len(of); {
		doc, weight := of[i].doc, 0.0
		for ; i < len(of) && of[i].doc == doc; i++ {
			f := b.fields[of[i].field]
			length := b.lengths[int(doc)*len(b.fields)+int(of[i].field)] / (b.total[of[i].field] / b.size)
			weight += f.Weight * float64(of[i].count) / (1 - f.B + f.B*length)
		}
		list = append(list, posting{doc, float32(weight / (k1 + weight))})
	}
	n := float64(len(list))
	rarity := float32(math.Log(1 + (b.size-n+0.5)/(n+0.5)))
	for i := range list {
		list[i].score *= rarity
	}
	return list
}

// Has reports whether a document has a word of this stem.
func (x *Index) Has(stem string) bool { return len(x.postings[stem]) > 0 }

// A Term is one thing that is asked for, by all its names. A document counts the
// best of them and not their sum.
type Term []Name

// A Name is a stem, and what it is worth as a name of the thing: 1 for what was
// said itself.
type Name struct {
	Stem   string
	Weight float32
}

// Scores returns the score of every document against all the terms, 0 where none
// is in it.
func (x *Index) Scores(terms []Term) []float32 {
	scores, best := make([]float32, x.size), make([]float32, x.size)
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
