package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/search"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// manyTools returns a catalog of 10 servers with 1,000 tools each, with descriptions of 60
// words, some of them common and most of them rare, as in a language.
func manyTools(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	rare := rand.NewZipf(random, 1.2, 8, 5000)
	verbs := []string{"get", "list", "create", "update", "delete", "search", "send", "export"}
	nouns := []string{"customer", "invoice", "page", "file", "issue", "project", "message", "report", "branch", "database"}
	word := func() string {
		n := int(rare.Uint64())
		if n < len(verbs)+len(nouns) {
			return append(verbs, nouns...)[n]
		}
		return fmt.Sprintf("%c%cw%d", 'a'+n%26, 'a'+n/26%26, n)
	}
	c := catalog.New(catalog.Options{})
	for server := range 10 {
		tools := make([]*mcp.Tool, 1000)
		for i := range tools {
			words := make([]string, 60)
			for j := range words {
				words[j] = word()
			}
			name := fmt.Sprintf("%s_%s_%d", verbs[random.IntN(len(verbs))], nouns[random.IntN(len(nouns))], i)
			tools[i] = mcptest.Tool(name, strings.Join(words, " "))
		}
		add(tb, c, fmt.Sprintf("server-%d", server), listing(tools...))
	}
	return c
}

// BenchmarkSearch compares a search of 10,000 tools with the plain way, one
// strings.Contains for each word over the text of each tool, in lower case already
// and in no order. The two take turns. "ratio" is how much longer the plain way
// takes; "index-ms" is what the first search pays in addition.
func BenchmarkSearch(b *testing.B) {
	c := manyTools(b)
	var texts []string
	for _, t := range c.List() {
		texts = append(texts, strings.ToLower(t.Name()+" "+t.Definition.Description))
	}
	x := search.New(c)
	find := func(text string) func() {
		return func() {
			if _, err := x.Search(search.Query{Text: text}); err != nil {
				b.Fatal(err)
			}
		}
	}
	start := time.Now()
	find("customer")()
	index := time.Since(start)
	for _, bb := range []struct {
		name string
		run  func()
		text string
	}{
		{"one common word", find("customer"), "customer"},
		{"one rare word", find("cjw470"), "cjw470"},
		{"a question", find("Which customers have an overdue invoice in this project?"), "customers overdue invoice project"},
		{"select", func() {
			if _, err := x.Select(b.Context(), "Which customers have an overdue invoice in this project?", search.SelectOptions{}); err != nil {
				b.Fatal(err)
			}
		}, "customers overdue invoice project"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var ours, plain time.Duration
			for b.Loop() {
				start := time.Now()
				bb.run()
				ours += time.Since(start)
				start = time.Now()
				n := 0
				for word := range strings.FieldsSeq(bb.text) {
					for _, text := range texts {
						if strings.Contains(text, word) {
							n++
						}
					}
				}
				plain += time.Since(start)
			}
			b.ReportMetric(float64(plain)/float64(ours), "ratio")
			b.ReportMetric(float64(index.Milliseconds()), "index-ms")
		})
	}
}
