package search

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/bm25"
)

// synonymWeight is what a synonym is worth beside the word itself.
const synonymWeight = 0.6

// terms returns what a text asks the index for: its words, what else they are called, and how the
// tools write them. Words that carry no meaning of their own are left out, unless there are no others.
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

// spoken returns the words of a question. Where the tools know a word in one piece
// and the question has it in two (web page), or the other way round, it is
// returned as the tools know it, too.
func spoken(x *bm25.Index, text string) (all []string) {
	before := ""
	for run := range bm25.Runs(text) {
		word := strings.ToLower(run)
		if all = append(all, word); !knows(x, word) {
			all = append(all, split(x, run)...)
		}
		if joined := before + word; before != "" && x.Has(bm25.Stem(joined)) {
			all = append(all, joined)
		}
		before = word
	}
	return all
}

// knows reports whether a word, or what else it is called, stands in any tool.
func knows(x *bm25.Index, word string) bool {
	stem := bm25.Stem(word)
	return x.Has(stem) || slices.ContainsFunc(words().same[stem], x.Has)
}

// split returns the parts of a word that no tool has: those of camelCase, or else
// the two halves that the tools do have.
func split(x *bm25.Index, run string) []string {
	if parts := slices.Collect(bm25.Parts(run)); len(parts) > 1 {
		return parts
	}
	const least, most = 3, 32
	word := strings.ToLower(run)
	if len(word) > most {
		return nil
	}
	for i := least; i <= len(word)-least; i++ {
		if x.Has(bm25.Stem(word[:i])) && x.Has(bm25.Stem(word[i:])) {
			return []string{word[:i], word[i:]}
		}
	}
	return nil
}

// kinds puts what a thing is in the place of an address, whose own words say
// little: a URL, an email address, a path.
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
