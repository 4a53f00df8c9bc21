package probes

import (
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/wordlist"
)

// Verb reads a text that chooses what a tool does, where the tool's schema does not list the choices: "delete",
// "issues.delete", "removeAll". It can only raise a class, so that it is Unknown for a text of which nothing is known.
//
// A plain verb that takes away, sends or carries out its argument makes the call dangerous wherever it is in the text. One
// that adds or changes makes it a write if the text begins with it. Words that are nouns as often as not say nothing:
// "email" may be how something is sent, or the kind of a notification.
func Verb(text string) (class annotation.Safety, why string) {
	if len(text) > maxProbed {
		return annotation.Dangerous, Plain(text)
	}
	words := nameWords(text)
	for i, word := range words {
		if verbOf(word, i == 0).grave {
			return annotation.Dangerous, "the word " + Shown(word)
		}
	}
	if len(words) > 0 && verbOf(words[0], true).writes {
		return annotation.Moderate, "the word " + Shown(words[0])
	}
	return annotation.Unknown, ""
}

// A verb is what is known of a word as one.
type verb struct{ grave, writes bool }

// verbOf looks a word up, also in the third person. A word that may be a noun is a verb where it leads the text.
func verbOf(word string, leads bool) (found verb) {
	senses := sensesOf()[word]
	if senses == nil {
		senses = sensesOf()[strings.TrimSuffix(word, "s")]
	}
	has := func(some ...string) bool {
		return slices.ContainsFunc(some, func(s string) bool { return slices.Contains(senses, s) })
	}
	if has("noun", "weak") || has("either") && !leads {
		return verb{}
	}
	return verb{grave: has("take", "out", "power"), writes: has("add", "change", "run", "produce")}
}

// sensesOf are the senses of each verb of the lexicon.
var sensesOf = sync.OnceValue(func() map[string][]string {
	all := make(map[string][]string)
	for _, g := range wordlist.Groups() {
		for _, word := range g.Words {
			for spelling := range strings.SplitSeq(word, "/") {
				all[spelling] = append(all[spelling], g.Senses...)
			}
		}
	}
	return all
})
