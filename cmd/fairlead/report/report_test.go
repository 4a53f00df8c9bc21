package report_test

import (
	"bytes"
	stdcontext "context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/cmd/fairlead/report"
	"github.com/fairlead-go/fairlead/cmd/fairlead/tty"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// a session that lists what it is given.
type session []*mcp.Tool

type context = stdcontext.Context

func (s session) ListTools(context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return &mcp.ListToolsResult{Tools: s}, nil
}

func (session) CallTool(context, *mcp.CallToolParams) (*mcp.CallToolResult, error) { return nil, nil }

func tool(name, description string, a *mcp.ToolAnnotations) *mcp.Tool {
	return &mcp.Tool{Name: name, Description: description, Annotations: a, InputSchema: map[string]any{"type": "object"}}
}

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true}

// reportOn is a report on one server with these tools.
func reportOn(t testing.TB, tools ...*mcp.Tool) *report.Report {
	t.Helper()
	c := catalog.New(catalog.Options{})
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Add(t.Context(), "files", session(tools)); err != nil {
		t.Fatal(err)
	}
	r := &report.Report{Servers: []report.Server{{ID: "files", Target: "npx files"}}}
	r.Add(c, nil, func(*middleware.Tool) string { return "run · cache" })
	return r
}

// found are the findings as "level rule tool".
func found(r *report.Report) []string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, strings.TrimSpace(f.Level.String()+" "+f.Rule+" "+f.Tool))
	}
	return all
}

func TestBaselineHoldsForTheDefinitionThatItSaw(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "baseline.json")
	var text bytes.Buffer
	if err := reportOn(t, tool("delete_a", "Removes a.", readOnly), tool("delete_b", "", readOnly)).JSON(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tools []*mcp.Tool
		fresh int
	}{
		"the same":                {[]*mcp.Tool{tool("delete_a", "Removes a.", readOnly), tool("delete_b", "", readOnly)}, 0},
		"one is gone":             {[]*mcp.Tool{tool("delete_a", "Removes a.", readOnly)}, 0},
		"one is new":              {[]*mcp.Tool{tool("delete_a", "Removes a.", readOnly), tool("delete_b", "", readOnly), tool("delete_c", "", readOnly)}, 1},
		"another definition":      {[]*mcp.Tool{tool("delete_a", "Removes all.", readOnly), tool("delete_b", "", readOnly)}, 1},
		"another rule, same tool": {[]*mcp.Tool{tool("delete_a", "Removes a.", nil), tool("delete_b", "", readOnly)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reportOn(t, c.tools...)
			if err := r.Baseline(path); err != nil {
				t.Fatal(err)
			}
			if fresh := r.Count(report.Note); fresh != c.fresh {
				t.Errorf("%d are new, want %d: %q", fresh, c.fresh, found(r))
			}
		})
	}
}

func TestBaselineThatIsNone(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON":           `findings`,
		"of something else": `{"runs":[]}`,
		"another version":   `{"version":2,"findings":[]}`,
		"no findings":       `{"version":1}`,
		"as they once were": `{"version":1,"findings":["a"]}`,
		"no fingerprint":    `{"version":1,"findings":[{"rule":"doubted"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "b.json")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := new(report.Report).Baseline(path); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("got error %v, want one that names the file", err)
			}
		})
	}
}

// What the levels count.
func TestCount(t *testing.T) {
	t.Parallel()
	r := &report.Report{Findings: []report.Finding{{Level: report.Error}, {Level: report.Warning}, {Level: report.Warning, Known: true}, {Level: report.Note}}}
	for level, want := range map[report.Level]int{report.Error: 1, report.Warning: 2, report.Note: 3} {
		if got := r.Count(level); got != want {
			t.Errorf("%s: %d, want %d", level, got, want)
		}
	}
}

// hostile is everything that the forms could take for something else.
const hostile = "x</td><script>alert(1)</script>|`**[a](javascript:1)\x1b[31m\u009b31m\u202e\n# head {0} @all"

// written is the report in every form.
func written(t *testing.T, r *report.Report) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"table":  func(b *bytes.Buffer) error { return r.Table(b, tty.Style{Width: 80}) },
		"narrow": func(b *bytes.Buffer) error { return r.Table(b, tty.Style{Width: 60, Live: true}) },
		"json":   func(b *bytes.Buffer) error { return r.JSON(b) },
		"md":     func(b *bytes.Buffer) error { return r.Markdown(b) },
		"sarif":  func(b *bytes.Buffer) error { return r.SARIF(b, false) },
		"html":   func(b *bytes.Buffer) error { return r.HTML(b, time.Unix(0, 0)) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = b.String()
	}
	return all
}

// hostileReport has server's words wherever a report can have some.
func hostileReport() *report.Report {
	evidence := annotation.Evidence{Field: annotation.DestructiveHint, Value: "yes", Source: annotation.Inferred, Word: hostile, Place: hostile}
	effective := annotation.Destructive()
	effective.Evidence = []annotation.Evidence{evidence}
	return &report.Report{
		Servers:  []report.Server{{ID: hostile, Target: hostile, Error: hostile}},
		Tools:    []report.Tool{{Server: hostile, Name: hostile, Effective: effective, Safety: annotation.Dangerous, Evidence: effective.Evidence, Will: []string{"ask first"}}},
		Findings: []report.Finding{{Level: report.Error, Rule: "doubted", Server: hostile, Tool: hostile, Text: hostile}},
	}
}

func TestHostileNamesAreText(t *testing.T) {
	t.Parallel()
	for form, text := range written(t, hostileReport()) {
		for _, raw := range []string{"\x1b", "\u009b", "\u202e"} {
			if strings.Contains(text, raw) {
				t.Errorf("%s has %q as it is", form, raw)
			}
		}
		switch form {
		case "table", "narrow":
			if strings.Contains(text, "\n# head") {
				t.Errorf("%s: a name made a line of its own:\n%s", form, text)
			}
		case "html":
			if strings.Count(text, "<script>") != 1 || strings.Contains(text, "x</td>") {
				t.Errorf("a name became a tag:\n%s", text)
			}
		case "md":
			outside := withoutCode(text)
			for _, raw := range []string{"<script>", "@all", "javascript:", "**["} {
				if strings.Contains(outside, raw) {
					t.Errorf("%q stands outside of code:\n%s", raw, outside)
				}
			}
		case "json", "sarif":
			if !json.Valid([]byte(text)) {
				t.Errorf("%s is no JSON", form)
			}
		}
	}
}
