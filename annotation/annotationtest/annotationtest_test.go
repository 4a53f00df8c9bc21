package annotationtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/annotation/annotationtest"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A shop is a server with a little state.
type shop struct {
	orders map[string]string
	looks  int
}

func (s *shop) state() string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.orders)) {
		fmt.Fprintf(&b, "%s=%s;", id, s.orders[id])
	}
	return b.String()
}

func (s *shop) reset() { s.orders = map[string]string{"1": "new"} }

// tool is one tool with what it declares and does.
type tool struct {
	name string
	a    annotation.Annotations
	do   func()
}

func (s *shop) connect(t testing.TB, tools ...tool) *mcp.ClientSession {
	t.Helper()
	s.reset()
	server := mcptest.New()
	for _, tool := range tools {
		mcptest.Add(server, annotation.Declare(mcptest.Tool(tool.name, ""), tool.a), func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			if tool.do == nil {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "out of order"}}}, nil
			}
			tool.do()
			return mcptest.Text("done"), nil
		})
	}
	return mcptest.Connect(t, server, nil)
}

func (s *shop) honest() []tool {
	return []tool{
		{"orders_get", annotation.ReadOnly(), func() { s.looks++ }},
		{"order_create", annotation.Write(), func() { s.orders[fmt.Sprint(len(s.orders)+1)] = "new" }},
		{"order_update_status", annotation.Update(), func() { s.orders["1"] = "sent" }},
		{"order_cancel", annotation.Destructive(), func() { delete(s.orders, "1") }},
	}
}

var calls = map[string]json.RawMessage{
	"orders_get": json.RawMessage(`{}`), "order_update_status": json.RawMessage(`{"id":"1"}`), "order_create": json.RawMessage(`{}`),
}

func TestHonestServerPasses(t *testing.T) {
	s := new(shop)
	annotationtest.Run(t, s.connect(t, s.honest()...), annotationtest.Options{
		Want: map[string]annotation.Annotations{
			"orders_get": annotation.ReadOnly(), "order_create": annotation.Write(),
			"order_update_status": annotation.Update(), "order_cancel": annotation.Destructive(),
		},
		Calls: calls, State: s.state, Reset: s.reset,
	})
	if s.looks == 0 {
		t.Error("no tool was called")
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	twice := annotation.Annotations{ReadOnly: annotation.No, Destructive: annotation.No, Idempotent: annotation.Yes}
	open := annotation.ReadOnly()
	open.OpenWorld = annotation.Yes
	for name, row := range map[string]struct {
		tool tool
		want map[string]annotation.Annotations
		says string
	}{
		"no annotations":                {tool{"x", annotation.Annotations{}, func() {}}, nil, "it is not tagged"},
		"both":                          {tool{"x", annotation.Annotations{ReadOnly: annotation.Yes, Destructive: annotation.Yes}, func() {}}, nil, "both read-only and destructive"},
		"no preset":                     {tool{"x", annotation.Annotations{ReadOnly: annotation.No, Destructive: annotation.No}, func() {}}, nil, "want one of the presets"},
		"another preset than meant":     {tool{"x", annotation.Write(), func() {}}, map[string]annotation.Annotations{"x": annotation.Destructive()}, "destructiveHint: no, and should yes"},
		"more than meant":               {tool{"x", annotation.ReadOnly(), func() {}}, map[string]annotation.Annotations{"x": open}, "openWorldHint: unset, and should yes"},
		"the intention is not declared": {tool{"x", annotation.ReadOnly(), func() {}}, map[string]annotation.Annotations{}, "does not say what it should declare"},
		"a wish for no tool":            {tool{"x", annotation.ReadOnly(), func() {}}, map[string]annotation.Annotations{"x": open, "y": open}, `"y", which the server does not list`},
		"a read that writes":            {tool{"x", annotation.ReadOnly(), nil}, nil, "answered with an error: out of order"},
		"declared idempotent, it adds":  {tool{"x", twice, nil}, nil, "out of order"},
	} {
		s := new(shop)
		faults, _ := annotationtest.Faults(t.Context(), s.connect(t, row.tool), annotationtest.Options{
			Want: row.want, Calls: map[string]json.RawMessage{"x": json.RawMessage(`{}`)}, State: s.state,
		})
		if said := fmt.Sprint(faults); !strings.Contains(said, row.says) {
			t.Errorf("%s: %s does not say %q", name, said, row.says)
		}
	}
}

// A tool that is declared read-only leaves the state as it was; one declared
// idempotent gives the same state after two calls.
func TestBehaviorThatContradictsTheDeclarationIsFound(t *testing.T) {
	t.Parallel()
	s := new(shop)
	grow := func() { s.orders[fmt.Sprint(len(s.orders)+1)] = "new" }
	session := s.connect(t,
		tool{"lists_and_adds", annotation.ReadOnly(), grow},
		tool{"sets_and_adds", annotation.Update(), grow},
		tool{"touches_once", annotation.ReadOnly(), func() { s.orders["1"] = "seen" }},
	)
	some := json.RawMessage(`{}`)
	faults, _ := annotationtest.Faults(t.Context(), session, annotationtest.Options{
		Calls: map[string]json.RawMessage{"lists_and_adds": some, "sets_and_adds": some, "touches_once": some}, State: s.state, Reset: s.reset,
	})
	for name, want := range map[string][]string{
		"lists_and_adds": {`read-only and changed the state from "1=new;" to "1=new;2=new;"`, "second call changed"},
		"sets_and_adds":  {"second call changed"},
		"touches_once":   {"read-only and changed"},
	} {
		if len(faults[name]) != len(want) {
			t.Errorf("%s: %q, want %d faults", name, faults[name], len(want))
			continue
		}
		for i := range want {
			if !strings.Contains(faults[name][i], want[i]) {
				t.Errorf("%s: %q does not say %q", name, faults[name][i], want[i])
			}
		}
	}
}

func TestUntestedToolsAreReported(t *testing.T) {
	t.Parallel()
	s := new(shop)
	session := s.connect(t, s.honest()...)
	_, skipped := annotationtest.Faults(t.Context(), session, annotationtest.Options{State: s.state})
	if !strings.Contains(skipped["orders_get"], "nobody tried it") || skipped["order_cancel"] != "" {
		t.Errorf("skipped: %q", skipped)
	}
	faults, _ := annotationtest.Faults(t.Context(), session, annotationtest.Options{Calls: map[string]json.RawMessage{"none": nil}})
	if !strings.Contains(fmt.Sprint(faults[""]), `Options.Calls has "none"`) {
		t.Errorf("faults: %v", faults)
	}
}
