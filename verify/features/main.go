// Command features checks that each row of verify/features/README.md has an id of its own, a page, and tests
// that pass. A test that is skipped does not pass.
//
//	go -C verify run ./features
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

func main() {
	if err := features(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "features:", err)
		os.Exit(1)
	}
}

func features(ctx context.Context) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	here := filepath.Join(root, "verify", "features")
	rows, err := read(filepath.Join(here, "README.md"))
	if err != nil {
		return err
	}
	faults := check(rows, here)
	more, err := run(ctx, root, rows)
	if err != nil {
		return err
	}
	for _, fault := range append(faults, more...) {
		fmt.Println(fault)
		err = errors.New("verify/features/README.md promises what is not shown")
	}
	fmt.Printf("%d rows, %d different tests\n", len(rows), len(users(rows)))
	return err
}

func run(ctx context.Context, root string, rows []row) ([]string, error) {
	byPackage := make(map[string][]string)
	for test := range users(rows) {
		dir, name, _ := strings.Cut(test, ".")
		byPackage[dir] = append(byPackage[dir], name)
	}
	var faults []string
	for _, dir := range slices.Sorted(maps.Keys(byPackage)) {
		names := byPackage[dir]
		slices.Sort(names)
		results, err := test(ctx, filepath.Join(root, dir), names)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if got := results[name]; got != "pass" {
				faults = append(faults, fmt.Sprintf("%s.%s: %s", dir, name, explained[got]))
			}
		}
	}
	return faults, nil
}

// explained are the results that need an explanation.
var explained = map[string]string{"": "there is no such test", "skip": "it is skipped", "fail": "it fails"}

func test(ctx context.Context, dir string, names []string) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, "go", "-C", dir, "test", "-json", "-run", "^("+strings.Join(names, "|")+")$", ".")
	out, err := cmd.Output()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return nil, fmt.Errorf("go test in %s: %w", dir, err)
	}
	results := make(map[string]string)
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test string }
		if json.Unmarshal(line, &event) != nil {
			continue
		}
		switch event.Action {
		case "pass", "fail", "skip":
			results[event.Test] = event.Action
		}
	}
	return results, nil
}

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
