// Command bench compares the chain with other ways to do its work, in one run and by turns: by CPU time and by
// allocations. It prints a table of ratios, peer ÷ ours, so that more is better.
//
//	go -C verify run ./bench                # all of it, some minutes
//	go -C verify run ./bench -run call,hit  # rows whose names begin so
//	go -C verify run ./bench -json          # one object a line
//
// A missed goal is marked but is not a failure: the machine may be busy. A wrong answer is a failure,
// and so is a hit that reached the server.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	asJSON := flag.Bool("json", false, "print one JSON object a line and nothing else")
	only := flag.String("run", "", "only the rows whose names begin with one of these, separated by commas")
	rounds := flag.Int("rounds", 21, "how often each way has its turn")
	batch := flag.Duration("batch", 10*time.Millisecond, "how much CPU time one turn takes")
	flag.Parse()
	if serveChild() {
		return
	}
	if err := run(*asJSON, *only, pace{*batch, *rounds}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(asJSON bool, only string, p pace) error {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	if !asJSON {
		fmt.Println(tableHead)
	}
	for _, b := range benchmarks() {
		if !chosen(b.name, only) {
			continue
		}
		r, err := b.run(p)
		if err != nil {
			return err
		}
		if !asJSON {
			fmt.Println(r.line())
		} else if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func chosen(name, only string) bool {
	return slices.ContainsFunc(strings.Split(only, ","), func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// A benchmark makes one row. Its ways are made only when it runs.
type benchmark struct {
	name string
	run  func(pace) (row, error)
}

// of is a benchmark that is a contest.
func of(name string, its func() contest) benchmark {
	return benchmark{name, func(p pace) (row, error) {
		c := its()
		c.name = name
		return play(c, p)
	}}
}
