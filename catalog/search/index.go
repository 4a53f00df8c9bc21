package search

import (
	"cmp"
	"crypto/sha256"
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
// The zero value is not ready; use [New].
type Index struct {
	in      Lister
	mu      sync.Mutex
	current *state
}

// New returns an index of what the lister lists. Make one for each catalog, and one for each view.
func New(in Lister) *Index { return &Index{in: in} }

// A state is a list with its words. It never changes: a new list gets a new one, while searches in the earlier go on.
type state struct {
	tools []*middleware.Tool // as listed
	words *bm25.Index
	sum   [sha256.Size]byte // over everything that a search depends on
}

// now returns the state of the list as it is now.
func (x *Index) now() *state {
	tools := x.in.List()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.current == nil || !slices.Equal(x.current.tools, tools) {
		x.current = newState(tools)
	}
	return x.current
}

// fields weigh the texts of a tool: a word of its name counts more than one of its description. B is how much a long
// text counts for less (see package bm25).
var fields = []bm25.Field{
	{Weight: 3, B: 0.5},   // name
	{Weight: 2, B: 0.5},   // title
	{Weight: 1, B: 0.75},  // description
	{Weight: 2, B: 0},     // category and tags
	{Weight: 0.5, B: 0.5}, // names of the arguments
	{Weight: 2, B: 0},     // server
}

// maxSearched is how many bytes of one text are searched. A server could otherwise be found by any word.
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
