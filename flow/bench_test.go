package flow

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// prose returns words of a vocabulary of 5,000.
func prose(dice *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		n := dice.IntN(5000)
		for range 2 + n%7 {
			b.WriteByte(byte('a' + (n*7+b.Len())%26))
		}
		b.WriteString([]string{" ", " ", " ", ", ", ". ", "\n", " 12 ", ": "}[dice.IntN(8)])
	}
	return b.String()[:size]
}

// traced returns what traces eight arguments, which stand nowhere or in the user's words, against 64 results of 4 KB.
func traced(b testing.TB) (trace func()) {
	b.Helper()
	dice := rand.New(rand.NewPCG(1, 2))
	t := NewTracker(Limits{})
	t.User("", "Please book the flight from Paris to London for Emma Johnson on the 3rd of May and tell me the price.")
	properties := map[string]any{}
	for name := range strings.FieldsSeq("city count description event_id name start status title") {
		properties[name] = map[string]any{"type": "string"}
	}
	tool, err := middleware.NewTool("shop", &mcp.Tool{Name: "create_event", InputSchema: map[string]any{"type": "object", "properties": properties}}, annotation.Write())
	if err != nil {
		b.Fatal(err)
	}
	call := middleware.Call{Tool: tool}
	s := t.session("")
	for range 64 {
		t.take("", s, call, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: prose(dice, 4096)}}}, nil, false)
	}
	form := []byte(`{"city":"Paris","count":2,"description":"a window seat, if there is one","event_id":"evt_8271aa","name":"Emma Johnson","start":"2026-05-03T10:00","status":"tentative","title":"Flight to London"}`)
	tr := New(Options{Tracker: t})(nil).(*caller).tracer
	return func() {
		if got, _, _ := tr.trace(s, &call, form); got != nil {
			b.Fatal(got)
		}
	}
}

func BenchmarkTrace(b *testing.B) {
	trace := traced(b)
	b.ReportAllocs()
	for b.Loop() {
		trace()
	}
}

// The time of a trace depends on the machine; what it allocates does not.
func TestTraceAllocatesLittle(t *testing.T) {
	trace := traced(t)
	if raced {
		t.Skip("the race detector allocates")
	}
	trace() // reads the results
	if got := testing.AllocsPerRun(100, trace); got > 4 {
		t.Errorf("%v allocations, want 4 at most", got)
	}
}

// Every value stands in the latest of 64 results, which the user asked for: so its arguments are compared with the user's
// words.
func BenchmarkTraceOfAskedResult(b *testing.B) {
	dice := rand.New(rand.NewPCG(1, 2))
	t := NewTracker(Limits{})
	t.User("", "Add the fair of page-8271 to my calendar.")
	properties := map[string]any{}
	values := map[string]string{}
	for i, name := range strings.Fields("description end location place room start venue when") {
		properties[name] = map[string]any{"type": "string"}
		values[name] = fmt.Sprint(prose(dice, 20), " hall ", i)
	}
	values["start"], values["end"], values["when"] = "2026-05-03", "2026-05-04", "2026-05-05"
	tool, err := middleware.NewTool("calendar", &mcp.Tool{Name: "create_event", InputSchema: map[string]any{"type": "object", "properties": properties}}, annotation.Write())
	if err != nil {
		b.Fatal(err)
	}
	form, err := json.Marshal(values)
	if err != nil {
		b.Fatal(err)
	}
	read := middleware.Call{Tool: &middleware.Tool{Server: "web", Definition: &mcp.Tool{Name: "read"}}, Arguments: json.RawMessage(`{"page":"page-8271","format":"text","sections":["fair","tickets"]}`)}
	s := t.session("")
	for i := range 64 {
		text := prose(dice, 4096)
		if i == 63 {
			text += strings.Join(slices.Sorted(maps.Values(values)), "\n")
		}
		t.take("", s, read, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, false)
	}
	call := middleware.Call{Tool: tool}
	tr := New(Options{Tracker: t})(nil).(*caller).tracer
	b.ReportAllocs()
	for b.Loop() {
		if got, _, _ := tr.trace(s, &call, form); got != nil {
			b.Fatal(got)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	for _, size := range []int{4 << 10, 256 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			dice := rand.New(rand.NewPCG(1, 2))
			t := NewTracker(Limits{})
			tool := &middleware.Tool{Server: "s", Definition: &mcp.Tool{Name: "read"}}
			call := middleware.Call{Tool: tool}
			res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: prose(dice, size)}}}
			s := t.session("")
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				t.take("", s, call, res, nil, false)
				s.settle()
			}
		})
	}
}
