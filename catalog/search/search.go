// Package search finds tools in a catalogue or a view of it: for a person, a page at a time, and for a model,
// those that fit a message. It decides nothing about calls.
package search

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // for words.txt
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/bm25"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Query selects the tools for which every set field holds. The zero value selects all.
type Query struct {
	// Text is searched in names, titles, descriptions, categories, tags, arguments and servers; one word suffices.
	Text string
	// Category is the tool's, in any case; empty means any.
	Category string
	// Tags are all among the tool's, in any case; nil means any.
	Tags []string
	// Safety are the classes, one of which is the tool's; nil means any.
	Safety []annotation.Safety

	// The hints find what is known: No finds the tools that are known not to be so, and never those without
	// the hint. A tool that is called read-only and destructive is known to be destructive. Unset means any.
	ReadOnly, Destructive, Idempotent, OpenWorld, RequiresConfirmation annotation.Hint

	// Where is whatever else must hold; nil means nothing.
	Where func(*middleware.Tool) bool

	// Sort is the order; the zero value is ByRelevance.
	Sort Sort
	// Limit is how many tools a page has at most; 0 means 20.
	Limit int
	// Cursor is the NextCursor of the page before, with the same query; empty means the first page.
	Cursor string
}

const defaultLimit = 20

// Sort is an order of tools. Where it leaves two equal, the server and then the name decide.
type Sort uint8

// The orders.
const (
	ByRelevance Sort = iota // what fits the text best first; without a text, by server
	ByName                  // of the tool
	ByServer
	BySafety // unknown, dangerous, moderate, safe
)

// A Page is a part of what a search found.
type Page struct {
	Tools []*middleware.Tool
	// Total is how many were found, on all pages.
	Total int
	// NextCursor is for the query of the next page; empty on the last one.
	NextCursor string
}

// ErrCursor is in the tree of the error about a cursor of another query or of an earlier list of tools.
var ErrCursor = errors.New("search: the cursor is out of date: the tools or the query have changed since it was given; search again without a cursor")

// Search returns the tools that the query finds, a page at a time. A cursor holds as long as the tools do not
// change; after that the error is an [ErrCursor], never a page with a tool missing or repeated.
func (x *Index) Search(q Query) (Page, error) {
	switch {
	case q.Limit < 0:
		return Page{}, fmt.Errorf("search: Query.Limit is %d; use 0 for %d, or a number above it", q.Limit, defaultLimit)
	case q.Sort > BySafety:
		return Page{}, fmt.Errorf("search: Query.Sort is %d, which is no order; use one of ByRelevance, ByName, ByServer, BySafety", q.Sort)
	}
	s := x.now()
	found, start := s.find(&q), 0
	h := sha256.New() // of what the pages depend on: all the tools, text and order, and which tools were found
	fmt.Fprintf(h, "%x %q %d ", s.sum, q.Text, q.Sort)
	_ = binary.Write(h, binary.BigEndian, found) // a hash takes all
	digest := h.Sum(nil)[:digestSize]
	if q.Cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(q.Cursor)
		if err != nil || len(raw) != placeSize+digestSize || !bytes.Equal(raw[placeSize:], digest) {
			return Page{}, ErrCursor
		}
		if start = int(binary.BigEndian.Uint32(raw)); start > len(found) {
			return Page{}, ErrCursor
		}
	}
	end := start + min(cmp.Or(q.Limit, defaultLimit), len(found)-start)
	page := Page{Tools: s.at(found[start:end]), Total: len(found)}
	if end < len(found) {
		page.NextCursor = base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint32(nil, uint32(end)), digest...))
	}
	return page, nil
}

// A cursor is the place where the next page begins, and a digest of what the pages depend on.
const (
	placeSize  = 4
	digestSize = 12
)

func (s *state) find(q *Query) []int32 {
	scores := slices.Repeat([]float64{1}, len(s.tools))
	if q.Text != "" {
		scores = s.scores(q.Text)
	}
	found := ranked(scores, func(at int32) bool { return q.holds(s.tools[at]) })
	if q.Sort != ByRelevance {
		slices.Sort(found) // as listed
	}
	switch q.Sort {
	case ByName:
		slices.SortStableFunc(found, func(a, b int32) int { return strings.Compare(s.tools[a].Name(), s.tools[b].Name()) })
	case BySafety:
		slices.SortStableFunc(found, func(a, b int32) int { return cmp.Compare(s.tools[a].Safety(), s.tools[b].Safety()) })
	}
	return found
}

// holds reports whether everything but the text of a query holds for a tool.
func (q *Query) holds(t *middleware.Tool) bool {
	a := &t.Annotations
	if q.Category != "" && !strings.EqualFold(q.Category, a.Category) ||
		q.Safety != nil && !slices.Contains(q.Safety, a.Safety()) {
		return false
	}
	for _, tag := range q.Tags {
		if !slices.ContainsFunc(a.Tags, func(t string) bool { return strings.EqualFold(t, tag) }) {
			return false
		}
	}
	readOnly, destructive := known(a)
	for _, hint := range [...]struct{ asked, is annotation.Hint }{
		{q.ReadOnly, readOnly},
		{q.Destructive, destructive},
		{q.Idempotent, a.Idempotent},
		{q.OpenWorld, a.OpenWorld},
		{q.RequiresConfirmation, a.RequiresConfirmation},
	} {
		if hint.asked != annotation.Unset && hint.asked != hint.is {
			return false
		}
	}
	return q.Where == nil || q.Where(t)
}

// known returns two hints, each with what the other implies.
func known(a *annotation.Annotations) (readOnly, destructive annotation.Hint) {
	switch {
	case a.Destructive == annotation.Yes:
		return annotation.No, annotation.Yes
	case a.ReadOnly == annotation.Yes:
		return annotation.Yes, annotation.No
	}
	return a.ReadOnly, a.Destructive
}

// A Ranker returns one score for each tool, how well it fits a message, for example by the distance of
// embeddings. A tool that is not above 0 does not fit. It only gets tools that may be selected.
type Ranker func(ctx context.Context, message string, tools []*middleware.Tool) ([]float64, error)

// SelectOptions are the settings of [Index.Select]. The zero value is ready.
type SelectOptions struct {
	// Max is how many tools are selected at most; 0 means 20.
	Max int
	// Always are the tools, as "server/tool", that are selected whatever the message. It cannot bring back
	// what is kept out, and an unknown tool is passed over; nil means none.
	Always []string
	// Named are the tools, as "server/tool", that the host wants in this turn, whatever their class; nil means
	// none. Put in what a person asked for by name, and never what a model or a server wrote.
	Named []string
	// WithDangerous lets in tools whose class is Dangerous or Unknown; false keeps them out unless they are named.
	WithDangerous bool
	// Where keeps out every tool that it does not hold for, named or not; nil keeps none out.
	Where func(*middleware.Tool) bool
	// Rank scores the tools; nil means by the words that they share with the message.
	Rank Ranker
}

const defaultMax = 20

func (o *SelectOptions) allows(t *middleware.Tool) bool {
	return (o.WithDangerous || !t.Annotations.MustConfirm()) && o.holds(t)
}

func (o *SelectOptions) holds(t *middleware.Tool) bool { return o.Where == nil || o.Where(t) }

// Select returns the tools to give to a model for a user's message: the named ones, those of Always, and then
// those that fit the message, the best first, at most Max. It only shortens a list: the chain and the guard
// decide what the model may call.
func (x *Index) Select(ctx context.Context, message string, o SelectOptions) ([]*middleware.Tool, error) {
	if o.Max < 0 {
		return nil, fmt.Errorf("search: SelectOptions.Max is %d; use 0 for %d, or a number above it", o.Max, defaultMax)
	}
	s, most := x.now(), cmp.Or(o.Max, defaultMax)
	selected, err := s.picked(&o)
	if err != nil {
		return nil, err
	}
	if len(selected) > most {
		return nil, fmt.Errorf("search: %d tools are named or always selected and SelectOptions.Max is %d; raise it or name fewer", len(selected), most)
	}
	may := func(t *middleware.Tool) bool { return !slices.Contains(selected, t) && o.allows(t) }
	fitting, err := s.fitting(ctx, message, o.Rank, may)
	if err != nil {
		return nil, err
	}
	return append(selected, fitting[:min(len(fitting), most-len(selected))]...), nil
}

func (s *state) picked(o *SelectOptions) (picked []*middleware.Tool, err error) {
	for _, list := range []struct {
		field string
		names []string
		may   func(*middleware.Tool) bool
	}{{"Named", o.Named, o.holds}, {"Always", o.Always, o.allows}} {
		for _, full := range list.names {
			server, tool, ok := strings.Cut(full, "/")
			if !ok {
				return nil, fmt.Errorf(`search: SelectOptions.%s has %q; write "server/tool"`, list.field, full)
			}
			for _, t := range s.tools {
				if t.Server == server && t.Name() == tool && list.may(t) && !slices.Contains(picked, t) {
					picked = append(picked, t)
				}
			}
		}
	}
	return picked, nil
}

func (s *state) fitting(ctx context.Context, message string, rank Ranker, may func(*middleware.Tool) bool) ([]*middleware.Tool, error) {
	if rank == nil {
		return s.at(ranked(s.scores(message), func(at int32) bool { return may(s.tools[at]) })), nil
	}
	those := state{tools: slices.DeleteFunc(slices.Clone(s.tools), func(t *middleware.Tool) bool { return !may(t) })}
	scores, err := rank(ctx, message, slices.Clone(those.tools))
	if err != nil {
		return nil, fmt.Errorf("search: SelectOptions.Rank could not rank the tools; leave it out to go on without it: %w", err)
	}
	if len(scores) != len(those.tools) {
		return nil, fmt.Errorf("search: SelectOptions.Rank returned %d scores for %d tools; it must return one for each", len(scores), len(those.tools))
	}
	return those.at(ranked(scores, func(int32) bool { return true })), nil
}

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
