package main

import (
	"strings"
	"testing"
)

func TestPublicTypesShowWhatTheyAre(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		source string
		want   []string
	}{
		"an alias of an internal type":  {"type T = fault.T", []string{"T is made of fault.T, which is internal"}},
		"one that is not exported":      {"type t = fault.T", nil},
		"an alias of a public type":     {"type T = middleware.Call", nil},
		"an embedded one":               {"type T struct {\n\tfault.T\n\n\tA int\n}", []string{"T is made of fault.T"}},
		"an embedded pointer":           {"type T struct{ *fault.T }", []string{"T is made of fault.T"}},
		"one in an interface":           {"type T interface{ fault.T }", []string{"T is made of fault.T"}},
		"by way of an alias":            {"type t = fault.T\n\ntype T struct{ t }", []string{"c.go:11: T is made of fault.T"}},
		"by way of two structs":         {"type (\n\tt struct{ fault.T }\n\tu struct{ *t }\n\tT struct{ u }\n)", []string{"T is made of fault.T"}},
		"types that embed each other":   {"type (\n\tt struct{ *u }\n\tu struct{ *t }\n\tT struct{ u }\n)", nil},
		"methods of the package's own":  {"type t struct{ f fault.T }\n\nfunc (t) M() {}\n\ntype T struct{ t }", nil},
		"a field that is hidden":        {"type T struct{ f fault.T }", nil},
		"a field":                       {"type T struct{ F []fault.T }", []string{"T is made of fault.T"}},
		"a parameter":                   {"func F(a int, b fault.T) {}", []string{"F names fault.T"}},
		"a result":                      {"func F() (map[string]*fault.T, error) { return nil, nil }", []string{"F names fault.T"}},
		"of a method":                   {"type T int\n\nfunc (*T) M() fault.T { return 0 }", []string{"T.M names fault.T"}},
		"of a method in an interface":   {"type T interface{ M(f fault.T) }", []string{"T is made of fault.T"}},
		"of one that is not exported":   {"type t int\n\nfunc (t) M() fault.T { return 0 }\n\nfunc f(fault.T) {}", nil},
		"in a body":                     {"func F() { fault.F() }", nil},
		"a variable":                    {"var V fault.T", []string{"V is made of fault.T"}},
		"a function as a value":         {"var V = fault.F", []string{"V is made of fault.F"}},
		"what a function returns":       {"var V = fault.F()", nil},
		"an error to test for":          {"var ErrV = fault.V", nil},
		"a package of another's module": {"type T = other.T", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := "package cache\n\nimport (\n\tfault \"" + prefix + "/internal/f\"\n\t\"" + prefix + "/middleware\"\n\t\"example.com/other\"\n)\n\n" + tt.source + "\n"
			wantFaults(t, apiFaults(repository(t, map[string]string{"cache/c.go": source})), tt.want...)
			internal := strings.Replace(source, "package cache", "package c", 1)
			wantFaults(t, apiFaults(repository(t, map[string]string{"internal/c/c.go": internal})))
		})
	}
}
