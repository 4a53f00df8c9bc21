package main

import "testing"

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, source string
		want         []string
	}{
		"to a lower layer":          {"cache/c.go", importing("cache", "middleware", "internal/fault", "hitl/safetext"), nil},
		"from the leaf up":          {"annotation/a.go", importing("annotation", "middleware"), []string{"annotation imports middleware, which is not below it"}},
		"from policy to policy":     {"cache/c.go", importing("cache", "retry"), []string{"cache/c.go: cache imports retry"}},
		"from policy to chain":      {"cache/c.go", importing("cache", "chain"), []string{"cache imports chain"}},
		"from chain to policy":      {"chain/c.go", importing("chain", "hitl"), []string{"chain imports hitl"}},
		"from internal to policy":   {"internal/x/x.go", importing("x", "cache"), []string{"internal/x imports cache"}},
		"within a family":           {"hitl/elicit/e.go", importing("elicit", "hitl", "hitl/internal/waiting"), nil},
		"within what is shared":     {"audit/redact/r.go", importing("redact", "internal/schema"), nil},
		"from a library to its kit": {"middleware/m.go", importing("middleware", "middleware/middlewaretest"), []string{"middleware imports middleware/middlewaretest"}},
		"of a test":                 {"cache/c_test.go", importing("cache_test", "retry", "chain"), nil},
		"of a package in no layer":  {"novel/n.go", importing("novel"), []string{"novel is in no layer"}},
		"to a package in no layer":  {"cache/c.go", importing("cache", "novel"), nil}, // the package itself is the fault
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantFaults(t, importFaults(repository(t, map[string]string{tt.file: tt.source})), tt.want...)
		})
	}
}

func TestNoModuleImportsAnothersInternals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, source string
		want         []string
	}{
		"of the root":                 {"contrib/otel/o.go", importing("otel", "internal/fault"), []string{"contrib/otel/o.go: imports internal/fault, an internal package of another module"}},
		"of the root, by a test":      {"contrib/otel/o_test.go", importing("otel", "internal/fault"), []string{"imports internal/fault"}},
		"further down":                {"contrib/otel/o.go", importing("otel", "hitl/internal/waiting"), []string{"imports hitl/internal/waiting"}},
		"of a module, by the root":    {"examples/agent/a.go", importing("main", "contrib/otel/internal/x"), []string{"imports contrib/otel/internal/x"}},
		"of its own":                  {"contrib/otel/o.go", importing("otel", "contrib/otel/internal/x"), nil},
		"public ones":                 {"contrib/otel/o.go", importing("otel", "middleware"), nil},
		"what verify may measure":     {"verify/bench/b.go", importing("main", "internal/guard"), nil},
		"what verify may not see":     {"verify/bench/b.go", importing("main", "internal/fault"), []string{"imports internal/fault"}},
		"verify, by a released one":   {"contrib/otel/o.go", importing("otel", "verify/world"), []string{"contrib/otel imports verify/world"}},
		"one adapter, by another one": {"contrib/otel/o.go", importing("otel", "contrib/redis"), []string{"contrib/otel imports contrib/redis"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const mod = "module x\n\ngo " + goVersion + "\n"
			wantFaults(t, importFaults(repository(t, map[string]string{
				"contrib/otel/go.mod": mod, "contrib/redis/go.mod": mod, "verify/go.mod": mod, tt.file: tt.source,
			})), tt.want...)
		})
	}
}
