package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

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
