package main

import (
	_ "embed"
	"fmt"
	"regexp"
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

// form is a mutant as mutants.txt describes it.
var form = regexp.MustCompile(`^(\S+) (\S+)((?:\n- .*)+)\n\+ ?(.*)(?:\n\? (\S+) (.+))?$`)

// parse returns the mutants of a list in the form that mutants.txt describes.
func parse(text string) (mutants []mutant, err error) {
	text = regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(text, "")
	for block := range strings.SplitSeq(text, "\n\n") {
		block = strings.Trim(block, "\n")
		if block == "" {
			continue
		}
		m := form.FindStringSubmatch(block)
		if m == nil {
			name, _, _ := strings.Cut(block, " ")
			return nil, fmt.Errorf("mutants.txt: %s needs lines with -, one with +, and at most one with ?", name)
		}
		find := strings.ReplaceAll(m[3], "\n- ", "\n")[1:]
		mutants = append(mutants, mutant{m[1], m[2], find, m[4], tests{m[5], m[6]}})
	}
	return mutants, nil
}
