package report_test

import (
	"bytes"
	stdcontext "context"
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/finding"
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
		"a name that breaks the rule":           {tool("get a", "", readOnly), []string{"error left-out"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := found(reportOn(t, c.tool)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhatHides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"plain":                  {"Reads a file.\n\tOne line\r\nmore.", ""},
		"other scripts":          {"ファイルを読む。 Löscht. 文件", ""},
		"blanks":                 {"a\u00a0b\u3000c", ""},
		"an emoji":               {"⚠️ careful ❤️‍🔥 👩🏽‍💻 ✔︎", ""},
		"Persian with its joint": {"می\u200cخواهم", ""},
		"zero-width":             {"delete\u200bfile", "U+200B"},
		"a joint between Latin":  {"re\u200dad", "U+200D"},
		"reordered":              {"a\u202egpj.exe\u202c", "U+202C, U+202E"},
		"ANSI":                   {"\x1b[8mhidden\x1b[0m", "U+001B 2 times"},
		"tags":                   {"ok\U000e0069\U000e0067", "U+E0067, U+E0069"},
		"smuggled in selectors":  {"a\ufe0f\ufe01b", "U+FE01, U+FE0F"},
		"private use":            {"a\ue000", "U+E000"},
		"byte order mark":        {"\ufeffa", "U+FEFF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reportOn(t, tool("get_a", "Get a file. "+c.text, readOnly))
			got := ""
			for _, f := range r.Findings {
				got = f.Text
			}
			want := ""
			if c.want != "" {
				want = "hidden characters: description has " + c.want
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
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

// withoutCode takes out what stands between runs of backticks of one length, as
// CommonMark reads them.
func withoutCode(text string) string {
	var b strings.Builder
	for text != "" {
		i := strings.IndexByte(text, '`')
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		n := len(text) - len(strings.TrimLeft(text, "`"))
		fence, rest := text[:n], text[n:]
		end := -1
		for at := 0; ; {
			k := strings.Index(rest[at:], fence)
			if k < 0 {
				break
			}
			k += at
			m := len(rest[k:]) - len(strings.TrimLeft(rest[k:], "`"))
			if m == n {
				end = k
				break
			}
			at = k + m
		}
		if end < 0 { // it opens nothing
			b.WriteString(fence)
			text = rest
			continue
		}
		text = rest[end+n:]
	}
	return b.String() + text
}

// A bar in a name must not end the cell, in code either.
func TestMarkdownTableHasItsColumns(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(written(t, hostileReport())["md"]) {
		if strings.HasPrefix(line, "|") {
			if got := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); got != 7 {
				t.Errorf("%d bars, want 7: %s", got, line)
			}
		}
	}
}

func TestPipesGetALinePerTool(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100)
	r := reportOn(t, tool("get_"+long, "", readOnly), tool("delete_"+long, "", nil))
	table := written(t, r)["table"]
	for _, name := range []string{"get_" + long, "delete_" + long} {
		if !strings.Contains(table, name) {
			t.Errorf("%s was cut:\n%s", name, table)
		}
	}
	if strings.Contains(table, "\x1b") {
		t.Errorf("there are colours in a pipe:\n%q", table)
	}
}

func TestNarrowTerminalIsKeptTo(t *testing.T) {
	t.Parallel()
	r := reportOn(t, tool("delete_account", "", readOnly), tool("get_account", "", readOnly))
	for line := range strings.Lines(written(t, r)["narrow"]) {
		if n := tty.Wide(strings.TrimRight(line, "\n")); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := reportOn(t, tool("delete_account", "", readOnly)).Table(&b, tty.Style{Width: 200, Live: true, Colour: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\x1b[31mdangerous") {
		t.Errorf("what is dangerous is not red: %q", b.String())
	}
}

// The page runs its own script, has its own style, and asks for nothing.
func TestPageIsOneFile(t *testing.T) {
	t.Parallel()
	page := written(t, reportOn(t, tool("get_a", "", nil)))["html"]
	if !strings.Contains(page, `content="default-src 'none'; style-src &#39;sha256-`) && !strings.Contains(page, "default-src &#39;none&#39;; style-src &#39;sha256-") {
		t.Errorf("there is no content policy by hashes:\n%.800s", page)
	}
	for _, outside := range []string{"http://", "https://", "src=", "<link", "@import", "url(", " on"} {
		if i := strings.Index(page, outside); i >= 0 && !(outside == " on" && !strings.Contains(page[i:i+12], "=")) {
			t.Errorf("the page has %q: …%.80s", outside, page[max(0, i-20):])
		}
	}
	for _, want := range []string{"color-scheme: light dark", "@media print", "max-width: 48rem", `lang="en"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Whatever is found, a person reads what to do about it, in each form for people.
func TestEachFindingEndsInANextStep(t *testing.T) {
	t.Parallel()
	kinds := []finding.Kind{
		finding.LeftOut, finding.Schema, finding.Unreadable, finding.Contradiction, finding.Doubted, finding.DoubtedWrite, finding.Unbelieved,
		finding.Repeatable, finding.Lowered, finding.Unused, finding.Unprepared, finding.Stale, finding.NotAccepted, finding.Gone, finding.Permission,
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
