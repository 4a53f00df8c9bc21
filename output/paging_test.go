package output_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/longtest"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const pageSchema = `{
	"type": "object",
	"properties": {
		"data": {"type": "array", "items": {
			"type": "object",
			"properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "notes": {"type": "string"}},
			"required": ["id", "name", "notes"], "additionalProperties": false
		}},
		"meta": {
			"type": "object",
			"properties": {"cursor": {"type": ["string", "null"]}, "offset": {"type": "integer"}, "hasNextPage": {"type": "boolean"}, "truncated": {"type": "boolean"}},
			"required": ["hasNextPage"], "additionalProperties": false
		}
	},
	"required": ["data", "meta"], "additionalProperties": false
}`

type pageMeta struct {
	Cursor      *string `json:"cursor,omitempty"`
	Offset      *int    `json:"offset,omitempty"`
	HasNextPage bool    `json:"hasNextPage"`
	Truncated   bool    `json:"truncated,omitempty"`
}

type listPage struct {
	Data []row    `json:"data"`
	Meta pageMeta `json:"meta"`
}

// A lister is a server with one tool that lists all its rows, 300 a page, from an
// opaque cursor or from an offset.
func lister(t *testing.T, all []row, calls *int) (*catalog.Catalog, *middleware.Tool) {
	t.Helper()
	const size = 300
	server := mcptest.New()
	def := mcptest.Tool("list_customers", "Lists customers.")
	def.OutputSchema = json.RawMessage(pageSchema)
	def.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcptest.Add(server, def, func(_ context.Context, raw json.RawMessage) (*mcp.CallToolResult, error) {
		*calls++
		var in struct {
			Cursor string
			Offset int
		}
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, err
		}
		from := in.Offset
		if in.Cursor != "" {
			at, err := base64.StdEncoding.DecodeString(in.Cursor)
			if err != nil {
				return nil, err
			}
			if from, err = strconv.Atoi(string(at)); err != nil {
				return nil, err
			}
		}
		end := min(from+size, len(all))
		page := listPage{Data: all[from:end], Meta: pageMeta{Offset: new(end), HasNextPage: end < len(all)}}
		if end < len(all) {
			page.Meta.Cursor = new(base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(end))))
		}
		text, err := json.Marshal(page)
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{content(string(text))}, StructuredContent: json.RawMessage(text)}, nil
	})
	cat := catalog.New(catalog.Options{})
	cat.Trust("crm")
	if err := cat.Add(mcptest.Context(t), "crm", mcptest.Connect(t, server, nil)); err != nil {
		t.Fatal(err)
	}
	found, ok := cat.Lookup("crm", "list_customers")
	if !ok {
		t.Fatalf("the tool was not listed: %v", cat.Findings())
	}
	return cat, found
}

// fits checks one answer against all that is promised of it, and returns its page.
func fits(t *testing.T, res *mcp.CallToolResult) listPage {
	t.Helper()
	if res.IsError {
		t.Fatalf("an error: %s", said(res))
	}
	if n := characters(res); n > limit {
		t.Errorf("the texts have %d characters, more than %d", n, limit)
	}
	raw := encoded(t, res.StructuredContent)
	if n := utf8.RuneCountInString(raw); n > limit {
		t.Errorf("the structured content has %d characters, more than %d", n, limit)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(pageSchema), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	first := texts(res)[0]
	for what, text := range map[string]string{"the text": first, "the structured content": raw} {
		if err := resolved.Validate(decoded[any](t, text)); err != nil {
			t.Errorf("%s breaks the schema: %v", what, err)
		}
	}
	page := decoded[listPage](t, first)
	if got, want := encoded(t, decoded[listPage](t, raw)), encoded(t, page); got != want {
		t.Errorf("text and structured content differ:\n %.300s\n %.300s", got, want)
	}
	return page
}

// A list of many rows, as long as 400 KB: every page that the model sees fits, and reading on
// from its cursor loses no row.
func TestReadingOnLosesNoRow(t *testing.T) {
	t.Parallel()
	const key = "crm/list_customers"
	many := 300 / longtest.Every(t, 5)
	for _, tt := range []struct {
		name   string
		rows   []row
		paging output.Paging
	}{
		{"many long rows, a cursor", rows(many, 1300), output.Paging{Rows: "/data", Next: "/meta/cursor", More: "/meta/hasNextPage", Cursor: "cursor"}},
		{"many long rows, an offset", rows(many, 1300), output.Paging{Rows: "/data", Next: "/meta/offset", More: "/meta/hasNextPage", Offset: "offset"}},
		{"700 rows, three pages of the tool", rows(700, 300), output.Paging{Rows: "/data", Next: "/meta/cursor", More: "/meta/hasNextPage", Cursor: "cursor"}},
		{"700 rows by an offset", rows(700, 300), output.Paging{Rows: "/data", Next: "/meta/offset", More: "/meta/hasNextPage", Offset: "offset"}},
		{"one row of 400 KB", rows(1, 400_000), output.Paging{Rows: "/data", Next: "/meta/cursor", More: "/meta/hasNextPage", Cursor: "cursor"}},
		{"one row of 400 KB among small ones", append(rows(5, 100), rows(8, 400_000)[5:]...), output.Paging{Rows: "/data", Next: "/meta/cursor", More: "/meta/hasNextPage", Cursor: "cursor"}},
		{"rows that all fit", rows(10, 100), output.Paging{Rows: "/data", Next: "/meta/cursor", More: "/meta/hasNextPage", Cursor: "cursor"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var calls int
			executor, listed := lister(t, tt.rows, &calls)
			caller := chain.Standard{
				Output: output.New(output.Options{
					Paging: map[string]output.Paging{key: tt.paging},
					Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
				}),
				Cache: cache.New(cache.Options{}),
			}.Then(executor)
			var got []row
			arguments := `{}`
			pages := 0
			for {
				page := fits(t, ask(t, caller, middleware.Call{ID: "1", Tool: listed, Arguments: json.RawMessage(arguments)}))
				got = append(got, page.Data...)
				if pages++; pages > 1000 {
					t.Fatal("no end")
				}
				if !page.Meta.HasNextPage {
					break
				}
				switch {
				case tt.paging.Offset != "":
					arguments = fmt.Sprintf(`{"offset":%d}`, *page.Meta.Offset)
				case page.Meta.Cursor == nil:
					t.Fatal("there is more, and no cursor")
				default:
					arguments = fmt.Sprintf(`{"cursor":%q}`, *page.Meta.Cursor)
				}
			}
			if len(got) != len(tt.rows) {
				t.Fatalf("got %d rows in %d pages, want %d", len(got), pages, len(tt.rows))
			}
			for i, r := range got {
				if r.ID != tt.rows[i].ID {
					t.Fatalf("row %d is %d", i, r.ID)
				}
				if len(tt.rows[i].Notes) < limit/4 && r.Notes != tt.rows[i].Notes {
					t.Fatalf("row %d was cut though it fits", i)
				}
			}
			t.Logf("%d rows in %d pages; the server was asked %d times", len(got), pages, calls)
		})
	}
}

// Where all rows are shown and something else was cut, the tool's own cursor stays,
// or none.
func TestCursorOfTheToolStaysWhereNoRowIsCut(t *testing.T) {
	t.Parallel()
	read := listing(t, "", annotation.ReadOnly())
	opts := output.Options{Paging: map[string]output.Paging{"crm/list": {Rows: "/data", Next: "/next", More: "/more", Cursor: "cursor"}}}
	for _, tt := range []struct {
		name string
		rest map[string]any
	}{
		{"a cursor", map[string]any{"next": strings.Repeat("opaque", 50), "more": true}},
		{"the end", map[string]any{"next": nil, "more": false}},
		{"nothing", map[string]any{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer := maps.Clone(tt.rest)
			answer["data"], answer["notes"] = rows(5, 100), strings.Repeat("n", 90_000)
			got := decoded[map[string]any](t, texts(show(t, opts, read, answering(structured(t, answer))))[0])
			delete(got, "meta")
			if n := len(got["data"].([]any)); n != 5 || len(got["notes"].(string)) > limit {
				t.Errorf("%d rows, and notes of %d bytes", n, len(got["notes"].(string)))
			}
			delete(got, "data")
			delete(got, "notes")
			if !reflect.DeepEqual(got, tt.rest) {
				t.Errorf("got %v, want %v", got, tt.rest)
			}
		})
	}
}

// A cursor of ours is for a tool that only reads, and a changed one is distinguished from one of
// the tool's.
func TestCursorIsOnlyForReads(t *testing.T) {
	t.Parallel()
	paging := map[string]output.Paging{"crm/list": {Rows: "/data", Next: "/next", Cursor: "cursor"}}
	answer := structured(t, map[string]any{"data": rows(300, 400), "next": "t"})
	for _, tt := range []struct {
		name string
		a    annotation.Annotations
		want bool
	}{
		{"safe", annotation.ReadOnly(), true},
		{"moderate", annotation.Write(), false},
		{"idempotent", annotation.Update(), false},
		{"dangerous", annotation.Destructive(), false},
		{"unknown", annotation.Annotations{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res := show(t, output.Options{Paging: paging}, listing(t, "", tt.a), answering(answer))
			got := decoded[struct{ Next string }](t, texts(res)[0])
			if ours := got.Next != "t"; ours != tt.want {
				t.Errorf("the next cursor is %q", got.Next)
			}
		})
	}
	var sent []string
	executor := middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		sent = append(sent, string(call.Arguments))
		return answer, nil
	})
	reads := listing(t, "", annotation.ReadOnly())
	caller := output.New(output.Options{Paging: paging})(executor)
	for _, cursor := range []string{"fairlead.", "fairlead.%%", "fairlead.eyJuIjotMX0", "fairlead.e30", "fairlead.bnVsbA"} {
		res := ask(t, caller, middleware.Call{Tool: reads, Arguments: json.RawMessage(fmt.Sprintf(`{"cursor":%q}`, cursor))})
		if want := `crm__list was not called: give "cursor" exactly as you got it, or leave it out to begin again.`; !res.IsError || said(res) != want {
			t.Errorf("%s: got %s", cursor, said(res))
		}
	}
	for _, arguments := range []string{``, `{"cursor":"abc","q":1}`, `{"cursor":7}`, `[1]`, `{"cursor":`} {
		ask(t, caller, middleware.Call{Tool: reads, Arguments: json.RawMessage(arguments)})
		if got := sent[len(sent)-1]; got != arguments {
			t.Errorf("sent %q, want the arguments as they were: %q", got, arguments)
		}
	}
	first := decoded[struct{ Next string }](t, texts(ask(t, caller, middleware.Call{Tool: reads, Arguments: json.RawMessage(`{"cursor":"abc","q":1}`)}))[0])
	second := ask(t, caller, middleware.Call{Tool: reads, Arguments: json.RawMessage(fmt.Sprintf(`{"cursor":%q,"q":1}`, first.Next))})
	if got, want := sent[len(sent)-1], `{"cursor":"abc","q":1}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	page := decoded[struct{ Data []row }](t, texts(second)[0])
	if page.Data[0].ID == 0 {
		t.Error("the second page begins where the first began")
	}
}
