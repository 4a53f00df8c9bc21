package main

import (
	"fmt"
	"slices"
	"strings"
)

// layers has every package of the repository, the lowest layer first. A package imports packages of lower layers, and
// of its own family; tests may import any. An element is a family: one package, several (separated by a blank), or a
// tree ("x/..."). A package belongs to the longest element that names it.
//
// The linter is stricter for single packages: .golangci.yml lists what each may import.
var layers = [][]string{
	{"internal/jsontree"},                         // the numbers of a definition, of which the canonical form has the digits
	{"internal/canonical", "internal/strictjson"}, // what the leaves are built on
	{"annotation"},
	{"middleware"},
	{"internal/... hitl/safetext audit/redact"}, // what library packages share
	{ // one policy each, which never sees another, and the order of them, which sees none
		"audit", "budget", "cache", "retry/doubt", "flow/...", "hitl/... internal/lifecycle", "infer/...", "output", "preflight/...", "prompt",
		"ratelimit", "retry", "route", "timeout", "chain", "catalog/finding", "catalog/pins", "catalog/search",
	},
	{"chain/batch", "catalog/..."},
	{"catalog/mount/..."},
	{"annotation/annotationtest", "chain/batch/batchtest", "fairleadtest/...", "middleware/middlewaretest"},
	{
		"contrib/anthropic/...", "contrib/eino/...", "contrib/mcpgo/...", "contrib/openai/...", "contrib/otel/...",
		"contrib/postgres/...", "contrib/redis/...", "contrib/sqlprobe/...",
	},
	{".", "cmd/fairlead/...", "docs/recipes/...", "examples/...", "hitl/inbox/browsertest"},
	{"verify/..."},
}

// sharedInternals are the internal packages of the root that verify imports: it is never released, and measures and
// compares what is inside.
var sharedInternals = []string{"internal/bm25", "internal/callstate", "internal/canonical", "internal/guard", "internal/lifecycle", "internal/testtool"}

// place is where a package is in layers. The zero place is nowhere.
type place struct {
	layer  int // 1 is the lowest
	family string
}

// placeOf returns the place of a package, given without the path of the root module.
func placeOf(p string) (at place) {
	longest := 0
	for i, families := range layers {
		for _, family := range families {
			for element := range strings.FieldsSeq(family) {
				tree, isTree := strings.CutSuffix(element, "/...")
				if (p == tree || isTree && strings.HasPrefix(p, tree+"/")) && len(tree) > longest {
					at, longest = place{layer: i + 1, family: family}, len(tree)
				}
			}
		}
	}
	return at
}

// importFaults returns the imports that point up or sideways, and those of an internal package of another module.
func importFaults(modules []*module) (faults []string) {
	for _, m := range modules {
		for _, p := range m.packages {
			for _, f := range p.files {
				for _, imported := range f.imports {
					if fault := importFault(modules, m, p, f.test, imported); fault != "" {
						faults = append(faults, f.name+": "+fault)
					}
				}
			}
			if placeOf(local(p.path)) == (place{}) {
				faults = append(faults, local(p.path)+" is in no layer; give it a place in verify/layout/layers.go")
			}
		}
	}
	return faults
}

func importFault(modules []*module, m *module, p *pkg, test bool, imported string) string {
	of := owner(modules, imported)
	if of == nil {
		return "" // of another repository, or of the standard library
	}
	if verifies := local(m.path) == "verify" && slices.Contains(sharedInternals, local(imported)); of != m && hasInternal(imported) && !verifies {
		return fmt.Sprintf("imports %s, an internal package of another module", local(imported))
	}
	from, to := placeOf(local(p.path)), placeOf(local(imported))
	if test || from.layer > to.layer || from.family == to.family {
		return ""
	}
	return fmt.Sprintf("%s imports %s, which is not below it in verify/layout/layers.go", local(p.path), local(imported))
}
