package infer

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// An Entry is one word of one group of the lexicon.
type Entry struct {
	Group int
	Word  string
}

// Entries lists the lexicon.
func Entries() []Entry {
	var out []Entry
	for _, e := range lexicon() {
		out = append(out, Entry{e.group, e.base})
	}
	return out
}

// WithoutEach calls f once for each entry of the lexicon, while the lexicon does
// not have it. Nothing else may infer at the same time.
func WithoutEach(f func(gone Entry)) {
	all, lexed := words(), lexicon()
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
			w := index(left)[written]
			w.cue = cuesOf()[cmp.Or(w.base, written)]
			all[written] = w
		}
		f(Entry{gone.group, gone.base})
		maps.Copy(all, kept)
	}
}

// WithoutEachCue is WithoutEach for the names of parameters.
func WithoutEachCue(f func(gone Entry)) {
	all := words()
	for i, p := range cueWords {
		for word := range strings.FieldsSeq(p.words) {
			kept := maps.Clone(all)
			for written, w := range all {
				if w.base == word {
					w.cue &^= p.cue
					all[written] = w
				}
			}
			f(Entry{i, word})
			maps.Copy(all, kept)
		}
	}
}

// RuleNames lists the rules in the order of their application.
func RuleNames() (names []string) {
	for _, r := range slices.Concat(deeds, raises, doubts) {
		names = append(names, r.name)
	}
	for _, r := range powers {
		if !slices.Contains(names, r.name) {
			names = append(names, r.name)
		}
	}
	return names
}

// WithoutRule calls f while the rule finds nothing. Nothing else may infer at the
// same time.
func WithoutRule(name string, f func()) {
	for _, rules := range [][]rule{deeds, raises, doubts} {
		for i := range rules {
			if r := &rules[i]; r.name == name {
				find := r.find
				r.find = func(*tool) finding { return finding{} }
				defer func() { r.find = find }()
			}
		}
	}
	for i := range powers {
		if r := &powers[i]; r.name == name {
			counts := r.counts
			r.counts = func(*tool, *parameter) bool { return false }
			defer func() { r.counts = counts }()
		}
	}
	f()
}

// Base returns the entry that a written form belongs to, "" for none.
func Base(written string) string { w := lookup(written); return w.entry() }
