package main

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// The rule finds what rounds a number, by a decoder and by a type of any depth, and nothing that keeps the digits.
func TestRoundings(t *testing.T) {
	t.Parallel()
	const text = `package p

import ("encoding/json"; "io")

type own struct{ V any }
type outer struct{ In []own }
type exact struct{ Raw json.RawMessage; N int64; S string; L []float64; Hidden any ` + "`json:\"-\"`" + ` }

func roundsAny(b []byte) { var v any; _ = json.Unmarshal(b, &v) }
func roundsMap(b []byte) { var v map[string]any; _ = json.Unmarshal(b, &v) }
func roundsDeep(b []byte) { var v outer; _ = json.Unmarshal(b, &v) }
func roundsWhole(r io.Reader) { var v any; _ = json.NewDecoder(r).Decode(&v) }
func roundsInner(b []byte) { f := func() { var v []any; _ = json.Unmarshal(b, &v) }; f() }
func roundsOther(r io.Reader) { var v any; a, d := json.NewDecoder(r), json.NewDecoder(r); a.UseNumber(); _ = d.Decode(&v) }
func keepsDecoder(r io.Reader) { var v any; d := json.NewDecoder(r); d.UseNumber(); _ = d.Decode(&v) }
func keepsExact(b []byte) { var v exact; _ = json.Unmarshal(b, &v) }
func keepsRaw(b []byte) { var v map[string]json.RawMessage; _ = json.Unmarshal(b, &v) }
`
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p.go": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := packages.Load(loading(dir), "./...")
	if err != nil || len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		t.Fatal(err, loaded)
	}
	var got []string
	for _, r := range roundings(loaded[0]) {
		got = append(got, r.function)
	}
	var want []string
	for _, decl := range loaded[0].Syntax[0].Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "rounds") {
			want = append(want, f.Name.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
