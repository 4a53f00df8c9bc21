// Command features checks that each row of verify/features/README.md has an id of its own, a page, and tests
// that pass. A test that is skipped does not pass.
//
//	go -C verify run ./features                     # runs the tests
//	go -C verify run ./features -results a.json,b…  # reads what `go test -json` has printed of them
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
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
	results := flag.String("results", "", "files of `go test -json`, with commas between; empty runs the tests")
	flag.Parse()
	if err := features(context.Background(), *results); err != nil {
		fmt.Fprintln(os.Stderr, "features:", err)
		os.Exit(1)
	}
}

func features(ctx context.Context, files string) error {
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
	var results outcomes
	if files == "" {
		results, err = run(ctx, root, rows)
	} else {
		results, err = readAll(strings.Split(files, ","))
	}
	if err != nil {
		return err
	}
	for _, fault := range append(faults, unshown(rows, results)...) {
		fmt.Println(fault)
		err = errors.New("verify/features/README.md promises what is not shown")
	}
	fmt.Printf("%d rows, %d different tests\n", len(rows), len(users(rows)))
	return err
}

// outcomes are "pass", "skip" or "fail" by test, such as "cache.TestHit". A test that ran more than once has its
// best outcome: some are skipped under the race detector and run without it.
type outcomes map[string]string

func (o outcomes) add(test, action string) {
	if o[test] != "pass" {
		o[test] = action
	}
}

// explained are the results that need an explanation.
var explained = map[string]string{"": "it was not run", "skip": "it is skipped", "fail": "it fails"}

// unshown returns the tests of the rows that did not pass.
func unshown(rows []row, results outcomes) (faults []string) {
	for _, test := range slices.Sorted(maps.Keys(users(rows))) {
		if got := results[test]; got != "pass" {
			faults = append(faults, fmt.Sprintf("%s: %s", test, explained[got]))
		}
	}
	return faults
}

// run runs the tests of the rows.
func run(ctx context.Context, root string, rows []row) (outcomes, error) {
	byPackage := make(map[string][]string)
	for test := range users(rows) {
		dir, name, _ := strings.Cut(test, ".")
		byPackage[dir] = append(byPackage[dir], name)
	}
	results := make(outcomes)
	for _, dir := range slices.Sorted(maps.Keys(byPackage)) {
		cmd := exec.CommandContext(ctx, "go", "-C", filepath.Join(root, dir), "test", "-json", "-run", "^("+strings.Join(byPackage[dir], "|")+")$", ".")
		out, err := cmd.Output()
		if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
			return nil, fmt.Errorf("go test in %s: %w", dir, err)
		}
		if err := results.read(bytes.NewReader(out)); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// readAll reads files of go test -json.
func readAll(files []string) (outcomes, error) {
	results := make(outcomes)
	for _, file := range files {
		f, err := os.Open(filepath.Clean(file))
		if err != nil {
			return nil, err
		}
		err = results.read(f)
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return results, nil
}

const module = "github.com/fairlead-go/fairlead/"

// read reads the output of go test -json. Lines that are not JSON are the go command's own messages.
func (o outcomes) read(from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		var event struct{ Action, Package, Test string }
		if json.Unmarshal(line, &event) == nil && event.Test != "" {
			switch event.Action {
			case "pass", "fail", "skip":
				o.add(strings.TrimPrefix(event.Package, module)+"."+event.Test, event.Action)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
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
