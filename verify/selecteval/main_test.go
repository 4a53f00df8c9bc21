package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Half of the questions and more must be ones that the name of the tool does not
// give away: not one word of it is in them, in any form.
func TestMostQuestionsDoNotNameTheTool(t *testing.T) {
	t.Parallel()
	all, err := questions()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 240 {
		t.Errorf("got %d questions, want 240", len(all))
	}
	seen, silent := make(map[string]bool), 0
	for _, q := range all {
		if seen[q.Tool] {
			t.Errorf("%s has two questions", q.Tool)
		}
		seen[q.Tool] = true
		if !q.names() {
			silent++
		}
	}
	t.Logf("%d of %d questions have no word of the tool's name", silent, len(all))
	if silent < len(all)/2 {
		t.Errorf("%d of %d questions have no word of the tool's name, want half", silent, len(all))
	}
}

// The wanted tool is among the first ten for 85 questions of 100: of all, of those
// that nobody looked at while the ranking was made, and of those that do not name it.
func TestWantedToolIsAmongTheFirstTen(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "shared", "eval", "tools.jsonl")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED: the catalogue of real tools is not at %s: the figures of docs/catalog-search.md are not checked", path)
	}
	c, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	all, err := questions()
	if err != nil {
		t.Fatal(err)
	}
	places, err := ranks(t.Context(), c, all, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := ranks(t.Context(), c, all, substrings)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		n := count(all, part.in)
		got, beside := 100*hits(all, places, 10, part.in)/n, 100*hits(all, plain, 10, part.in)/n
		t.Logf("%s: %d of 100, a substring match %d", part.name, got, beside)
		if got < 85 || got < beside {
			t.Errorf("%s: %d of 100 among the first ten, want 85 (a substring match has %d)", part.name, got, beside)
		}
	}
}
