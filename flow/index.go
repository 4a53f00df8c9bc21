package flow

import "encoding/binary"

// The index of a group of texts: for each hash of four bytes, which of 64 texts have them.
const (
	gramLen     = 4
	minGramBits = 9
	maxGramBits = 15
)

// A group is up to 64 results and the index of their texts. For a value, candidates intersects the bits of all its
// grams: what is left are the few texts that can have it, and only these are searched. A hash that two grams share
// leaves a text too many and never one too few. The table grows with the texts: it has a slot for each two to four
// bytes of them, up to maxGramBits.
type group struct {
	results [64]*result
	used    uint64 // a bit for each result that is there
	next    int    // bit
	size    int    // of their folded texts
	bits    int    // of the hash
	grams   []uint64

	// The texts that were read, those with something said in words and with numbers, and by the day of a date.
	read, spells, counts uint64
	days                 map[string]uint64
}

func newGroup() *group { return &group{bits: minGramBits, grams: make([]uint64, 1<<minGramBits)} }

func (g *group) gram(b []byte) uint32 {
	return binary.LittleEndian.Uint32(b) * 2654435761 >> (32 - g.bits)
}

func (g *group) add(r *result) {
	bit := g.next
	g.next++
	g.results[bit], g.used = r, g.used|1<<bit
	g.size += len(r.text.Norm)
	if bits := g.bits; bits < maxGramBits && g.size > 4<<bits {
		for bits < maxGramBits && g.size > 2<<bits {
			bits++
		}
		g.bits, g.grams = bits, make([]uint64, 1<<bits)
		for bit, r := range g.results {
			if r != nil {
				g.index(r, bit)
			}
		}
		return
	}
	g.index(r, bit)
}

func (g *group) index(r *result, bit int) {
	norm, mark := r.text.Norm, uint64(1)<<bit
	for i := 0; i+gramLen <= len(norm); i++ {
		g.grams[g.gram(norm[i:])] |= mark
	}
}

// remove leaves the result's bit in the index: used has it no more, and no other result gets it.
func (g *group) remove(bit int) {
	g.size -= len(g.results[bit].text.Norm)
	g.results[bit], g.used = nil, g.used&^(1<<bit)
}

// candidates returns the bits of the results that may have a value.
func (g *group) candidates(value []byte) uint64 {
	all := g.used
	for i := 0; i+gramLen <= len(value) && all != 0; i++ {
		all &= g.grams[g.gram(value[i:])]
	}
	return all
}

// with returns the bits of the results that may have two of some stems, of gramLen bytes or more.
func (g *group) with(stems [][]byte) (two uint64) {
	one := uint64(0)
	for _, stem := range stems {
		all := g.candidates(stem)
		one, two = one|all, two|one&all
	}
	return two
}
