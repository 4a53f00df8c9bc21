package infer

import (
	"maps"
	"slices"
)

// An Entry is one word of one group of the lexicon.
type Entry struct {
	Group int
	Word  string
}

// Entries lists the lexicon.
func Entries() []Entry {
	var out []Entry
	for _, e := range entries(lexicon) {
		out = append(out, Entry{e.group, e.base})
	}
	return out
}

// WithoutEach calls f once for each entry of the lexicon, while the lexicon does
// not have it. Nothing else may infer at the same time.
func WithoutEach(f func(gone Entry)) {
	all, lexed := words(), entries(lexicon)
	sharing := make(map[string][]entry) // the entries that have a form of these letters
	for _, e := range lexed {
		for written := range e.forms {
			sharing[written] = append(sharing[written], e)
		}
	}
	for _, gone := range lexed {
		kept := make(map[string]word)
		for written := range gone.forms {
			kept[written] = all[written]
			left := slices.DeleteFunc(slices.Clone(sharing[written]), func(e entry) bool {
				return e.group == gone.group && e.base == gone.base
			})
			all[written] = index(left)[written]
		}
		f(Entry{gone.group, gone.base})
		maps.Copy(all, kept)
	}
}

// Base returns the entry that a written form belongs to, "" for none.
func Base(written string) string { w := lookup(written); return w.entry() }
