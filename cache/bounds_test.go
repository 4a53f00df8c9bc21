package cache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A host's "for ever" is kept.
func TestLongestTimesDoNotOverflow(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]cache.Options{
		"TTL":          {TTL: math.MaxInt64},
		"TTL, shared":  {TTL: math.MaxInt64, Remote: cache.NewMemory()},
		"TTL and Near": {TTL: math.MaxInt64, Near: math.MaxInt64, Remote: cache.NewMemory()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := new(executor)
			c := cache.New(o)(e)
			time.Sleep(time.Millisecond)
			for range 3 {
				call(t, c, middleware.Call{Tool: reader(t)})
			}
			e.want(t, 1, name)
		})
	}
}

// Near bounds how much older than another replica's write an answer may be, also
// where the server took long over it.
func TestNearCountsFromTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, cache.Options{Near: time.Second})
		s.do = func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
			res := s.answer(call)
			if call.Tool == s.read {
				time.Sleep(10 * time.Second)
			}
			return res, nil
		}
		go func() {
			time.Sleep(time.Second)
			s.put(t, s.b, `{}`)
		}()
		s.get(t, s.a, `{"id":1}`) // asked before the write, answered 9 s after it
		if got := s.get(t, s.a, `{"id":1}`); got != "1" {
			t.Errorf("9 s after another replica's write, with a Near of 1 s: got version %s", got)
		}
	})
}

// A replica reads from the shared cache what the other one got.
func TestSharedNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	const id = "9007199254740993" // no float64 is this
	for name, content := range map[string]any{
		"bytes":              json.RawMessage(`{"id":` + id + `}`),
		"a number as text":   map[string]any{"id": json.Number(id)},
		"an integer":         map[string]any{"list": []any{int64(9007199254740993)}},
		"bytes in a tree":    map[string]any{"row": json.RawMessage(`{"id":` + id + `}`)},
		"a type of the host": map[string]any{"row": struct{ ID int64 }{9007199254740993}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, cache.Options{})
			s.do = func(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{StructuredContent: content}, nil
			}
			for _, at := range []middleware.ToolCaller{s.a, s.b} {
				res := call(t, at, middleware.Call{Tool: s.read})
				if form, err := json.Marshal(res.StructuredContent); err != nil || !strings.Contains(string(form), id) {
					t.Errorf("got %s, %v", form, err)
				}
			}
		})
	}
}

// A server cannot hide bytes from the bound where only we look at texts.
func TestBytesCountWhereverTheyStand(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for name, c := range map[string]mcp.Content{
		"the type of an image":      &mcp.ImageContent{MIMEType: long},
		"the type of a sound":       &mcp.AudioContent{MIMEType: long},
		"the type of a link":        &mcp.ResourceLink{MIMEType: long},
		"the type of an icon":       &mcp.ResourceLink{Icons: []mcp.Icon{{MIMEType: long}}},
		"the theme of an icon":      &mcp.ResourceLink{Icons: []mcp.Icon{{Theme: mcp.IconTheme(long)}}},
		"the sizes of an icon":      &mcp.ResourceLink{Icons: []mcp.Icon{{Sizes: []string{long}}}},
		"the type of a resource":    &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a", MIMEType: long}},
		"the audience":              &mcp.TextContent{Text: "a", Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.Role(long)}}},
		"when it was changed":       &mcp.TextContent{Text: "a", Annotations: &mcp.Annotations{LastModified: long}},
		"the name of a call":        &mcp.ToolUseContent{Name: long},
		"the id of a call":          &mcp.ToolUseContent{ID: long},
		"the id of a call's result": &mcp.ToolResultContent{ToolUseID: long},
	} {
		store := cache.NewStore(cache.StoreOptions{Bytes: 1 << 19})
		e := &executor{do: func(context.Context, int, middleware.Call) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{c}}, nil
		}}
		call(t, cache.New(cache.Options{Store: store})(e), middleware.Call{Tool: reader(t)})
		if got := store.Stats(); got.Entries != 0 {
			t.Errorf("%s: a MiB is kept in half of one, as %d bytes", name, got.Bytes)
		}
	}
}

// Two texts that differ in case name one entity, in any script.
func TestEntitiesDoNotMindTheCase(t *testing.T) {
	t.Parallel()
	for i, pair := range [][2]string{{"Anna", "ANNA"}, {"Οδυσσευς", "ΟΔΥΣΣΕΥΣ"}, {"\u212aate", "kate"}, {"ſmith", "SMITH"}} {
		e := new(executor)
		c := cache.New(cache.Options{Entities: map[string][]string{"files/read": {"name"}, "files/write": {"name"}}})(e)
		arguments := func(name string) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"name":%q}`, name)) }
		call(t, c, middleware.Call{Tool: reader(t), Arguments: arguments(pair[0])})
		call(t, c, middleware.Call{Tool: writer(t), Arguments: arguments(pair[1])})
		call(t, c, middleware.Call{Tool: reader(t), Arguments: arguments(pair[0])})
		e.want(t, 3, fmt.Sprint(i, pair))
	}
}
