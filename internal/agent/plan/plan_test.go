package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestSplitWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                        nil,
		"  a  b ":                 {"a", "b"},
		`a 'b c' "d \"e\""`:       {"a", "b c", `d "e"`},
		`path="old notes.txt" ''`: {"path=old notes.txt", ""},
		`a\ b`:                    {"a b"},
		`'a\b'`:                   {`a\b`},
	} {
		if got, err := plan.SplitWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is split into %q (%v), want %q", line, got, err, want)
		}
	}
	for _, line := range []string{`'a`, `"a`, `a\`} {
		if got, err := plan.SplitWords(line); err == nil {
			t.Errorf("%q is split into %q", line, got)
		}
	}
}

func tools(t *testing.T) []*middleware.Tool {
	t.Helper()
	var all []*middleware.Tool
	for name, properties := range map[string][]string{"read_file": {"path"}, "read_all": nil, "move_file": {"from", "to"}} {
		schema := map[string]any{"type": "object", "properties": map[string]any{}, "required": properties}
		for _, p := range properties {
			schema["properties"].(map[string]any)[p] = map[string]any{"type": "string"}
		}
		tool, err := middleware.NewTool("s", &mcp.Tool{Name: name, InputSchema: schema}, annotation.Annotations{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tool)
	}
	return all
}

func TestComplete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want, choices string }{
		{"m", "move_file ", "move_file "},
		{"r", "read_", "read_all |read_file "},
		{"x", "x", ""},
		{"move_file ", "move_file ", "from=|to="},
		{"move_file f", "move_file from=", "from="},
		{"move_file from=a ", "move_file from=a to=", "to="},
		{":w", ":why ", ":why "},
		{":why mo", ":why move_file", "move_file"},
		{"nothing ", "nothing ", ""},
	} {
		got, choices := plan.Complete(tools(t), c.line)
		slices.Sort(choices)
		if got != c.want || strings.Join(choices, "|") != c.choices {
			t.Errorf("%q is completed to %q of %q, want %q of %q", c.line, got, choices, c.want, c.choices)
		}
	}
}
