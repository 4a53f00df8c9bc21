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

// maxSearched is how many bytes of a description are searched. What a server writes
// beyond that is not for a reader who chooses a tool.
const maxSearched = 8 << 10

func newIndex(tools []*middleware.Tool) *index {
	documents := make([][]string, len(tools))
	state := sha256.New()
	for i, t := range tools {
		a := t.Annotations
		documents[i] = []string{
			t.Name(), a.Title, cut(t.Definition.Description, maxSearched),
			a.Category + " " + strings.Join(a.Tags, " "), cut(arguments(t), maxSearched), t.Server,
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
