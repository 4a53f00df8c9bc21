package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A row is one promise, with the tests that show it and the page that explains it.
type row struct {
	id    string
	what  string
	tests []string
	page  string
}

var (
	rowID    = regexp.MustCompile(`^[a-z/]+-[0-9]+$`)
	testName = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Example|Fuzz)[A-Za-z0-9_]*)`")
	link     = regexp.MustCompile(`\]\(([^)#]+)`)
)

func read(path string) ([]row, error) {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	var rows []row
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		id := strings.TrimSpace(cells[0])
		if !rowID.MatchString(id) {
			continue
		}
		if len(cells) != 4 {
			return nil, fmt.Errorf("%s has %d cells and not 4: id, what, tests, page", id, len(cells))
		}
		r := row{id: id, what: strings.TrimSpace(cells[1])}
		for _, m := range testName.FindAllStringSubmatch(cells[2], -1) {
			r.tests = append(r.tests, m[1]+"."+m[2])
		}
		if m := link.FindStringSubmatch(cells[3]); m != nil {
			r.page = m[1]
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// mostPerTest is how many rows a test may show.
const mostPerTest = 3

func check(rows []row, dir string) []string {
	var faults []string
	say := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	seen := make(map[string]bool)
	for _, r := range rows {
		if seen[r.id] {
			say("%s occurs twice", r.id)
		}
		seen[r.id] = true
		if r.what == "" {
			say("%s has no description", r.id)
		}
		if len(r.tests) == 0 {
			say("%s names no test", r.id)
		}
		if _, err := os.Stat(filepath.Join(dir, r.page)); r.page == "" || err != nil {
			say("%s: page %q does not exist", r.id, r.page)
		}
	}
	by := users(rows)
	for test, ids := range by {
		if len(ids) > mostPerTest {
			say("%s serves %d rows, more than %d: %s", test, len(ids), mostPerTest, strings.Join(ids, ", "))
		}
	}
	slices.Sort(faults)
	return faults
}

func users(rows []row) map[string][]string {
	by := make(map[string][]string)
	for _, r := range rows {
		for _, test := range r.tests {
			by[test] = append(by[test], r.id)
		}
	}
	return by
}
