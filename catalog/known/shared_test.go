package known_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/known"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session lists what a server listed. The server is not trusted.
type session struct{ tools []*mcp.Tool }

func (s session) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return &mcp.ListToolsResult{Tools: s.tools}, nil
}

func (session) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

// folder has the lists of popular servers, which lie beside the checkout. They are other people's words and no part of
// the project.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "eval", "popular")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIPPED: the lists of popular servers are not at %s: whether the digests and classes are theirs is not checked", dir)
	}
	return dir
}

// popular returns the tools of all servers of the folder as a catalog with these options has them, by "server/tool".
func popular(t *testing.T, o catalog.Options) map[string]*middleware.Tool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder(t), "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no lists: %v", err)
	}
	c := catalog.New(o)
	t.Cleanup(func() { _ = c.Close() })
	for _, path := range paths {
		text, err := os.ReadFile(path)
		var list mcp.ListToolsResult
		if err == nil {
			err = json.Unmarshal(text, &list)
		}
		if err == nil {
			err = c.Add(t.Context(), strings.TrimSuffix(filepath.Base(path), ".json"), session{list.Tools})
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	all := make(map[string]*middleware.Tool)
	for _, tool := range c.List() {
		all[tool.String()] = tool
	}
	return all
}

func TestEachEntryIsOfTheDefinitionThatItNames(t *testing.T) {
	t.Parallel()
	tools := popular(t, catalog.Options{})
	for server, f := range files(t) {
		for name, entry := range f.Tools {
			switch tool := tools[name]; {
			case tool == nil:
				t.Logf("%s of %s is not among the lists and was not checked", name, server)
			case tool.Digest.String() != entry.Digest:
				t.Errorf("%s: the digest is %s, that of the definition %s", name, entry.Digest, tool.Digest)
			case tool.Safety() != entry.Class:
				t.Errorf("%s is %s in a catalog, want %s", name, tool.Safety(), entry.Class)
			}
		}
	}
}

// A verdict is what a careful reader found about the class that a tool had on one day.
type verdict struct{ tool, class, said string }

func verdicts(t *testing.T) (all []verdict) {
	t.Helper()
	text, err := os.Open(filepath.Join(folder(t), "judgement.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	r := csv.NewReader(text)
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		all = append(all, verdict{tool: row[0] + "/" + row[1], class: row[2], said: row[4]})
	}
	return all
}

// plain returns the arguments of the plainest call: what the schema requires, a choice with its first value.
func plain(tool *middleware.Tool) json.RawMessage {
	text, _ := json.Marshal(tool.Definition.InputSchema)
	var schema struct {
		Required   []string
		Properties map[string]struct {
			Type any
			Enum []any
		}
	}
	_ = json.Unmarshal(text, &schema)
	arguments := make(map[string]any)
	for _, name := range schema.Required {
		p := schema.Properties[name]
		switch {
		case len(p.Enum) > 0:
			arguments[name] = p.Enum[0]
		case p.Type == "array":
			arguments[name] = []any{}
		case p.Type == "object":
			arguments[name] = map[string]any{}
		case p.Type == "number", p.Type == "integer":
			arguments[name] = 1
		case p.Type == "boolean":
			arguments[name] = true
		default:
			arguments[name] = "x"
		}
	}
	text, _ = json.Marshal(arguments)
	return text
}

// What the reader found holds: nothing that the reader called unsafe runs unasked whatever its arguments, and no plain
// call of what the reader called a read is asked about.
func TestVerdictsOfACarefulReaderAreHonoured(t *testing.T) {
	t.Parallel()
	tools, isKnown := popular(t, catalog.Options{}), known.All()
	counts := make(map[string]int)
	for _, v := range verdicts(t) {
		tool := tools[v.tool]
		if tool == nil {
			t.Errorf("%s is not listed", v.tool)
			continue
		}
		_, reviewed := isKnown[tool.Digest]
		call, _ := tool.Annotations.For(plain(tool), nil)
		unsafe := v.said == "UNSAFE" && tool.Safety() == annotation.Safe
		asked := v.said == "OVER-ASK" && call.Safety().MustConfirm()
		should := v.said == "WRONG MODERATE (should ask)" && !tool.Safety().MustConfirm()
		lowered := reviewed && v.said == "ok" && v.class == "dangerous" && call.Safety() == annotation.Safe && len(tool.Annotations.Conditions) == 0
		switch {
		case unsafe, should, lowered:
			counts["unsafe"]++
		case asked:
			counts["over-asked"]++
		}
		if reviewed {
			counts["known"]++
		}
		if reviewed && (unsafe || asked || should || lowered) {
			t.Errorf("%s (%s) was %s by the reader, and is %s, a plain call %s", v.tool, v.class, v.said, tool.Safety(), call.Safety())
		} else if unsafe || asked || should {
			t.Logf("not known: %s (%s) was %s by the reader, and is %s, a plain call %s", v.tool, v.class, v.said, tool.Safety(), call.Safety())
		}
	}
	t.Log(fmt.Sprint(counts), "of", len(tools))
}

func TestKnownClassesCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	on, off := popular(t, catalog.Options{}), popular(t, catalog.Options{NoKnown: true})
	differ := 0
	for name, tool := range on {
		for _, e := range off[name].Annotations.Evidence {
			if e.Source == annotation.Reviewed {
				t.Errorf("%s has evidence of a review: %v", name, e)
			}
		}
		if off[name].Safety() != tool.Safety() {
			differ++
		}
	}
	if differ == 0 {
		t.Error("no class differs")
	}
}
