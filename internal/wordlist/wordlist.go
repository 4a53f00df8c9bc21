// Package wordlist has what is known of words, by sense. Package infer reads definitions of tools with it, and the probe of a
// text that chooses what a tool does reads such texts.
package wordlist

import (
	_ "embed" // for the list
	"strings"
)

//go:embed lexicon.txt
var text string

// A Group is words that have the same senses.
type Group struct {
	Senses []string
	Words  []string // each with its further forms behind it: write/wrote/written
}

// Groups returns the groups of lexicon.txt, which explains its form. A word that is in several groups has all their senses.
func Groups() (all []Group) {
	for line := range strings.Lines(text) {
		words := line
		if !strings.HasPrefix(line, "\t") {
			names, rest, ok := strings.Cut(line, ":")
			if !ok || strings.HasPrefix(line, "#") {
				continue
			}
			all, words = append(all, Group{Senses: strings.Fields(names)}), rest
		}
		if len(all) > 0 {
			g := &all[len(all)-1]
			g.Words = append(g.Words, strings.Fields(words)...)
		}
	}
	return all
}
