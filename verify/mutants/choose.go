package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// A choice says which mutants are run. Its zero value chooses all.
type choice struct {
	only   string // those whose name has this in it
	since  string // those in files that changed since this revision, and those in a sample
	sample int    // how many of the others, with since
}

// choose returns the chosen mutants, in the order of the list. The sample depends on the commit alone, so that
// a run can be repeated.
func (c choice) choose(ctx context.Context, root string, all []*placed) ([]*placed, error) {
	var chosen []*placed
	for _, p := range all {
		if strings.Contains(p.name, c.only) {
			chosen = append(chosen, p)
		}
	}
	if c.since == "" {
		return chosen, nil
	}
	changed, err := changedSince(ctx, root, c.since)
	if err != nil {
		return nil, err
	}
	head, err := git(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	inSample := sample(chosen, strings.TrimSpace(head), c.sample, func(p *placed) bool { return !changed[p.file] })
	return slices.DeleteFunc(chosen, func(p *placed) bool { return !changed[p.file] && !inSample[p.name] }), nil
}

// sample returns the names of n mutants of those that may be drawn, by a hash of key and name.
func sample(mutants []*placed, key string, n int, may func(*placed) bool) map[string]bool {
	type draw struct {
		name string
		hash [sha256.Size]byte
	}
	var draws []draw
	for _, p := range mutants {
		if may(p) {
			draws = append(draws, draw{p.name, sha256.Sum256([]byte(key + " " + p.name))})
		}
	}
	slices.SortFunc(draws, func(a, b draw) int {
		return cmp.Or(bytes.Compare(a.hash[:], b.hash[:]), strings.Compare(a.name, b.name))
	})
	drawn := make(map[string]bool)
	for _, d := range draws[:min(max(n, 0), len(draws))] {
		drawn[d.name] = true
	}
	return drawn
}

// changedSince returns the files that differ from a revision, those in the work tree too.
func changedSince(ctx context.Context, root, revision string) (map[string]bool, error) {
	out, err := git(ctx, root, "diff", "--name-only", revision)
	if err != nil {
		return nil, err
	}
	changed := make(map[string]bool)
	for file := range strings.FieldsSeq(out) {
		changed[file] = true
	}
	return changed, nil
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	var trouble bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
	cmd.Stderr = &trouble
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, trouble.Bytes())
	}
	return string(out), nil
}
