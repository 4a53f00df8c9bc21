package catalog

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/bm25"
	"github.com/fairlead-go/fairlead/middleware"
)

// An index is what is searched: the words of the tools of one snapshot.
type index struct {
	tools []*middleware.Tool // as listed
	words *bm25.Index
	state [sha256.Size]byte // over everything that a search depends on
}

// fields are the parts of a tool that are searched. A name says most in fewest
// words; a description says more the longer it is, and each word of it less. The
// server's id tells the tools of one product from those of another.
var fields = []bm25.Field{
	{Weight: 3, B: 0.5},   // name
	{Weight: 2, B: 0.5},   // title
	{Weight: 1, B: 0.75},  // description
	{Weight: 2, B: 0},     // category and tags
	{Weight: 0.5, B: 0.5}, // names of the arguments
	{Weight: 2, B: 0},     // server
}

func newIndex(tools []*middleware.Tool) *index {
	documents := make([][]string, len(tools))
	state := sha256.New()
	for i, t := range tools {
		a := t.Annotations
		documents[i] = []string{
			t.Name(), a.Title, t.Definition.Description,
			a.Category + " " + strings.Join(a.Tags, " "), arguments(t), t.Server,
		}
		fmt.Fprintf(state, "%q %q %x %q %q %q %v ", t.Server, t.Name(), t.Digest, a.Title, a.Category, a.Tags,
			[]any{a.ReadOnly, a.Destructive, a.Idempotent, a.OpenWorld, a.RequiresConfirmation})
	}
	x := &index{tools: tools, words: bm25.New(fields, documents)}
	state.Sum(x.state[:0])
	return x
}

// arguments returns the names of a tool's arguments.
func arguments(t *middleware.Tool) string {
	schema, ok := t.Definition.InputSchema.(map[string]any)
	if !ok {
		return ""
	}
	properties, _ := schema["properties"].(map[string]any)
	return strings.Join(slices.Sorted(maps.Keys(properties)), " ")
}

// synonymWeight is what a synonym is worth beside the word itself.
const synonymWeight = 0.6

// terms returns what a text asks for. Words that carry no meaning of their own
// are left out, unless there are no others.
func (x *index) terms(text string) []bm25.Term {
	v := words()
	var all, telling []bm25.Term
	seen := make(map[string]bool)
	for word := range bm25.Words(kinds(text)) {
		stem := bm25.Stem(word)
		if seen[stem] {
			continue
		}
		seen[stem] = true
		t := bm25.Term{{Stem: stem, Weight: 1}}
		for _, other := range v.same[stem] {
			t = append(t, bm25.Name{Stem: other, Weight: synonymWeight})
		}
		all = append(all, t)
		if !v.idle[word] {
			telling = append(telling, t)
		}
	}
	if len(telling) == 0 {
		return all
	}
	return telling
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
