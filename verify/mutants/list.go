package main

import (
	_ "embed"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

//go:embed mutants.txt
var list string

//go:embed README.md
var page string

// A mutant is a bug of one line.
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

// look returns the tests that look for a mutant, and whether they are the simulation's.
func (m mutant) look() (t tests, simulated bool) {
	switch {
	case m.tests != tests{}:
		return m.tests, false
	case strings.HasPrefix(m.name, "replicas-"):
		return tests{"verify/sim", "^TestSpread$"}, true
	case strings.HasPrefix(m.name, "fresh-"):
		return tests{"verify/sim", "^TestFresh$"}, true
	}
	return tests{"verify/sim", "^TestScenarios$"}, true
}

var pageRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ([^ ]+) \\| `?(\\w+)")

// seeds returns the first seed that the page has for each mutant of the simulation.
func seeds(page string) map[string]uint64 {
	recorded := make(map[string]uint64)
	for _, row := range pageRow.FindAllStringSubmatch(page, -1) {
		if seed, err := strconv.ParseUint(row[2], 10, 64); err == nil {
			recorded[row[1]] = seed
		}
	}
	return recorded
}

// updatePage writes the seeds that showed mutants into the table.
func updatePage(file string, mutants []*placed, verdicts []verdict) error {
	text := page
	for i, v := range verdicts {
		if _, err := strconv.ParseUint(v.seed, 10, 64); err != nil {
			continue
		}
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(mutants[i].name) + "` \\| [^ ]+ \\|")
		text = row.ReplaceAllLiteralString(text, fmt.Sprintf("| `%s` | %s |", mutants[i].name, v.seed))
	}
	return os.WriteFile(file, []byte(text), 0o600)
}
