// Package selecteval_test measures how well the catalog selects tools: for how many of
// 240 questions the wanted tool is among the first ten of 500, beside a plain
// substring match.
//
//	go -C verify test -v ./selecteval -tools FOLDER/tools.jsonl
//
// The tools are those of real servers and other people's words, so they are not part of this
// repository; a line of the file is {"server", "name", "title", "description", "inputSchema",
// "annotations"}. The 500 with the smallest SHA-256 of "server/name" are taken, which is a random
// choice, and the questions are about the first 240 of those. The first 200 were written before
// there was a ranking; those in an even place were looked at while it was made, the others were
// not. The last 40 were written when it was finished.
package selecteval_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var tools = flag.String("tools", filepath.Join("..", "..", "..", "shared", "eval", "tools.jsonl"), "the file of tools")

// before is how many questions were written before the ranking.
const before = 200

// parts are the questions that a figure is given for.
var parts = []struct {
	name string
	in   func(i int, q question) bool
}{
	{"all", func(int, question) bool { return true }},
	{"looked at", lookedAt},
	{"held out", func(i int, _ question) bool { return i < before && i%2 == 1 }},
	{"afterwards", func(i int, _ question) bool { return i >= before }},
	{"not naming it", func(_ int, q question) bool { return !q.names() }},
}

func lookedAt(i int, _ question) bool { return i < before && i%2 == 0 }

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

// The wanted tool is among the first ten for 85 questions of 100: of all, of those unseen while
// the ranking was made, and of those that do not name it.
func TestWantedToolIsAmongTheFirstTen(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(*tools); err != nil {
		t.Skipf("SKIPPED: the catalog of real tools is not at %s: the figures of docs/reference/catalog.md are not checked", *tools)
	}
	c, err := load(*tools)
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
	t.Log("                                 wanted tool among the first 1, 3, 5, 10")
	for _, part := range parts {
		got, n := hits(all, places, part.in)
		beside, _ := hits(all, plain, part.in)
		t.Logf("%-15s of %3d: %d %%, by a substring match %d %%", part.name, n, got, beside)
		if got[3] < 85 || got[3] < beside[3] {
			t.Errorf("%s: %d of 100 among the first ten, want 85 (a substring match has %d)", part.name, got[3], beside[3])
		}
	}
	misses(t, all, places)
}

// hits returns of how many questions of 100 the wanted tool is among the first 1, 3, 5 and
// 10, and how many questions there are.
func hits(questions []question, ranks []int, in func(int, question) bool) (percent [4]int, n int) {
	for i, rank := range ranks {
		if !in(i, questions[i]) {
			continue
		}
		n++
		for k, first := range [...]int{1, 3, 5, 10} {
			if rank > 0 && rank <= first {
				percent[k]++
			}
		}
	}
	for k := range percent {
		percent[k] = 100 * percent[k] / n
	}
	return percent, n
}

// misses logs the questions that miss, of those that may be looked at.
func misses(t *testing.T, questions []question, ranks []int) {
	t.Helper()
	for i, rank := range ranks {
		if lookedAt(i, questions[i]) && (rank == 0 || rank > 10) {
			t.Logf("  %4d  %-50s %s", rank, questions[i].Tool, questions[i].Question)
		}
	}
}
