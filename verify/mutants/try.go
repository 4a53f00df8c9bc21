package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A mutant is a change of one line.
type mutant struct {
	name string
	file string // from the project's root
	find string // a text that stands once in the file; the line in which it ends is replaced
	with string // what the line becomes, without its indentation
}

// A placed mutant knows its line.
type placed struct {
	mutant

	line     int
	replaced string
	source   []byte // of the whole file, with the change
}

// place finds the line that a mutant changes.
func place(root string, m mutant) (*placed, error) {
	source, err := fs.ReadFile(os.DirFS(root), m.file)
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(source, []byte(m.find)); n != 1 {
		return nil, fmt.Errorf("%s: its text stands %d times in %s and not once; the code has changed:\n%s", m.name, n, m.file, m.find)
	}
	end := bytes.Index(source, []byte(m.find)) + len(m.find)
	start := bytes.LastIndexByte(source[:end], '\n') + 1
	stop := end + bytes.IndexByte(source[end:], '\n')
	old := string(source[start:stop])
	indent := old[:len(old)-len(strings.TrimLeft(old, "\t"))]
	p := &placed{mutant: m, line: 1 + bytes.Count(source[:start], []byte("\n")), replaced: indent + m.with}
	if p.replaced == old {
		return nil, fmt.Errorf("%s: changes nothing", m.name)
	}
	p.source = append(append(append(p.source, source[:start]...), p.replaced...), source[stop:]...)
	return p, nil
}

// projectRoot returns the folder of the module.
func projectRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// A verdict is what became of a mutant.
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

// roomTests are tests of one room.
type roomTests struct {
	folder string
	run    string // which of them, as a regular expression
}

// try builds the simulation over the changed source and runs it. The source
// itself is not touched: the compiler reads one file from somewhere else.
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
	room, tested := byTests[p.name]
	switch {
	case tested:
	case strings.HasPrefix(p.name, "replicas-"):
		room = roomTests{"./internal/sim", spreadTests}
	default:
		room = roomTests{"./internal/sim", "^TestScenarios$"}
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay="+overlay, "-o", binary, room.folder)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return verdict{err: fmt.Errorf("it does not build: %w\n%s", err, out)}
	}
	play := exec.CommandContext(ctx, binary, "-test.run="+room.run, "-test.timeout=10m")
	if !tested {
		play.Args = append(play.Args, fmt.Sprintf("-seeds=%d", seeds))
	}
	play.Dir = filepath.Join(root, room.folder)
	out, err := play.CombinedOutput()
	if ctx.Err() != nil {
		return verdict{err: ctx.Err()}
	}
	if found := violation.FindSubmatch(out); found != nil {
		return verdict{caught: true, seed: string(found[1]), what: string(found[2])}
	}
	if err == nil {
		return verdict{}
	}
	if found := failure.FindSubmatch(out); tested && found != nil {
		return verdict{caught: true, seed: "-", what: string(found[1])}
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return verdict{caught: true, seed: "?", what: "the run ended with " + first}
}
