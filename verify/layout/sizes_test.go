package main

import (
	"bytes"
	"strings"
	"testing"
)

// Sizes are those of all files but tests, each package in its innermost module.
func TestMeasure(t *testing.T) {
	t.Parallel()
	modules := repository(t, map[string]string{
		"contrib/x/go.mod": "module " + prefix + "/contrib/x\n\ngo 1.26.0\n",
		"a.go":             "// Package fairlead is one.\npackage fairlead\n\nvar A, b = 1, 2 // two\n\ntype T struct {\n\tF, g int\n\tU\n}\n\nfunc (*T) M() {}\nfunc (t) N() {}\n",
		"a_test.go":        "package fairlead\n\nfunc TestX() {}\n",
		"b_test.go":        "package fairlead_test\n",
		"a_linux.go":       "package fairlead\n\nfunc F() {}\n",
		"a_other.go":       "package fairlead\n\nfunc F() {\n\t/* nothing,\n\t   for now */\n}\n",
		"u.go":             "package fairlead\n\ntype (\n\tU interface{ V() }\n\tt int\n\tG[A, B any] struct{}\n)\n\nfunc (G[A, B]) H() {}\n",
		"contrib/x/x.go":   "package x\n", "testdata/y.go": "package y\n", ".z/z.go": "package z\n",
		"internal/i/i.go": "package i\n\nfunc F() {}\n", "cmd/c.go": "package main\n\nfunc F() {}\n",
	})
	if len(modules) != 2 || len(modules[0].packages) != 3 || len(modules[1].packages) != 1 {
		t.Fatal(modules)
	}
	got := measure("", modules[0].packages[0])
	want := sizes{
		Files: 4, Lines: 12 + 3 + 6 + 9, Median: 6, P90: 12, Longest: 12, Functions: 5, Comments: 10,
		Names: 5, Methods: 3, Fields: 1, // A, T, F, U, G; T.M, U.V, G.H; T.F
		Tests: 2, Namesakes: 1,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := measure("", modules[0].packages...); got.Files != 6 || got.Names != want.Names {
		t.Errorf("got %d files and %d names of the module, want 6 files and the same names: the others are not public", got.Files, got.Names)
	}
	if p := modules[1].packages[0]; p.path != prefix+"/contrib/x" {
		t.Errorf("got %s", p.path)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	ten := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, tt := range []struct {
		sorted  []int
		p, want int
	}{{ten, 50, 5}, {ten, 90, 9}, {ten[:3], 50, 2}, {ten[:1], 90, 1}} {
		if got := percentile(tt.sorted, tt.p); got != tt.want {
			t.Errorf("percentile(%v, %d) = %d, want %d", tt.sorted, tt.p, got, tt.want)
		}
	}
}

// Long files and functions are listed, the longest first; no length is a fault.
func TestListsWhatIsLong(t *testing.T) {
	t.Parallel()
	long := func(lines int) string {
		return "package cache\n\nfunc f() {\n" + strings.Repeat("\n", lines-2) + "}\n"
	}
	modules := repository(t, map[string]string{
		"cache/a.go": long(61), "cache/b.go": long(600), "cache/c.go": long(60), "cache/c_test.go": long(700),
	})
	r := report{Faults: importFaults(modules)}
	r.measure(modules, options{files: 500, functions: longFunction})
	var out bytes.Buffer
	r.print(&out)
	_, lists, _ := strings.Cut(out.String(), "Functions, by lines:")
	const want = "\n   600  cache/b.go:3 f\n    61  cache/a.go:3 f\n\nFiles, by lines:\n   702  cache/c_test.go\n   602  cache/b.go\n"
	if lists != want {
		t.Errorf("got %q, want %q", lists, want)
	}
	if r.Packages[0].Long != 2 {
		t.Errorf("got %d long functions, want 2", r.Packages[0].Long)
	}
}
