package rawlist_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/internal/rawlist"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestPageOfARequest(t *testing.T) {
	t.Parallel()
	ctx, page := rawlist.Watch(t.Context())
	if rawlist.From(ctx) != page || rawlist.From(context.Background()) != nil {
		t.Error("a page is not that of its request")
	}
	if page.Seen() || page.TTL() != 0 || page.Annotations("a") != nil || page.Faults(nil) != nil {
		t.Error("a page has contents before it was filled")
	}
}

func TestToolsThatTheSDKCannotRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, tool, want string }{
		{"fine", `{"name":"a","inputSchema":{}}`, ""},
		{"no name", `{"inputSchema":{}}`, ""}, // for the catalog to say
		{"null members", `{"name":null,"title":null,"annotations":null,"_meta":null,"icons":null}`, ""},
		{"members of no known kind", `{"name":"a","x":[1],"annotations":{"y":{}}}`, ""},
		{"B079 a hint that is text", `{"name":"a","annotations":{"readOnlyHint":"true"}}`, `among its annotations readOnlyHint is "true", want a boolean`},
		{"a hint that is a number", `{"name":"a","annotations":{"openWorldHint":1}}`, "openWorldHint is 1, want a boolean"},
		{"a hint that is long", `{"name":"a","annotations":{"idempotentHint":"` + strings.Repeat("x", 1000) + `"}}`, ", want a boolean"},
		{"annotations that are a list", `{"name":"a","annotations":[]}`, "annotations is [], want an object"},
		{"a name that is a number", `{"name":7}`, "name is 7, want a string"},
		{"a description that is an object", `{"name":"a","description":{}}`, "description is {}, want a string"},
		{"meta that is text", `{"name":"a","_meta":"x"}`, `_meta is "x", want an object`},
		{"icons that are one", `{"name":"a","icons":{}}`, "icons is {}, want a list of icons"},
		{"a number that nothing holds", `{"name":"a","x":1e999}`, ""}, // it is not read
		{"a number that nothing holds, in a schema", `{"name":"a","inputSchema":{"maximum":1e999}}`, "want a schema without a number that is out of range"},
		{"a number that nothing holds, in the other", `{"name":"a","outputSchema":{"maximum":[-1e999]}}`, "outputSchema is"},
		{"a number that nothing holds, in meta", `{"name":"a","_meta":{"x":1e999}}`, "_meta is"},
		{"a name twice, the first no name", `{"name":7,"name":"a"}`, "name is 7, want a string"},
		{"a name twice", `{"name":"b","name":"a"}`, "name is given twice"},
		{"annotations twice", `{"name":"a","annotations":{"destructiveHint":true},"annotations":{}}`, "annotations is given twice"},
		{"a hint twice, the first no hint", `{"name":"a","annotations":{"readOnlyHint":"x","readOnlyHint":true}}`, `readOnlyHint is "x", want a boolean`},
		{"a name that is written otherwise", `{"\u006eame":7,"name":"a"}`, "name is 7, want a string"},
		{"null", `null`, "it is null"},
		{"a list", `[1]`, "want an object, got [1]"},
		{"text", `"x"`, `want an object, got "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, page := rawlist.Watch(t.Context())
			out := page.Take(json.RawMessage(`{"tools":[` + c.tool + `,{"name":"good"}],"nextCursor":"2"}`))
			var list mcp.ListToolsResult
			if err := json.Unmarshal(out, &list); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
			if !page.Seen() || list.NextCursor != "2" || list.Tools[len(list.Tools)-1].Name != "good" {
				t.Errorf("got %s", out)
			}
			faults := page.Faults(list.Tools)
			switch {
			case c.want == "" && (len(faults) > 0 || len(list.Tools) != 2):
				t.Errorf("got %v and %s", faults, out)
			case c.want != "" && (len(faults) != 1 || len(list.Tools) != 1):
				t.Errorf("got %v and %s", faults, out)
			case c.want != "":
				if text := faults[0].Err.Error(); !strings.Contains(text, c.want) || len(text) > 200 || faults[0].Index != 0 {
					t.Errorf("got %q at %d, want %q", text, faults[0].Index, c.want)
				}
			}
		})
	}
}

func TestAnnotationsAreAsWritten(t *testing.T) {
	t.Parallel()
	_, page := rawlist.Watch(t.Context())
	const list = `{"tools":[{"name":"a","annotations":{"readOnlyHint":false}},{"name":"b"},{"name":"c","annotations":null},{"name":"d","annotations":{}}]}`
	if got := page.Take(json.RawMessage(list)); string(got) != list {
		t.Errorf("it was changed to %s", got)
	}
	for tool, want := range map[string]string{"a": `{"readOnlyHint":false}`, "b": "", "c": "", "d": "{}", "e": ""} {
		if got := string(page.Annotations(tool)); got != want {
			t.Errorf("%s: got %q, want %q", tool, got, want)
		}
	}
}

func TestTheSDKIsNotToRemember(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[string]time.Duration{
		"60000": time.Minute, "0": 0, "-5": 0, `"x"`: 0, "null": 0, "1e30": 0, "9007199254740993": 24 * time.Hour,
	} {
		t.Run(ttl, func(t *testing.T) {
			t.Parallel()
			_, page := rawlist.Watch(t.Context())
			var list mcp.ListToolsResult
			if err := json.Unmarshal(page.Take(json.RawMessage(fmt.Sprintf(`{"tools":[],"ttlMs":%s,"cacheScope":"private"}`, ttl))), &list); err != nil {
				t.Fatal(err)
			}
			if list.TTLMs != 0 || page.TTL() != want || list.CacheScope != "private" {
				t.Errorf("the SDK sees %+v; noted is %v, want %v", list.Cacheable, page.TTL(), want)
			}
		})
	}
}

// An answer that the SDK remembers would be the next one's.
func TestTTLOfAnUnwatchedListIsZero(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`{"tools":[7],"ttlMs":60000}`: `{"tools":[7],"ttlMs":0}`, `{"tools":[],"ttlMs":0}`: `{"tools":[],"ttlMs":0}`, `{"ttlMs":"x"}`: `{"ttlMs":0}`,
		`{"tools":[]}`: `{"tools":[]}`, `null`: `null`, `7`: `7`, `{"ttlMs":`: `{"ttlMs":`,
	} {
		if got := string((*rawlist.Page)(nil).Take(json.RawMessage(result))); got != want {
			t.Errorf("%s became %s, want %s", result, got, want)
		}
	}
}

// A tool that the SDK itself leaves out is named, in any order of the rest.
func TestToolsThatTheSDKDoesNotTake(t *testing.T) {
	t.Parallel()
	_, page := rawlist.Watch(t.Context())
	page.Take(json.RawMessage(`{"tools":[{"name":"a"},null,{"name":"b"},{"name":"c"},{"name":"b"}]}`))
	var got []string
	for _, f := range page.Faults([]*mcp.Tool{{Name: "c"}, {Name: "b"}, nil}) {
		got = append(got, fmt.Sprint(f.Index, f.Name))
	}
	if want := []string{"0a", "1", "4b"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOtherResultsPass(t *testing.T) {
	t.Parallel()
	for _, result := range []string{``, `null`, `7`, `[]`, `{}`, `{"tools":null}`, `{"tools":{}}`, `{"tools":[`, `{"Tools":[null]}`} {
		_, page := rawlist.Watch(t.Context())
		if got := page.Take(json.RawMessage(result)); string(got) != result {
			t.Errorf("%s became %s", result, got)
		}
	}
}

func FuzzTake(f *testing.F) {
	for _, seed := range []string{
		`{"tools":[{"name":"a","annotations":{"readOnlyHint":"x"}},null,7],"ttlMs":5}`, `{"tools":[{"name":"a"}],"tools":[{}]}`, `{"tools":[{"name":"\ud800"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, result []byte) {
		_, page := rawlist.Watch(t.Context())
		before := string(result)
		out := page.Take(result)
		if string(result) != before {
			t.Error("it wrote to what it was shown")
		}
		if json.Valid(result) && !json.Valid(out) {
			t.Errorf("%s became %s", result, out)
		}
	})
}
