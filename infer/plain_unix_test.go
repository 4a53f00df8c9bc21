//go:build unix

package infer_test

import (
	"slices"
	"syscall"
	"testing"

	"github.com/fairlead-go/fairlead/infer"
)

// BenchmarkPlainWays tells how much faster the scanner is than plain ways to read
// the same lexicon, all that they leave to collect included: by CPU time, the median
// over the rounds. The passes take turns in each, so that what else the machine does
// weighs on all alike. It is no test: a machine that is busy enough would fail it.
func BenchmarkPlainWays(b *testing.B) {
	fields, regexps := infer.NewByFields(), infer.NewByRegexps()
	var byFields, byRegexps []float64
	for b.Loop() {
		tool := cpuOf(b, 12_000, func() { infer.Tool(invoice) })
		byFields = append(byFields, cpuOf(b, 1500, func() { infer.InferBy(fields, invoice) })/tool)
		byRegexps = append(byRegexps, cpuOf(b, 3, func() { infer.InferBy(regexps, invoice) })/tool)
	}
	slices.Sort(byFields)
	slices.Sort(byRegexps)
	b.ReportMetric(byFields[len(byFields)/2], "x-fields")
	b.ReportMetric(byRegexps[len(byRegexps)/2], "x-regexps")
}

// cpuOf is the time that the process has for one f of n, its garbage collector's
// included.
func cpuOf(b *testing.B, n int, f func()) float64 {
	b.Helper()
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	for range n {
		f()
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	return float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / float64(n)
}
