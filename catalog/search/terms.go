package search

import (
	_ "embed" // for words.txt
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/internal/bm25"
)

//go:embed words.txt
var wordLists string

// vocabulary is words.txt in the form that is used.
type vocabulary struct {
	idle map[string]bool     // by word
	same map[string][]string // stems by stem
}

var words = sync.OnceValue(func() vocabulary {
	v := vocabulary{idle: make(map[string]bool), same: make(map[string][]string)}
	for line := range strings.Lines(wordLists) {
		group := strings.Fields(line)
		switch {
		case len(group) == 0 || group[0] == "#":
		case group[0] == "idle:":
			for _, word := range group[1:] {
				v.idle[word] = true
			}
		default:
			for i := range group {
				group[i] = bm25.Stem(group[i])
			}
			for _, stem := range group {
				v.same[stem] = append(v.same[stem], group...)
			}
		}
	}
	return v
})

// synonymWeight is what a synonym is worth beside the word itself.
const synonymWeight = 0.6

// terms returns the words of a text and their synonyms, without idle words unless there are no others.
func terms(x *bm25.Index, text string) []bm25.Term {
	var all, telling []bm25.Term
	seen := make(map[string]bool)
	for _, word := range spoken(x, kinds(text)) {
		stem := bm25.Stem(word)
		if seen[stem] {
			continue
		}
		seen[stem] = true
		term := bm25.Term{{Stem: stem, Weight: 1}}
		for _, other := range words().same[stem] {
			term = append(term, bm25.Name{Stem: other, Weight: synonymWeight})
		}
		all = append(all, term)
		if !words().idle[word] {
			telling = append(telling, term)
		}
	}
	if len(telling) == 0 {
		return all
	}
	return telling
}

// spoken returns the words of a question, and the parts of those in camelCase that no tool has as one word.
func spoken(x *bm25.Index, text string) (all []string) {
	for run := range bm25.Runs(text) {
		word := strings.ToLower(run)
		if all = append(all, word); !x.Has(bm25.Stem(word)) {
			all = slices.AppendSeq(all, bm25.Parts(run))
		}
	}
	return all
}

// kinds replaces an address by its kind: a URL, an email address, a path.
func kinds(text string) string {
	if !strings.ContainsAny(text, "/@") {
		return text
	}
	var b strings.Builder
	for token := range strings.FieldsSeq(text) {
		scheme, _, isURL := strings.Cut(token, "://")
		switch at := strings.IndexByte(token, '@'); {
		case isURL:
			token = scheme + " url"
		case at > 0 && strings.IndexByte(token[at:], '.') > 1:
			token = "email"
		case strings.HasPrefix(token, "/") && len(token) > 1, strings.HasPrefix(token, "./"), strings.HasPrefix(token, "~/"):
			token = "path"
		}
		b.WriteString(token)
		b.WriteByte(' ')
	}
	return b.String()
}
