package cache_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// rich returns a result with everything that can be written to.
func rich() *mcp.CallToolResult {
	meta := func() mcp.Meta { return mcp.Meta{"m": map[string]any{"deep": []any{"v"}}} }
	notes := func() *mcp.Annotations { return &mcp.Annotations{Audience: []mcp.Role{"user"}, Priority: 0.5} }
	return &mcp.CallToolResult{
		Meta: meta(),
		Content: []mcp.Content{
			&mcp.TextContent{Text: "text", Meta: meta(), Annotations: notes()},
			&mcp.ImageContent{Data: []byte("image"), MIMEType: "image/png", Meta: meta(), Annotations: notes()},
			&mcp.AudioContent{Data: []byte("audio"), MIMEType: "audio/wav", Meta: meta(), Annotations: notes()},
			&mcp.ResourceLink{
				URI: "file:///a", Name: "a", Size: new(int64(7)), Meta: meta(), Annotations: notes(),
				Icons: []mcp.Icon{{Source: "i", Sizes: []string{"1x1"}}},
			},
			&mcp.EmbeddedResource{
				Resource: &mcp.ResourceContents{URI: "file:///b", Blob: []byte("blob"), Meta: meta()},
				Meta:     meta(), Annotations: notes(),
			},
			&mcp.ToolUseContent{ID: "1", Name: "n", Input: map[string]any{"a": []any{"v"}}, Meta: meta()},
			&mcp.ToolResultContent{
				ToolUseID: "1", Content: []mcp.Content{&mcp.TextContent{Text: "inner", Meta: meta()}},
				StructuredContent: map[string]any{"a": []any{"v"}}, Meta: meta(),
			},
		},
		StructuredContent: map[string]any{
			"rows": []any{map[string]any{"id": json.Number("9007199254740993")}},
			"raw":  json.RawMessage(`{"kept":"as JSON"}`),
		},
	}
}

func scribbleValue(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			scribbleValue(e)
			v[k] = "scribbled"
		}
	case []any:
		for i, e := range v {
			scribbleValue(e)
			v[i] = "scribbled"
		}
	case json.RawMessage:
		scribbleBytes(v)
	}
}

func scribbleBytes(b []byte) {
	for i := range b {
		b[i] = '9'
	}
}

func scribbleNotes(a *mcp.Annotations) {
	if a != nil {
		a.Audience[0], a.Priority = "assistant", 1
	}
}

func scribble(res *mcp.CallToolResult) {
	scribbleValue(map[string]any(res.Meta))
	scribbleValue(res.StructuredContent)
	scribbleContents(res.Content)
	for i := range res.Content {
		res.Content[i] = nil
	}
	_ = append(res.Content[:0], &mcp.TextContent{Text: "scribbled"})
	res.Content, res.StructuredContent, res.IsError = nil, nil, true
}

func scribbleContents(contents []mcp.Content) {
	for _, c := range contents {
		switch c := c.(type) {
		case *mcp.TextContent:
			c.Text = "scribbled"
			scribbleValue(map[string]any(c.Meta))
			scribbleNotes(c.Annotations)
		case *mcp.ImageContent:
			scribbleBytes(c.Data)
			scribbleValue(map[string]any(c.Meta))
			scribbleNotes(c.Annotations)
		case *mcp.AudioContent:
			scribbleBytes(c.Data)
			scribbleValue(map[string]any(c.Meta))
			scribbleNotes(c.Annotations)
		case *mcp.ResourceLink:
			c.URI, *c.Size, c.Icons[0].Sizes[0], c.Icons[0].Source = "scribbled", 0, "scribbled", "scribbled"
			scribbleValue(map[string]any(c.Meta))
			scribbleNotes(c.Annotations)
		case *mcp.EmbeddedResource:
			scribbleBytes(c.Resource.Blob)
			c.Resource.URI = "scribbled"
			scribbleValue(map[string]any(c.Resource.Meta))
			scribbleValue(map[string]any(c.Meta))
			scribbleNotes(c.Annotations)
		case *mcp.ToolUseContent:
			scribbleValue(c.Input)
			scribbleValue(map[string]any(c.Meta))
		case *mcp.ToolResultContent:
			scribbleContents(c.Content)
			scribbleValue(c.StructuredContent)
			scribbleValue(map[string]any(c.Meta))
		}
	}
}

func asJSON(tb testing.TB, res *mcp.CallToolResult) string {
	tb.Helper()
	raw, err := json.Marshal(res)
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw)
}

// B111: a write to a result is invisible to others.
func TestResultsAreCopiedInAndOut(t *testing.T) {
	t.Parallel()
	want := asJSON(t, rich())
	for _, tt := range []struct {
		name string
		who  int // 0 the leader, 1 a follower, 2 a hit, 3 the executor that answered
	}{{"B111: the leader writes", 0}, {"B111: a follower writes", 1}, {"B111: a hit is written to", 2}, {"the executor writes to what it has given away", 3}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				given := rich()
				e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
					time.Sleep(time.Second)
					return given, nil
				}}
				c := cache.New(cache.Options{})(e)
				its := middleware.Call{Tool: reader(t)}
				leader, follower, other := start(t.Context(), c, its), start(t.Context(), c, its), start(t.Context(), c, its)
				<-leader.done
				<-follower.done
				<-other.done
				results := []*mcp.CallToolResult{leader.res, follower.res, call(t, c, its), given}
				for i, res := range results {
					if got := asJSON(t, res); got != want {
						t.Fatalf("result %d before:\ngot  %s\nwant %s", i, got, want)
					}
				}
				scribble(results[tt.who])
				results = append(results, other.res, call(t, c, its))
				for i, res := range results {
					if i == tt.who || tt.who+i == 3 && tt.who*i == 0 { // the leader has the executor's own
						continue
					}
					if got := asJSON(t, res); got != want {
						t.Errorf("result %d after:\ngot  %s\nwant %s", i, got, want)
					}
				}
				e.want(t, 1, "afterwards")
			})
		})
	}
}

func TestResultsOfIdempotentWritesAreCopiedToo(t *testing.T) {
	t.Parallel()
	e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) { return rich(), nil }}
	c := cache.New(cache.Options{Idempotent: true})(e)
	its := middleware.Call{Tool: tool(t, "set", annotation.Update())}
	want := asJSON(t, rich())
	for range 3 {
		res := call(t, c, its)
		if got := asJSON(t, res); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		scribble(res)
	}
	e.want(t, 1, "afterwards")
}

// A value that is not plain JSON, from a tool in the host's own process, is the same from the
// cache as at first.
func TestStructuredContentIsTheSameFromTheCache(t *testing.T) {
	t.Parallel()
	type row struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	for _, tt := range []struct {
		name  string
		value any
	}{
		{"raw JSON", json.RawMessage(`{"a":1}`)},
		{"a struct", row{1, "a"}},
		{"a pointer", &row{1, "a"}},
		{"rows", []row{{1, "a"}, {2, "b"}}},
		{"nested in a map", map[string]any{"rows": []row{{1, "a"}}, "raw": json.RawMessage(`[1,2]`)}},
		{"a large integer", int64(9007199254740993)},
		{"a map of strings", map[string]string{"a": "b"}},
		{"a text", "a"},
		{"an array", []any{1, "a", nil, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: text("x").Content, StructuredContent: tt.value}, nil
			}}
			c := cache.New(cache.Options{})(e)
			its := middleware.Call{Tool: reader(t)}
			want := asJSON(t, call(t, c, its))
			for range 2 {
				if got := asJSON(t, call(t, c, its)); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
			e.want(t, 1, "afterwards")
		})
	}
}

func TestSharedResultsAreNotCopied(t *testing.T) {
	t.Parallel()
	e := new(executor)
	c := cache.New(cache.Options{ImmutableResults: true})(e)
	its := middleware.Call{Tool: reader(t)}
	call(t, c, its)
	left, right := call(t, c, its), call(t, c, its)
	if left == right {
		t.Error("two hits are one result")
	}
	if left.Content[0] != right.Content[0] {
		t.Error("what lies below the result was copied")
	}
	left.Content, left.IsError = nil, true
	if got := textOf(t, call(t, c, its)); got != "1" {
		t.Errorf("got answer %s", got)
	}
}
