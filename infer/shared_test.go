package infer_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shared returns a path among the labelled sets, which lie beside the checkout. They are other people's words and no
// part of the project. Without them the test is skipped.
func shared(tb testing.TB, path ...string) string {
	tb.Helper()
	dir := filepath.Join("..", "..", "shared", "eval")
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("SKIPPED: the labelled sets are not at %s: the figures of infer/testdata/README.md are not checked", dir)
	}
	return filepath.Join(append([]string{dir}, path...)...)
}

// A labelled tool is one of a real catalog, with what it really does.
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

func (l *labelled) fine(got annotation.Safety) bool {
	return got == l.class || slices.Contains(l.also, got)
}

// catalogs reads a labelled set: "" is the one that the rules were made on.
func catalogs(tb testing.TB, set ...string) []labelled {
	tb.Helper()
	tools := lines[labelled](tb, shared(tb, append(set, "tools.jsonl")...))
	labels := lines[struct {
		Name, Class string
		Also        []string
	}](tb, shared(tb, append(set, "labels.jsonl")...))
	for i := range tools {
		tools[i].class = classOf(labels[i].Class)
		for _, c := range labels[i].Also {
			tools[i].also = append(tools[i].also, classOf(c))
		}
	}
	return tools
}

func classOf(s string) (class annotation.Safety) {
	_ = class.UnmarshalText([]byte(s)) // which leaves Unknown
	return class
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

// inferAll infers catalog by catalog, as a host does.
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

// show logs a miss if MISSES names the set.
func show(tb testing.TB, set, kind string, def *mcp.Tool, a annotation.Annotations) {
	if os.Getenv("MISSES") != set {
		return
	}
	description := strings.Join(strings.Fields(def.Description), " ")
	because := ""
	for _, e := range a.Evidence {
		because += fmt.Sprintf(" [%s %s: %q %s; %s]", e.Field, e.Value, e.Word, e.Place, e.Rule)
		if e.Field == annotation.RequiresConfirmation || len(because) > 150 {
			break
		}
	}
	tb.Logf("%s %s is %v %v: %.160s | %s", kind, def.Name, a.Safety(), because, description, a.Conditions)
}

// A goal is a share with its bounds.
type goal struct {
	name        string
	share       share
	most, least float64
}

func hold(t *testing.T, goals []goal) {
	t.Helper()
	for _, g := range goals {
		p := g.share.percent()
		t.Logf("%-12s %6.2f %% (%d of %d)", g.name, p, g.share.hit, g.share.of)
		if p > g.most || p < g.least {
			t.Errorf("%s: %.2f %%, want between %v and %v", g.name, p, g.least, g.most)
		}
	}
}

// figures are those of infer/testdata/README.md.
type figures struct{ unsafe, missed, found, overAsk, writeAsk, accurate share }

func measure(t *testing.T, set string, tools []labelled) (f figures) {
	t.Helper()
	for i, a := range inferAll(tools) {
		l, got := &tools[i], a.Safety()
		// A label is that of the usual call: without an output file that one may name, say.
		usual := a.Decide(nil, nil).Class
		fine := l.fine(got) || l.fine(usual)
		asks := usual.MustConfirm() && !slices.Contains(l.also, annotation.Dangerous)
		f.accurate.add(fine)
		kind := ""
		switch l.class {
		case annotation.Safe:
			f.found.add(fine)
			f.overAsk.add(asks)
			kind = "NOTFOUND"
		case annotation.Moderate:
			f.unsafe.add(got == annotation.Safe && !fine)
			f.writeAsk.add(asks)
			kind = "WRITEASK"
		case annotation.Dangerous:
			f.unsafe.add(got == annotation.Safe && !fine)
			f.missed.add(!got.MustConfirm() && !fine)
			kind = "MISSED"
		}
		if got == annotation.Safe {
			kind = "UNSAFE"
		}
		if !fine {
			show(t, set, kind+" "+l.Server+" label "+l.class.String(), &l.Tool, a)
		}
	}
	return f
}

// TestLabelledCatalogs holds the goals of the set that the rules were made on.
func TestLabelledCatalogs(t *testing.T) {
	t.Parallel()
	f := measure(t, "made", catalogs(t))
	hold(t, []goal{
		{"unsafe", f.unsafe, 0.2, 0}, {"missed", f.missed, 1, 0}, {"read-found", f.found, 100, 96},
		{"over-ask", f.overAsk, 1.5, 0}, {"write-ask", f.writeAsk, 6, 0}, {"accuracy", f.accurate, 100, 97},
	})
}

// half shows in which half of a set a server is: rules are made on one, and the other is looked at when they stand.
func half(server string) int {
	sum := 0
	for i := range len(server) {
		sum = sum*31 + int(server[i])
	}
	return (sum >> 3) & 1
}

// TestOtherServers holds the goals of the shared half of the servers that were gathered last.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	tools := catalogs(t, "wild")
	set := "wild"
	if of := os.Getenv("HALF"); of != "" {
		tools = slices.DeleteFunc(tools, func(l labelled) bool { return fmt.Sprint(half(l.Server)) != of })
	}
	f := measure(t, set, tools)
	hold(t, []goal{
		{"unsafe", f.unsafe, 0, 0}, {"missed", f.missed, 1, 0}, {"read-found", f.found, 100, 95},
		{"over-ask", f.overAsk, 3, 0}, {"write-ask", f.writeAsk, 10, 0}, {"accuracy", f.accurate, 100, 96},
	})
}

// TestFinds holds that faults which were found by reading stay mended.
func TestFinds(t *testing.T) {
	t.Parallel()
	tools := lines[labelled](t, shared(t, "wild", "finds.tools.jsonl"))
	labels := lines[struct {
		Class string
		Also  []string
	}](t, shared(t, "wild", "finds.labels.jsonl"))
	unsafe, missed := 0, 0
	for i := range tools {
		tools[i].class = classOf(labels[i].Class)
		for _, c := range labels[i].Also {
			tools[i].also = append(tools[i].also, classOf(c))
		}
	}
	for i, a := range inferAll(tools) {
		switch l := &tools[i]; {
		case a.Safety() == annotation.Safe:
			unsafe++
			show(t, "finds", "UNSAFE", &l.Tool, a)
		case l.class == annotation.Dangerous && !a.MustConfirm():
			missed++
			show(t, "finds", "MISSED", &l.Tool, a)
		}
	}
	t.Logf("unsafe %d, missed %d of %d", unsafe, missed, len(tools))
	if unsafe > 0 || missed > 1 {
		t.Error("the goals are 0 and at most 1")
	}
}

// TestNamesThatOnlyRead holds that what runs its arguments asks, whatever its name is.
func TestNamesThatOnlyRead(t *testing.T) {
	t.Parallel()
	for _, l := range lines[labelled](t, shared(t, "wild", "matrix.jsonl")) {
		if a := infer.Tool(&l.Tool); !a.MustConfirm() {
			t.Errorf("%s %q is %v: %v", l.Name, l.Description, a.Safety(), a.Evidence)
		}
	}
}

// TestOutside holds the goals of operations that their authors labelled.
func TestOutside(t *testing.T) {
	t.Parallel()
	tools := lines[labelled](t, shared(t, "outside", "aws-a.tools.jsonl"))
	labels := lines[struct{ Label string }](t, shared(t, "outside", "aws-a.labels.jsonl"))
	var unsafe, found, asked, unasked share
	for i := range tools { // one at a time, as they are not tools of one server
		a, set := infer.Tool(&tools[i].Tool), "aws"
		switch got := a.Safety(); labels[i].Label {
		case "read":
			found.add(got == annotation.Safe)
			asked.add(got.MustConfirm())
			if got.MustConfirm() {
				show(t, set, "ASKED", &tools[i].Tool, a)
			} else if got != annotation.Safe {
				show(t, set, "NOTFOUND", &tools[i].Tool, a)
			}
		case "delete":
			unasked.add(!got.MustConfirm())
			fallthrough
		default:
			unsafe.add(got == annotation.Safe)
			if got == annotation.Safe {
				show(t, set, "UNSAFE", &tools[i].Tool, a)
			}
		}
	}
	hold(t, []goal{{"unsafe", unsafe, 0.8, 0}, {"found", found, 100, 97.5}, {"asked", asked, 0.2, 0}, {"not asked", unasked, 1, 0}})
}

// mildest returns the class of the mildest call of a tool: the one that each condition lowers the most.
func mildest(a annotation.Annotations) annotation.Safety {
	class := a.Safety()
	worst, best := annotation.Safe, annotation.Safe
	for _, c := range a.Conditions {
		least := max(c.Absent, c.Other)
		for _, o := range c.Values {
			least = max(least, o.Class)
		}
		if c.Language != "" {
			least = annotation.Safe
		}
		worst, best = min(worst, c.Worst()), min(best, least)
	}
	if len(a.Conditions) == 0 || worst > class {
		return class
	}
	return best
}

// popular reads the lists of servers that people install most, with a careful reader's judgement of each tool.
func popular(tb testing.TB) (servers map[string][]*mcp.Tool, judged map[string]string) {
	tb.Helper()
	raw, err := os.ReadFile(shared(tb, "popular", "judgement.tsv"))
	if err != nil {
		tb.Fatal(err)
	}
	servers, judged = make(map[string][]*mcp.Tool), make(map[string]string)
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(line, "\t")
		if len(cells) > 4 && cells[0] != "server" {
			servers[cells[0]] = nil
			if strings.HasPrefix(cells[5], "declared") && cells[4] == "ok" {
				continue // what the server declared decided, which is not looked at here
			}
			judged[cells[0]+"/"+cells[1]] = cells[4] + " " + cells[2]
		}
	}
	for server := range servers {
		var list struct{ Tools []*mcp.Tool }
		raw, err := os.ReadFile(shared(tb, "popular", server+".json"))
		if err == nil {
			err = json.Unmarshal(raw, &list)
		}
		if err != nil {
			tb.Fatal(server, err)
		}
		servers[server] = list.Tools
	}
	return servers, judged
}

// TestPopular holds the goals of the servers that people install most, from the words of their tools alone. A tool is
// unsafe if it may write and no condition shows when; it asks needlessly if every call of it does.
func TestPopular(t *testing.T) {
	t.Parallel()
	servers, judged := popular(t)
	unsafe, overAsked, missed, of := 0, 0, 0, 0
	for server, tools := range servers {
		for i, a := range infer.Tools(tools) {
			judgement, was, _ := strings.Cut(judged[server+"/"+tools[i].Name], " ")
			if strings.HasPrefix(judged[server+"/"+tools[i].Name], "WRONG MODERATE") {
				judgement, was, _ = strings.Cut(strings.TrimPrefix(judged[server+"/"+tools[i].Name], "WRONG MODERATE ("), ")")
			}
			if judgement == "" {
				continue
			}
			of++
			reads := judgement == "ok" && was == "safe" || judgement == "read"
			switch class := a.Safety(); {
			case class == annotation.Safe && !reads && judgement != "OVER-ASK":
				unsafe++
				show(t, "popular", "UNSAFE "+server, tools[i], a)
			case mildest(a).MustConfirm() && (reads || judgement == "OVER-ASK"):
				overAsked++
				show(t, "popular", "OVERASKED "+server, tools[i], a)
			case mildest(a) == annotation.Moderate && reads:
				show(t, "popular", "NOTFOUND "+server, tools[i], a)
			case !class.MustConfirm() && judgement == "should ask":
				missed++
				show(t, "popular", "MISSED "+server, tools[i], a)
			}
		}
	}
	t.Logf("unsafe %d, asked needlessly %d, missed %d of %d", unsafe, overAsked, missed, of)
	if unsafe > 0 || overAsked > 5 {
		t.Error("the goals are 0 and at most 5")
	}
}
