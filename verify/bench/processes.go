package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// several measures a row in some processes and takes the medians: the addresses in memory change a
// ratio by some percent for the whole life of a process.
func (b benchmark) several(p pace) (row, error) {
	found := make([]row, p.processes)
	for i := range found {
		if err := b.another(p, &found[i]); err != nil {
			return row{}, err
		}
	}
	r, err := merged(found)
	if err != nil {
		return row{}, fmt.Errorf("%s: %w", b.name, err)
	}
	b.judge(&r)
	return r, nil
}

func (b benchmark) another(p pace, r *row) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, "-json", "-processes", "1", "-run", b.name+"$", "-rounds", strconv.Itoa(max(1, p.rounds/2)), "-batch", p.batch.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s, in a process of its own: %w", b.name, err)
	}
	if out = bytes.TrimSpace(out); bytes.IndexByte(out, '\n') >= 0 {
		return fmt.Errorf("%s: a process of its own measured more than that", b.name)
	}
	return json.Unmarshal(out, r)
}

// merged returns the medians of several processes' rows, not judged yet.
func merged(found []row) (row, error) {
	r := found[0]
	r.Met, r.Allocs = true, median(each(found, func(f row) float64 { return f.Allocs }))
	for peer := range r.Ratio {
		r.Ratio[peer] = median(each(found, func(f row) float64 { return f.Ratio[peer] }))
	}
	for peer := range r.PeerAllocs {
		r.PeerAllocs[peer] = median(each(found, func(f row) float64 { return f.PeerAllocs[peer] }))
	}
	if r.Cost == "" {
		return r, nil
	}
	var faults error
	r.Cost = time.Duration(median(each(found, func(f row) float64 {
		cost, err := time.ParseDuration(f.Cost)
		faults = errors.Join(faults, err)
		return float64(cost)
	}))).String()
	return r, faults
}

func each(found []row, what func(row) float64) []float64 {
	all := make([]float64, len(found))
	for i, f := range found {
		all[i] = what(f)
	}
	return all
}
