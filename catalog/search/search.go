// Package search finds tools in a catalog or a view of it: for a person, a page at a time, and for a model,
// those that fit a message. It decides nothing about calls.
package search

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
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
	// Safety has the class of the tool; nil means any.
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
		return Page{}, fmt.Errorf("search: Query.Sort is %d; use ByRelevance, ByName, ByServer or BySafety", q.Sort)
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

// find returns the places of the tools that the query finds, in its order.
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
