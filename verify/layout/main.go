// Command layout checks the structure of the repository and prints the size of every package.
//
//	go -C verify run ./layout              # what breaks a rule, and a table of every package
//	go -C verify run ./layout -faults      # only what breaks a rule
//	go -C verify run ./layout -files 500   # also the files past 500 lines
//	go -C verify run ./layout -json        # the same as JSON
//
// It exits with 1 if a rule is broken. The rules are about structure: imports point one way (layers.go), no module
// imports another's internal packages, each go.mod states the same version of Go, and no JSON is decoded in a way that
// rounds its numbers (numbers.go). No size is a fault: the table is
// for people who look for what is hard to read. The linter has finer rules for single packages, in .golangci.yml.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

func main() {
	var show options
	flag.BoolVar(&show.faultsOnly, "faults", false, "print only what breaks a rule")
	flag.BoolVar(&show.json, "json", false, "print JSON")
	flag.IntVar(&show.files, "files", 0, "list files, also of tests, of more than this many lines; 0 lists none")
	flag.IntVar(&show.functions, "functions", longFunction, "list functions, without those of tests, of more than this many lines")
	flag.Parse()
	faults, err := run(os.Stdout, show)
	if err != nil {
		fmt.Fprintln(os.Stderr, "layout:", err)
	}
	if err != nil || faults > 0 {
		os.Exit(1)
	}
}

type options struct {
	faultsOnly, json bool
	files, functions int // lists those of more lines
}

func run(out io.Writer, show options) (faults int, err error) {
	root, err := repo.Root()
	if err != nil {
		return 0, err
	}
	modules, err := read(root)
	if err != nil {
		return 0, err
	}
	numbers, err := numberFaults(root, modules)
	if err != nil {
		return 0, err
	}
	r := report{Faults: slices.Concat(importFaults(modules), versionFaults(modules), apiFaults(modules), numbers)}
	if !show.faultsOnly {
		r.measure(modules, show)
	}
	if show.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return len(r.Faults), e.Encode(r)
	}
	r.print(out)
	return len(r.Faults), nil
}
