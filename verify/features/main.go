// Command features checks that each row of verify/features/README.md has an id of its own, a page, and tests
// that pass. A test that is skipped does not pass.
//
//	go -C verify run ./features
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
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
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var event struct {
			Action string `json:"Action"`
			Test   string `json:"Test"`
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue
		}
		switch event.Action {
		case "pass", "fail", "skip":
			results[event.Test] = event.Action
		}
	}
	return results, nil
}
