package search

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // for words.txt
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/bm25"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Lister lists tools, sorted by server and name; *catalog.Catalog and *catalog.View are.
type Lister interface{ List() []*middleware.Tool }

// An Index finds tools in a list, by words that it reads again when the list changes. It is safe for concurrent use.
type Index struct {
	in      Lister
	mu      sync.Mutex
	current *state
}

// New returns an index of what the lister lists. Make one for each catalogue, and one for each view.
func New(in Lister) *Index { return &Index{in: in} }

type state struct {
	tools []*middleware.Tool // as listed
	words *bm25.Index
	sum   [sha256.Size]byte // over everything that a search depends on
}

func (x *Index) now() *state {
	tools := x.in.List()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.current == nil || !slices.Equal(x.current.tools, tools) {
		x.current = newState(tools)
	}
	return x.current
}

var fields = []bm25.Field{
	{Weight: 3, B: 0.5},   // name
	{Weight: 2, B: 0.5},   // title
	{Weight: 1, B: 0.75},  // description
	{Weight: 2, B: 0},     // category and tags
	{Weight: 0.5, B: 0.5}, // names of the arguments
	{Weight: 2, B: 0},     // server
}

const maxSearched = 8 << 10

func newState(tools []*middleware.Tool) *state {
	s := &state{tools: tools}
	documents := make([][]string, len(tools))
	sum := sha256.New()
	for i, t := range tools {
		a := t.Annotations
		documents[i] = []string{
			t.Name(), a.Title, cut(t.Definition.Description),
			a.Category + " " + strings.Join(a.Tags, " "), cut(arguments(t)), t.Server,
		}
		fmt.Fprintf(sum, "%q %q %x %q %q %q %v ", t.Server, t.Name(), t.Digest, a.Title, a.Category, a.Tags,
			[]any{a.ReadOnly, a.Destructive, a.Idempotent, a.OpenWorld, a.RequiresConfirmation})
	}
	sum.Sum(s.sum[:0])
	s.words = bm25.New(fields, documents)
	return s
}

func cut(text string) string { return text[:min(len(text), maxSearched)] }

func arguments(t *middleware.Tool) string {
	schema, ok := t.Definition.InputSchema.(map[string]any)
	if !ok {
		return ""
	}
	properties, _ := schema["properties"].(map[string]any)
	return strings.Join(slices.Sorted(maps.Keys(properties)), " ")
}

func (s *state) scores(text string) []float64 { return s.words.Scores(terms(s.words, text)) }

func (s *state) at(places []int32) []*middleware.Tool {
	tools := make([]*middleware.Tool, len(places))
	for i, at := range places {
		tools[i] = s.tools[at]
	}
	return tools
}

// ranked returns the places of the scores above 0 that keep holds for, the best first, and of equals the first.
func ranked(scores []float64, keep func(at int32) bool) []int32 {
	var places []int32
	for at, score := range scores {
		if score > 0 && keep(int32(at)) {
			places = append(places, int32(at))
		}
	}
	slices.SortFunc(places, func(a, b int32) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	return places
}

// Classes returns the tools of each class that has any, sorted by server and name.
func Classes(in Lister) map[annotation.Safety][]*middleware.Tool {
	classes := make(map[annotation.Safety][]*middleware.Tool)
	for _, t := range in.List() {
		classes[t.Safety()] = append(classes[t.Safety()], t)
	}
	return classes
}

// MustConfirm returns the tools that need an approval, the Dangerous and the Unknown, sorted by server and name.
func MustConfirm(in Lister) []*middleware.Tool {
	return slices.DeleteFunc(in.List(), func(t *middleware.Tool) bool { return !t.Safety().MustConfirm() })
}

//go:embed words.txt
var wordLists string

// vocabulary is words.txt in the form in which it is used.
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
