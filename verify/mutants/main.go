// Command mutants puts one bug after another into the library and runs the simulation, or tests of
// the package, against it. A bug that survives is a check that is missing.
//
//	go -C verify run ./mutants          # all of them; exit 1 if one survives
//	go -C verify run ./mutants -list    # name, file:line and what the line becomes
//	go -C verify run ./mutants -only grant
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

func main() {
	show := flag.Bool("list", false, "list the mutants and run none")
	seeds := flag.Uint64("seeds", 20_000, "scenarios for each mutant, at most")
	only := flag.String("only", "", "run those whose name has this in it")
	jobs := flag.Int("jobs", max(1, runtime.GOMAXPROCS(0)), "mutants at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *show, *only, *seeds, *jobs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, show bool, only string, seeds uint64, jobs int) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	mutants, err := parse(list)
	if err != nil {
		return err
	}
	var chosen []*placed
	for _, m := range mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		p, err := place(root, m)
		if err != nil {
			return err
		}
		chosen = append(chosen, p)
	}
	if show {
		for _, p := range chosen {
			fmt.Printf("%s\t%s:%d\t%s\n", p.name, p.file, p.line, p.replaced)
		}
		return nil
	}
	return hunt(ctx, root, chosen, seeds, jobs)
}

// hunt runs the simulation against each mutant and prints the table.
func hunt(ctx context.Context, root string, chosen []*placed, seeds uint64, jobs int) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	verdicts := make([]verdict, len(chosen))
	slots := make(chan struct{}, jobs)
	var running sync.WaitGroup
	for i, p := range chosen {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			verdicts[i] = try(ctx, root, dir, p, seeds)
			fmt.Printf("%-34s %s\n", p.name, verdicts[i])
		})
	}
	running.Wait()
	caught := 0
	for i, v := range verdicts {
		if v.err != nil {
			return fmt.Errorf("%s: %w", chosen[i].name, v.err)
		}
		if v.caught {
			caught++
		}
	}
	fmt.Printf("mutants=%d caught=%d\n", len(chosen), caught)
	if caught < len(chosen) {
		return fmt.Errorf("%d survived", len(chosen)-caught)
	}
	return nil
}

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

type placed struct {
	mutant

	line     int
	replaced string
	source   []byte // of the whole file, with the change
}

// place finds the line that a mutant changes. It looks at code only: comments are free.
func place(root string, m mutant) (*placed, error) {
	source, err := fs.ReadFile(os.DirFS(root), m.file)
	if err != nil {
		return nil, fmt.Errorf("mutant %s is stale: %s cannot be read: %w", m.name, m.file, err)
	}
	code := withoutComments(source)
	if n := bytes.Count(code, []byte(m.find)); n != 1 {
		return nil, fmt.Errorf("mutant %s is stale: %s has this code %d times, want once; give the mutant new code to look for:\n\t%s", m.name, m.file, n, m.find)
	}
	end := bytes.Index(code, []byte(m.find)) + len(m.find)
	start := bytes.LastIndexByte(source[:end], '\n') + 1
	stop := end + bytes.IndexByte(source[end:], '\n')
	old := string(source[start:stop])
	indent := old[:len(old)-len(strings.TrimLeft(old, "\t"))]
	p := &placed{mutant: m, line: 1 + bytes.Count(source[:start], []byte("\n")), replaced: indent + m.with}
	if p.replaced == old {
		return nil, fmt.Errorf("mutant %s changes nothing in %s:%d", m.name, m.file, p.line)
	}
	p.source = slices.Concat(source[:start], []byte(p.replaced), source[stop:])
	return p, nil
}

// withoutComments returns the source with spaces in place of comments.
func withoutComments(source []byte) []byte {
	code := bytes.Clone(source)
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, kind, text := s.Scan()
		switch kind {
		case token.EOF:
			return code
		case token.COMMENT:
			at := file.Offset(pos)
			copy(code[at:], strings.Repeat(" ", len(text)))
		}
	}
}

// A verdict is the result for one mutant.
type verdict struct {
	caught bool
	seed   string // that caught it
	what   string // the first broken invariant, or the test that fails
	err    error  // the mutant could not be tried
}

func (v verdict) String() string {
	switch {
	case v.err != nil:
		return "cannot be tried: " + v.err.Error()
	case !v.caught:
		return "SURVIVED"
	}
	return fmt.Sprintf("seed %-6s %s", v.seed, v.what)
}

var violation = regexp.MustCompile(`(?m)^violation at seed (\d+): (.*)$`)

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

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

// try builds the tests over the changed source, in an overlay, and runs them.
func try(ctx context.Context, root, dir string, p *placed, seeds uint64) verdict {
	changed := filepath.Join(dir, p.name+".go")
	overlay := filepath.Join(dir, p.name+".json")
	binary := filepath.Join(dir, p.name+".test")
	defer os.Remove(binary)
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, p.file): changed}})
	if err != nil {
		return verdict{err: err}
	}
	if err := errors.Join(os.WriteFile(changed, p.source, 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return verdict{err: err}
	}
	these, simulated := p.look()
	folder := filepath.Join(root, these.folder)
	build := exec.CommandContext(ctx, "go", "-C", folder, "test", "-c", "-vet=off", "-overlay="+overlay, "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return verdict{err: fmt.Errorf("it does not build: %w\n%s", err, out)}
	}
	play := exec.CommandContext(ctx, binary, "-test.run="+these.run, "-test.timeout=10m")
	if simulated {
		play.Args = append(play.Args, fmt.Sprintf("-seeds=%d", seeds))
	}
	play.Dir = folder
	out, err := play.CombinedOutput()
	if ctx.Err() != nil {
		return verdict{err: ctx.Err()}
	}
	if found := violation.FindSubmatch(out); found != nil {
		return verdict{caught: true, seed: string(found[1]), what: string(found[2])}
	}
	switch {
	case bytes.Contains(out, []byte("no tests to run")):
		return verdict{err: fmt.Errorf("%s has no test %s", these.folder, these.run)}
	case err == nil:
		return verdict{}
	}
	if found := failure.FindSubmatch(out); !simulated && found != nil {
		return verdict{caught: true, seed: "-", what: string(found[1])}
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return verdict{caught: true, seed: "?", what: "the run ended with " + first}
}
