package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed mutants.txt
var list string

type mutant struct {
	name  string
	file  string // from the project's root
	find  string // a text that is once in the file; its last line is replaced
	with  string // the new line, without its indentation
	tests tests  // that catch it; zero for the simulation
}

type tests struct {
	folder string // from the project's root
	run    string // a regular expression of their names
}

// parse returns the mutants of a list in the form that mutants.txt describes.
func parse(text string) (mutants []mutant, err error) {
	var m *mutant
	form := "" // the first characters of the lines of m, in order
	number := 0
	for line := range strings.Lines(text + "\n\n") {
		number++
		line = strings.TrimSuffix(line, "\n")
		kind, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" && m != nil:
			if !slices.Contains([]string{"-+", "-+?"}, form) {
				return nil, fmt.Errorf("mutants.txt:%d: %s needs lines with -, one with +, and at most one with ?", number, m.name)
			}
			mutants = append(mutants, *m)
			m = nil
		case line == "", kind == "#":
		case m == nil:
			m, form = &mutant{name: kind, file: rest}, ""
		case kind == "-" && form == "":
			m.find, form = rest, "-"
		case kind == "-" && form == "-":
			m.find += "\n" + rest
		case kind == "+":
			m.with = rest
			form += kind
		default:
			m.tests.folder, m.tests.run, _ = strings.Cut(rest, " ")
			form += kind
		}
	}
	return mutants, nil
}
