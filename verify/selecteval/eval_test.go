package selecteval_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/search"
	"github.com/fairlead-go/fairlead/internal/bm25"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//go:embed questions.jsonl
var questionsFile []byte

// A question is what a user might say, and the tool that they would need.
type question struct {
	Question string
	Tool     string // "server/name"
}

// names reports whether a word of the tool's name is in the question, in any form.
func (q question) names() bool {
	stems := make(map[string]bool)
	for word := range bm25.Words(q.Question) {
		stems[bm25.Stem(word)] = true
	}
	_, name, _ := strings.Cut(q.Tool, "/")
	for word := range bm25.Words(name) {
		switch word {
		case "a", "all", "by", "for", "if", "in", "is", "of", "on", "the", "to":
			continue // says nothing of the tool
		}
		if stems[bm25.Stem(word)] {
			return true
		}
	}
	return false
}

func questions() ([]question, error) { return lines[question](questionsFile) }

const size = 500

// A listed tool is one line of the file of tools.
type listed struct {
	Server string `json:"server"`
	mcp.Tool
}

// UnmarshalJSON is there since mcp.Tool brings one of its own along.
func (l *listed) UnmarshalJSON(data []byte) error {
	var of struct {
		Server string `json:"server"`
	}
	if err := json.Unmarshal(data, &of); err != nil {
		return err
	}
	l.Server = of.Server
	return json.Unmarshal(data, &l.Tool)
}

// load returns a catalog of the tools in a file.
func load(path string) (*catalog.Catalog, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, err := lines[listed](text)
	if err != nil {
		return nil, err
	}
	sum := func(server, name string) string {
		s := sha256.Sum256([]byte(server + "/" + name))
		return string(s[:])
	}
	slices.SortFunc(all, func(a, b listed) int { return cmp.Compare(sum(a.Server, a.Name), sum(b.Server, b.Name)) })
	servers := make(map[string]server)
	for _, t := range all[:min(size, len(all))] {
		if t.InputSchema == nil { // the file has none where the source computes it
			t.InputSchema = map[string]any{"type": "object"}
		}
		servers[t.Server] = append(servers[t.Server], &t.Tool)
	}
	c := catalog.New(catalog.Options{})
	for id, s := range servers {
		if err := c.Add(context.Background(), id, s); err != nil {
			return nil, err
		}
	}
	if n := len(c.List()); n != size {
		return nil, fmt.Errorf("%s gives %d tools, want %d", path, n, size)
	}
	return c, nil
}

func lines[T any](text []byte) (all []T, err error) {
	for line := range bytes.Lines(text) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(all)+1, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// A server is a session that only lists.
type server []*mcp.Tool

func (s server) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return &mcp.ListToolsResult{Tools: s}, nil
}

func (server) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	panic("selecteval: nothing is called here")
}

// ranks returns for each question the place of the wanted tool, from 1, and 0
// where it was not selected at all.
func ranks(ctx context.Context, c *catalog.Catalog, questions []question, rank search.Ranker) ([]int, error) {
	places, index := make([]int, len(questions)), search.New(c)
	for i, q := range questions {
		tools, err := index.Select(ctx, q.Question, search.SelectOptions{Max: size, WithDangerous: true, Rank: rank})
		if err != nil {
			return nil, err
		}
		places[i] = 1 + slices.IndexFunc(tools, func(t *middleware.Tool) bool { return t.String() == q.Tool })
	}
	return places, nil
}

// substrings is what a program without an index would do: it counts the words of the message that
// are anywhere in the name, title or description of a tool.
func substrings(_ context.Context, message string, tools []*middleware.Tool) ([]float64, error) {
	words := strings.FieldsFunc(strings.ToLower(message), func(r rune) bool { return strings.ContainsRune(" ,.:;?!\"'()", r) })
	scores := make([]float64, len(tools))
	for i, t := range tools {
		text := strings.ToLower(t.Name() + " " + t.Annotations.Title + " " + t.Definition.Description)
		for _, w := range words {
			if strings.Contains(text, w) {
				scores[i]++
			}
		}
	}
	return scores, nil
}
