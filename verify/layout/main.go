// Command layout prints the size of every package of the repository, and exits with 1 if a
// package or a module is too large.
//
//	go -C verify run ./layout            # every package
//	go -C verify run ./layout -faults    # only the faults, and the totals
//
// A row has the package's lines (of .go files other than tests) and its exported top-level names (the values of
// an enumeration count with their type). The rules for imports are in .golangci.yml.
package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

// Limits. The goals are 36,000 lines for the root module and 61,000 for all.
const (
	mostNames     = 25
	mostLines     = 1500
	mostRootLines = 37_700
	mostLinesEver = 64_250
)

// exceptions have more lines than mostLines, each for its reason.
var exceptions = map[string]string{
	prefix + "/infer": "its lexicon is a table of words",
}

func main() {
	brief := flag.Bool("faults", false, "print only what is wrong, and the totals")
	flag.Parse()
	faults, err := run(*brief)
	if err != nil {
		fmt.Fprintln(os.Stderr, "layout:", err)
		os.Exit(1)
	}
	for _, fault := range faults {
		fmt.Println("FAULT:", fault)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

func run(brief bool) (faults []string, err error) {
	root, err := repo.Root()
	if err != nil {
		return nil, err
	}
	modules, err := read(root)
	if err != nil {
		return nil, err
	}
	all := 0
	for _, m := range modules {
		if !brief {
			fmt.Printf("\n%-52s %7s %6s\n", m.path, "lines", "names")
		}
		lines := 0
		for _, p := range m.packages {
			lines += p.lines
			if !brief {
				fmt.Printf("  %-50s %7d %6d\n", strings.TrimPrefix(p.path, prefix+"/"), p.lines, len(p.names))
			}
			faults = append(faults, p.faults(m)...)
		}
		fmt.Printf("%-52s %7d\n", "total of "+path.Join(".", strings.TrimPrefix(m.path, prefix)), lines)
		if all += lines; m.path == prefix && lines > mostRootLines {
			faults = append(faults, fmt.Sprintf("the root module has %d lines, more than %d", lines, mostRootLines))
		}
	}
	fmt.Printf("%-52s %7d\n", "total", all)
	if all > mostLinesEver {
		faults = append(faults, fmt.Sprintf("all modules have %d lines, more than %d", all, mostLinesEver))
	}
	return faults, nil
}

func (p *pkg) faults(m *module) (faults []string) {
	if m.path != prefix || !p.exported() {
		return faults
	}
	if n := len(p.names); n > mostNames {
		faults = append(faults, fmt.Sprintf("%s exports %d names, more than %d", p.path, n, mostNames))
	}
	if _, excused := exceptions[p.path]; p.lines > mostLines && !excused {
		faults = append(faults, fmt.Sprintf("%s has %d lines, more than %d", p.path, p.lines, mostLines))
	}
	return faults
}
