package infer_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A labelled tool is one of a real catalogue, with what it really does.
type labelled struct {
	Server string
	mcp.Tool
	class annotation.Safety
	also  []annotation.Safety
}

func (l *labelled) UnmarshalJSON(data []byte) error {
	var raw struct {
		Server, Name, Title, Description string
		InputSchema                      any
	}
	err := json.Unmarshal(data, &raw)
	l.Server = raw.Server
	l.Tool = mcp.Tool{Name: raw.Name, Title: raw.Title, Description: raw.Description, InputSchema: raw.InputSchema}
	return err
}

// catalogues reads the labelled catalogues that lie beside the checkout. They are
// other people's words and no part of the project.
func catalogues(tb testing.TB) []labelled {
	tb.Helper()
	dir := filepath.Join("..", "..", "shared", "eval")
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("SKIPPED: the labelled catalogues are not at %s: the figures of infer/testdata/README.md are not checked", dir)
	}
	tools := lines[labelled](tb, filepath.Join(dir, "tools.jsonl"))
	labels := lines[struct {
		Name, Class string
		Also        []string
	}](tb, filepath.Join(dir, "labels.jsonl"))
	for i := range tools {
		tools[i].class = classOf(labels[i].Class)
		for _, c := range labels[i].Also {
			tools[i].also = append(tools[i].also, classOf(c))
		}
	}
	return tools
}

func classOf(s string) annotation.Safety {
	for _, c := range []annotation.Safety{annotation.Safe, annotation.Moderate, annotation.Dangerous} {
		if c.String() == s {
			return c
		}
	}
	return annotation.Unknown
}

func lines[T any](tb testing.TB, path string) []T {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var out []T
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		out = append(out, v)
	}
	return out
}

// inferAll infers catalogue by catalogue, as a host does.
func inferAll(tools []labelled) []annotation.Annotations {
	byServer := make(map[string][]int)
	for i := range tools {
		byServer[tools[i].Server] = append(byServer[tools[i].Server], i)
	}
	out := make([]annotation.Annotations, len(tools))
	for _, rows := range byServer {
		defs := make([]*mcp.Tool, len(rows))
		for k, i := range rows {
			defs[k] = &tools[i].Tool
		}
		for k, a := range infer.Tools(defs) {
			out[rows[k]] = a
		}
	}
	return out
}

type share struct{ hit, of int }

func (s *share) add(hit bool) {
	s.of++
	if hit {
		s.hit++
	}
}

func (s share) percent() float64 { return 100 * float64(s.hit) / float64(max(s.of, 1)) }

// TestLabelledCatalogues holds the goals of infer/testdata/README.md.
func TestLabelledCatalogues(t *testing.T) {
	t.Parallel()
	tools := catalogues(t)
	var unsafe, missed, found, overAsk, writeAsk, accurate share
	for i, a := range inferAll(tools) {
		l, got := &tools[i], a.Safety()
		fine := got == l.class || slices.Contains(l.also, got)
		asks := got.MustConfirm() && !slices.Contains(l.also, annotation.Dangerous)
		accurate.add(fine)
		switch l.class {
		case annotation.Safe:
			found.add(fine)
			overAsk.add(asks)
		case annotation.Moderate:
			unsafe.add(got == annotation.Safe && !fine)
			writeAsk.add(asks)
		case annotation.Dangerous:
			unsafe.add(got == annotation.Safe && !fine)
			missed.add(!got.MustConfirm() && !fine)
		}
	}
	for _, goal := range []struct {
		name  string
		share share
		most  float64
		least float64
	}{
		{"unsafe", unsafe, 0.2, 0}, {"missed", missed, 1, 0}, {"read-found", found, 100, 96},
		{"over-ask", overAsk, 1.5, 0}, {"write-ask", writeAsk, 6, 0}, {"accuracy", accurate, 100, 97},
	} {
		p := goal.share.percent()
		t.Logf("%-10s %6.2f %% (%d of %d)", goal.name, p, goal.share.hit, goal.share.of)
		if p > goal.most || p < goal.least {
			t.Errorf("%s: %.2f %%, want between %v and %v", goal.name, p, goal.least, goal.most)
		}
	}
}
