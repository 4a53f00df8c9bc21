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
	b := builder{fields: fields, ids: make(map[string]int32), stems: make(map[string]int32), total: make([]float64, len(fields))}
	for doc, texts := range documents {
		b.add(int32(doc), texts)
	}
	return b.index(len(documents))
}

// An occurrence is how often a word stands in a field of a document.
type occurrence struct {
	doc   int32
	field int16
	count int16
}

type builder struct {
	fields      []Field
	ids         map[string]int32 // by stem
	stems       map[string]int32 // by word, since words come again and again
	occurrences [][]occurrence   // by id
	lengths     []int32          // of field f of document d at d*len(fields)+f
	total       []float64        // length of a field over all documents
}

func (b *builder) add(doc int32, texts []string) {
	for field, text := range texts {
		n := int32(0)
		for word := range Words(text) {
			b.count(b.id(word), doc, int16(field))
			n++
		}
		b.lengths = append(b.lengths, n)
		b.total[field] += float64(n)
	}
}

func (b *builder) id(word string) int32 {
	if id, ok := b.stems[word]; ok {
		return id
	}
	stem := Stem(word)
	id, ok := b.ids[stem]
	if !ok {
		id = int32(len(b.occurrences))
		b.ids[stem] = id
		b.occurrences = append(b.occurrences, nil)
	}
	b.stems[word] = id
	return id
}

func (b *builder) count(id, doc int32, field int16) {
	of := b.occurrences[id]
	if last := len(of) - 1; last >= 0 && of[last].doc == doc && of[last].field == field {
		of[last].count = min(of[last].count+1, most)
		return
	}
	b.occurrences[id] = append(of, occurrence{doc: doc, field: field, count: 1})
}

func (b *builder) index(size int) *Index {
	x := &Index{size: size, postings: make(map[string][]posting, len(b.ids))}
	for stem, id := range b.ids {
		x.postings[stem] = b.weigh(b.occurrences[id], size)
	}
	return x
}

// weigh turns the occurrences of one word, which stand in the order of the
// documents, into what it adds to the score of each.
func (b *builder) weigh(of []occurrence, size int) []posting {
	var list []posting
	for i := 0; i < len(of); {
		doc, weight := of[i].doc, 0.0
		for ; i < len(of) && of[i].doc == doc; i++ {
			f := b.fields[of[i].field]
			length := float64(b.lengths[int(doc)*len(b.fields)+int(of[i].field)]) / (b.total[of[i].field] / float64(size))
			weight += f.Weight * float64(of[i].count) / (1 - f.B + f.B*length)
		}
		list = append(list, posting{doc, float32(weight / (k1 + weight))})
	}
	rarity := math.Log(1 + (float64(size)-float64(len(list))+0.5)/(float64(len(list))+0.5))
	for i := range list {
		list[i].score *= float32(rarity)
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
