package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A builder compiles sources that differ from those of the project.
type builder struct {
	root string
	dir  string // for overlays and binaries
}

// overlay writes the sources and returns the name of the file that lists them for the go command.
func (b *builder) overlay(name string, files map[string][]byte) (string, error) {
	replace := make(map[string]string)
	for file, source := range files {
		changed := filepath.Join(b.dir, name, strings.ReplaceAll(file, "/", "-"))
		if err := errors.Join(os.MkdirAll(filepath.Dir(changed), 0o700), os.WriteFile(changed, source, 0o600)); err != nil {
			return "", err
		}
		replace[filepath.Join(b.root, file)] = changed
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(b.dir, name+".json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// compile reports what does not compile of the packages that the sources belong to.
func (b *builder) compile(ctx context.Context, overlay string, files map[string][]byte) error {
	byModule := make(map[string][]string)
	for file := range files {
		module := moduleOf(b.root, file)
		folder, err := filepath.Rel(module, path.Dir(file))
		if err != nil {
			return err
		}
		if folder = "./" + filepath.ToSlash(folder); !slices.Contains(byModule[module], folder) {
			byModule[module] = append(byModule[module], folder)
		}
	}
	var faults []error
	for module, folders := range byModule {
		args := append([]string{"-C", filepath.Join(b.root, module), "build", "-overlay=" + overlay, "-o", os.DevNull}, folders...)
		if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
			faults = append(faults, fmt.Errorf("go build in %s: %w\n%s", module, err, out))
		}
	}
	return errors.Join(faults...)
}

// moduleOf returns the folder of the module that a file belongs to.
func moduleOf(root, file string) string {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			return dir
		}
	}
	return "."
}

// binary builds the tests of a folder. It needs neither symbols nor line numbers for a debugger.
func (b *builder) binary(ctx context.Context, overlay, folder string) (string, error) {
	binary := strings.TrimSuffix(overlay, ".json") + "-" + strings.ReplaceAll(folder, "/", "-") + ".test"
	build := exec.CommandContext(ctx, "go", "-C", filepath.Join(b.root, folder), "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay="+overlay, "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the tests of %s do not build: %w\n%s", folder, err, out)
	}
	return binary, nil
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

var (
	violation = regexp.MustCompile(`(?m)^violation at seed (\d+): (.*)$`)
	failure   = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
)

// play runs tests of a binary. active is the mutant that is switched on, or empty.
func (b *builder) play(ctx context.Context, binary, active string, these tests, simulated bool, args ...string) verdict {
	cmd := exec.CommandContext(ctx, binary, append([]string{"-test.run=" + these.run, "-test.timeout=10m"}, args...)...)
	cmd.Dir = filepath.Join(b.root, these.folder)
	cmd.Env = append(os.Environ(), environment+"="+active)
	out, err := cmd.CombinedOutput()
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
