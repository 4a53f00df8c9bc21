// Command selecteval says how well the catalogue selects tools: for how many of
// 240 questions the wanted tool is among the first ten of 500, beside a plain
// substring match.
//
//	go -C verify run ./selecteval FOLDER/tools.jsonl
//
// The tools are those of real servers and other people's words, so they are no
// part of this repository; a line of the file is {"server", "name", "title",
// "description", "inputSchema", "annotations"}. Of them the 500 are taken whose
// "server/name" has the smallest SHA-256, so nobody chose them, and the questions
// are about the first 240 of those. The first 200 were written before there was a
// ranking; those in an even place were looked at while it was made, the others were
// not. The last 40 were written when it was finished.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	verbose := flag.Bool("v", false, "show the questions that miss, of those that may be looked at")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: selecteval [-v] tools.jsonl")
		os.Exit(2)
	}
	if err := run(os.Stdout, flag.Arg(0), *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "selecteval:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, path string, verbose bool) error {
	questions, err := questions()
	if err != nil {
		return err
	}
	c, err := load(path)
	if err != nil {
		return err
	}
	ctx := context.Background()
	fmt.Fprintln(out, "wanted tool among the first  1    3    5   10  of questions")
	for _, way := range []struct {
		name  string
		ranks func() ([]int, error)
	}{
		{"select", func() ([]int, error) { return ranks(ctx, c, questions, nil) }},
		{"substring", func() ([]int, error) { return ranks(ctx, c, questions, substrings) }},
	} {
		ranks, err := way.ranks()
		if err != nil {
			return err
		}
		show(out, way.name, questions, ranks)
		if verbose && way.name == "select" {
			misses(out, questions, ranks)
		}
	}
	return nil
}

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

func show(out io.Writer, way string, questions []question, ranks []int) {
	for _, part := range parts {
		n := count(questions, part.in)
		fmt.Fprintf(out, "%-10s %-15s", way, part.name)
		for _, first := range []int{1, 3, 5, 10} {
			fmt.Fprintf(out, " %3d%%", 100*hits(questions, ranks, first, part.in)/n)
		}
		fmt.Fprintf(out, "  %d\n", n)
	}
}

func count(questions []question, in func(int, question) bool) (n int) {
	for i, q := range questions {
		if in(i, q) {
			n++
		}
	}
	return n
}

// hits counts the questions whose wanted tool is among the first ones.
func hits(questions []question, ranks []int, first int, in func(int, question) bool) (n int) {
	for i, rank := range ranks {
		if in(i, questions[i]) && rank > 0 && rank <= first {
			n++
		}
	}
	return n
}

func misses(out io.Writer, questions []question, ranks []int) {
	for i, rank := range ranks {
		if lookedAt(i, questions[i]) && (rank == 0 || rank > 10) {
			fmt.Fprintf(out, "  %4d  %-50s %s\n", rank, questions[i].Tool, questions[i].Question)
		}
	}
}
