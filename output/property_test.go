package output_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// anyText has what JSON escapes, what takes several bytes, and what is long.
func anyText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		piece := rapid.SampledFrom([]string{"a", "\"", "\\", "\n", "\x00", "é", "\u2028", "😀", "<b>&", "{", "]", " "}).Draw(t, "piece")
		return strings.Repeat(piece, rapid.SampledFrom([]int{0, 1, 7, 60, 3000}).Draw(t, "times"))
	})
}

// anyValue is a value of up to that depth.
func anyValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 5
		if depth > 0 {
			kinds = 8
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return float64(rapid.IntRange(-1e9, 1e9).Draw(t, "number"))
		case 3, 4, 5:
			return anyText().Draw(t, "text")
		case 6:
			return rapid.MapOfN(rapid.StringN(0, 12, -1), anyValue(depth-1), 0, 12).Draw(t, "object")
		}
		return rapid.SliceOfN(anyValue(depth-1), 0, 30).Draw(t, "list")
	})
}

// Of any answer, the shown part is valid JSON within the limit, or it is an error that reports the
// length.
func TestWhateverIsShownFits(t *testing.T) {
	t.Parallel()
	read := listing(t, "", annotation.ReadOnly())
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.IntRange(1000, 6000).Draw(rt, "limit")
		v := anyValue(3).Draw(rt, "value")
		res := &mcp.CallToolResult{StructuredContent: v, Meta: mcp.Meta{"theirs": true}}
		for _, as := range rapid.SliceOfN(rapid.IntRange(0, 4), 0, 4).Draw(rt, "parts") {
			switch as {
			case 0:
				res.Content = append(res.Content, content(encoded(t, v)))
			case 1:
				raw, _ := json.MarshalIndent(v, "", "  ")
				res.Content = append(res.Content, content(string(raw)))
			case 2:
				res.Content = append(res.Content, content(anyText().Draw(rt, "prose")))
			case 3:
				res.Content = append(res.Content, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a:b", Text: encoded(t, anyValue(2).Draw(rt, "resource"))}})
			case 4:
				res.Content = append(res.Content, &mcp.ResourceLink{URI: "a:b", Name: anyText().Draw(rt, "name")})
			}
		}
		before := encoded(t, res)
		got := show(t, output.Options{Limit: most, Fence: func(*middleware.Tool) bool { return most%2 == 0 }}, read, answering(res))
		if encoded(t, res) != before {
			rt.Fatal("the result was written to")
		}
		if n := utf8.RuneCountInString(strings.Join(texts(got), "")); n > most {
			rt.Fatalf("the texts weigh %d, more than %d", n, most)
		}
		if got.IsError {
			if !strings.Contains(said(got), "too long") {
				rt.Fatalf("an error: %s", said(got))
			}
			return
		}
		raw := encoded(t, got.StructuredContent)
		tree, err := jsontree.Decode([]byte(raw))
		if err != nil {
			rt.Fatal(err)
		}
		if n := utf8.RuneCountInString(jsontree.Encode(tree)); n > most {
			rt.Fatalf("the structured content weighs %d, more than %d: %s", n, most, raw)
		}
		for _, c := range got.Content {
			if text, ok := c.(*mcp.TextContent); ok && !utf8.ValidString(text.Text) {
				rt.Fatalf("%q is not UTF-8", text.Text)
			}
		}
	})
}

// A pager lists rows of any kind, some a page, and takes either kind of argument.
type pager struct {
	rows []any
	size int
}

func (p *pager) CallTool(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	var in struct {
		Cursor string
		Offset int
	}
	if len(call.Arguments) > 0 {
		if err := json.Unmarshal(call.Arguments, &in); err != nil {
			return nil, err
		}
	}
	from := in.Offset
	if in.Cursor != "" {
		if _, err := fmt.Sscanf(in.Cursor, "at-%d", &from); err != nil {
			return nil, err
		}
	}
	end := min(from+p.size, len(p.rows))
	answer := map[string]any{"rows": p.rows[from:end], "more": end < len(p.rows), "offset": end, "cursor": nil}
	if end < len(p.rows) {
		answer["cursor"] = fmt.Sprintf("at-%d", end)
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{content(string(raw))}}, nil
}

// The pages that the model sees, one behind the other, are all the rows; each page
// is a prefix of what was left, and only a row that is too long alone is cut.
func TestPagesTogetherAreAllRows(t *testing.T) {
	t.Parallel()
	read := listing(t, "", annotation.ReadOnly())
	rapid.Check(t, func(rt *rapid.T) {
		p := &pager{
			rows: rapid.SliceOfN(anyValue(2), 0, 40).Draw(rt, "rows"),
			size: rapid.IntRange(1, 50).Draw(rt, "size"),
		}
		paging := output.Paging{Rows: "/rows", Next: "/cursor", More: "/more", Cursor: "cursor"}
		if rapid.Bool().Draw(rt, "by offset") {
			paging = output.Paging{Rows: "/rows", Next: "/offset", More: "/more", Offset: "offset"}
		}
		most := rapid.IntRange(1000, 9000).Draw(rt, "limit")
		caller := output.New(output.Options{Limit: most, Paging: map[string]output.Paging{"crm/list": paging}})(p)
		var got []any
		arguments := `{}`
		for range 1000 {
			res := ask(t, caller, middleware.Call{Tool: read, Arguments: json.RawMessage(arguments)})
			if res.IsError {
				if !strings.Contains(said(res), "too long") {
					rt.Fatalf("an error: %s", said(res))
				}
				rt.SkipNow() // a row that cannot be cut
			}
			page := decoded[struct {
				Rows   []any
				More   bool
				Cursor string
				Offset int
			}](t, texts(res)[0])
			for i, r := range page.Rows {
				if want := p.rows[len(got)+i]; !reflect.DeepEqual(r, want) && (i > 0 || utf8.RuneCountInString(encoded(t, want)) < most/2) {
					rt.Fatalf("row %d is %s, want %s", len(got)+i, encoded(t, r), encoded(t, want))
				}
			}
			got = append(got, page.Rows...)
			if !page.More {
				if len(got) != len(p.rows) {
					rt.Fatalf("got %d rows, want %d", len(got), len(p.rows))
				}
				return
			}
			arguments = fmt.Sprintf(`{"cursor":%q}`, page.Cursor)
			if paging.Offset != "" {
				arguments = fmt.Sprintf(`{"offset":%d}`, page.Offset)
			}
		}
		rt.Fatal("no end")
	})
}

// FuzzShown feeds any bytes as an answer's text.
func FuzzShown(f *testing.F) {
	for _, seed := range []string{`{"data":[1,2,3]}`, `[`, `{"a":1e999999999}`, "[INFO] done", `{"meta":null,"data":["x"]}`, "\xff\xfe", `[[[[[[[[]]]]]]]]`} {
		f.Add(seed, 40)
	}
	read := listing(f, "", annotation.ReadOnly())
	caller := func(next middleware.ToolCaller) middleware.ToolCaller {
		return output.New(output.Options{Limit: 1000, Paging: map[string]output.Paging{"crm/list": {Rows: "/data", Next: "/meta/next", Cursor: "cursor"}}})(next)
	}
	f.Fuzz(func(t *testing.T, text string, times int) {
		text = strings.Repeat(text, max(1, min(times, 200)))
		res := ask(t, caller(answering(&mcp.CallToolResult{Content: []mcp.Content{content(text)}})), middleware.Call{Tool: read})
		if n := characters(res); n > 1000 {
			t.Fatalf("%d characters", n)
		}
		if json.Valid([]byte(text)) && !res.IsError && len(text) > 0 && (text[0] == '{' || text[0] == '[') && !json.Valid([]byte(texts(res)[0])) && !strings.Contains(text, "1e999") {
			t.Fatalf("%q was valid JSON, and %q is not", text, texts(res)[0])
		}
	})
}
