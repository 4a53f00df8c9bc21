package report_test

import (
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/cmd/fairlead/report"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestRules(t *testing.T) {
	t.Parallel()
	broken := tool("get_a", "", readOnly)
	broken.InputSchema = map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"$ref": "#/nowhere"}}}
	hiddenInSchema := tool("get_a", "", readOnly)
	hiddenInSchema.InputSchema = map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"description": "x\u200by"}}}
	yes := true
	for name, c := range map[string]struct {
		tool *mcp.Tool
		want []string
	}{
		"nothing stands out":                    {tool("get_a", "", readOnly), nil},
		"declares nothing":                      {tool("get_a", "", nil), []string{"note declares-nothing get_a"}},
		"says read-only and begins with create": {tool("create_a", "", readOnly), []string{"warning doubted-write create_a"}},
		"says read-only and begins with delete": {tool("delete_a", "", readOnly), []string{"error doubted delete_a"}},
		"nothing says what it does":             {tool("xyzzy", "", nil), []string{"warning class-unknown xyzzy", "note declares-nothing xyzzy"}},
		"read-only is all there is":             {tool("xyzzy", "", readOnly), []string{"warning class-unknown xyzzy", "note unbelieved xyzzy"}},
		"both at once":                          {tool("delete_a", "", &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &yes}), []string{"error doubted delete_a", "warning contradiction delete_a"}},
		"hidden in the description":             {tool("get_a", "Gets a.\u200b\u202e", readOnly), []string{"error hidden-characters get_a"}},
		"hidden in the schema":                  {hiddenInSchema, []string{"error hidden-characters get_a"}},
		"a schema that will be refused":         {broken, []string{"error bad-schema"}},
		"a name that is also a pattern":         {tool("get *", "", readOnly), []string{"error left-out"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := found(reportOn(t, c.tool)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Whatever is found, a person reads what to do about it, in each form for people.
func TestEachFindingEndsInANextStep(t *testing.T) {
	t.Parallel()
	kinds := []finding.Kind{
		finding.LeftOut, finding.Schema, finding.Unchecked, finding.Unreadable, finding.Contradiction, finding.Suspect, finding.SuspectWrite, finding.Overruled, finding.Untrusted,
		finding.Repeatable, finding.Lowered, finding.Unused, finding.Unprepared, finding.Stray, finding.Stale, finding.NotAccepted, finding.Gone, finding.Permission,
		"declares-nothing", "class-unknown", "hidden-characters", "unreachable",
	}
	for _, kind := range kinds {
		r := &report.Report{Findings: []report.Finding{{Level: report.Error, Rule: string(kind), Server: "files", Tool: "a", Text: "text"}}}
		all := written(t, r)
		table := strings.Split(strings.TrimSpace(all["table"]), "\n")
		last := strings.TrimSpace(table[len(table)-1])
		next, ok := strings.CutPrefix(last, "next: ")
		if !ok || strings.Contains(next, "docs/reference/command.md") || !strings.Contains(all["md"], ". Next: "+next+".\n") {
			t.Errorf("%s: the table ends in %q\n%s", kind, last, all["md"])
		}
		for _, form := range []string{"html", "sarif"} {
			if text := html.UnescapeString(all[form]); !strings.Contains(text, next[1:]+".") {
				t.Errorf("%s: %s does not have %q", kind, form, next)
			}
		}
	}
}
