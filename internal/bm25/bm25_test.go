package bm25_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/bm25"
)

var fields = []bm25.Field{{Weight: 3, B: 0.5}, {Weight: 1, B: 0.75}}

// rank returns the numbers of the documents that fit, the best first.
func rank(x *bm25.Index, n int, terms ...bm25.Term) []int {
	scores := x.Scores(terms)
	var found []int
	for doc := range n {
		if scores[doc] > 0 {
			found = append(found, doc)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int {
		if scores[a] > scores[b] {
			return -1
		}
		return 1
	})
	return found
}

func said(word string) bm25.Term { return bm25.Term{{Stem: bm25.Stem(word), Weight: 1}} }

func TestScores(t *testing.T) {
	t.Parallel()
	documents := [][]string{
		0: {"page", "shows a common thing"},
		1: {"thing", "shows a page"},
		2: {"other", "shows a page " + strings.Repeat("and more ", 5)},
		3: {"another", "has a rare thing"},
		4: {"", ""},
		5: {"stuffed", strings.Repeat("page ", 20)},
	}
	x := bm25.New(fields, documents)
	for _, tt := range []struct {
		name  string
		terms []bm25.Term
		want  []int
	}{
		{"a word in the name counts more, a long text less", []bm25.Term{said("pages")}, []int{0, 1, 5, 2}},
		{"a rare word counts more than a common one", []bm25.Term{said("rare"), said("shows")}, []int{3, 1, 0, 2}},
		{"nothing", []bm25.Term{said("absent")}, nil},
		{"no term", nil, nil},
		{"a synonym counts less", []bm25.Term{{{Stem: "rar", Weight: 1}, {Stem: "other", Weight: 0.1}}}, []int{3, 2}},
	} {
		if got := rank(x, len(documents), tt.terms...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v (%v)", tt.name, got, tt.want, x.Scores(tt.terms))
		}
	}
}

// Two names of one thing are one thing.
func TestNamesOfOneTermDoNotAddUp(t *testing.T) {
	t.Parallel()
	x := bm25.New(fields[:1], [][]string{{"image"}, {"picture"}, {"image picture"}, {"none"}})
	one := x.Scores([]bm25.Term{said("image")})
	both := x.Scores([]bm25.Term{{{Stem: "image", Weight: 1}, {Stem: bm25.Stem("image"), Weight: 1}, {Stem: bm25.Stem("picture"), Weight: 0.5}}})
	if one[2] == 0 || both[2] != one[2] {
		t.Errorf("got %v with two names, want %v", both[2], one[2])
	}
	if both[1] == 0 || both[1] >= both[0] {
		t.Errorf("got %v for the synonym and %v for the word", both[1], both[0])
	}
}

func TestEmptyIndex(t *testing.T) {
	t.Parallel()
	x := bm25.New(fields, nil)
	if got := x.Scores([]bm25.Term{said("a")}); len(got) != 0 || x.Has("a") {
		t.Errorf("got %v", got)
	}
}
