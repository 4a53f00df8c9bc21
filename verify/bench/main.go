// Command bench compares the chain with other ways to do its work, in one run and by turns: by CPU time and by
// allocations. It prints a table of ratios, peer ÷ ours, so that more is better.
//
//	go -C verify run ./bench                # all of it, some minutes
//	go -C verify run ./bench -run call,hit  # rows whose names begin so; with a $, those of that name
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
	"strings"
	"time"
)

func main() {
	asJSON := flag.Bool("json", false, "print one JSON object a line and nothing else")
	only := flag.String("run", "", "only the rows whose names begin with one of these, separated by commas")
	rounds := flag.Int("rounds", 21, "how often each way has its turn; half as often in each of several processes")
	processes := flag.Int("processes", 7, "how many processes measure a row, one after the other")
	batch := flag.Duration("batch", 10*time.Millisecond, "how much CPU time one turn takes")
	flag.Parse()
	if serveChild() {
		return
	}
	if err := run(*asJSON, *only, pace{*batch, *rounds, *processes}); err != nil {
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
		measure := b.run
		if b.judge != nil && p.processes > 1 {
			measure = b.several
		}
		r, err := measure(p)
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
	if only == "" {
		return true
	}
	for prefix := range strings.SplitSeq(only, ",") {
		if whole, ok := strings.CutSuffix(prefix, "$"); name == whole || !ok && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// A benchmark makes one row. Its ways are made only when it runs.
type benchmark struct {
	name  string
	run   func(pace) (row, error)
	judge func(*row) // judges the medians of several processes; nil if one process is enough
}

func of(name string, its func() contest) benchmark {
	return benchmark{
		name: name,
		run: func(p pace) (row, error) {
			c := its()
			c.name = name
			return play(c, p)
		},
		judge: func(r *row) { r.judge(its()) },
	}
}
