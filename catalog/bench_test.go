//go:build unix

package catalog_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// collected are tools of real servers, where the collection is at hand.
func collected(b *testing.B) []*mcp.Tool {
	b.Helper()
	f, err := os.Open(filepath.Join("..", "..", "shared", "eval", "tools.jsonl"))
	if err != nil {
		b.Skipf("SKIPPED: no collection of tools: %v", err)
	}
	defer f.Close()
	var tools []*mcp.Tool
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		tool := new(mcp.Tool)
		if err := json.Unmarshal(lines.Bytes(), tool); err != nil {
			b.Fatal(err)
		}
		tools = append(tools, tool)
	}
	return tools
}

func BenchmarkAdd(b *testing.B) {
	for _, kind := range []struct {
		name    string
		samples func(b *testing.B) []*mcp.Tool
	}{
		{"tiny", func(*testing.B) []*mcp.Tool { return tiny() }},
		{"written", func(*testing.B) []*mcp.Tool { return written() }},
		{"collected", collected},
	} {
		for _, n := range []int{1000, 10_000} {
			b.Run(fmt.Sprintf("%s/n=%d", kind.name, n), func(b *testing.B) {
				s := shelfOf(n, kind.samples(b))
				b.ReportAllocs()
				begun := cpu()
				for b.Loop() {
					c := catalog.New(catalog.Options{})
					if err := c.Add(b.Context(), "srv", s); err != nil {
						b.Fatal(err)
					}
					if got := len(c.List()); got < n*9/10 {
						b.Fatalf("%d tools, %v", got, c.Findings()[:3])
					}
				}
				b.ReportMetric(float64((cpu()-begun).Nanoseconds())/float64(b.N)/float64(n), "cpu-ns/tool")
			})
		}
	}
}

// cpu is the time that the process has had, its garbage collector's included: what
// else the machine does counts for nothing.
func cpu() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkLookup(b *testing.B) {
	c := catalog.New(catalog.Options{})
	add(b, c, "srv", shelfOf(10_000, tiny()))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.Lookup("srv", "list_things_5000"); !ok {
			b.Fatal("not there")
		}
	}
}

// BenchmarkOverride is one word of the host's among 10,000 tools.
func BenchmarkOverride(b *testing.B) {
	c := catalog.New(catalog.Options{})
	add(b, c, "srv", shelfOf(10_000, tiny()))
	for b.Loop() {
		if err := c.Override("srv", "list_things_5000", annotation.ReadOnly()); err != nil {
			b.Fatal(err)
		}
	}
}
