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
	ctx, page := rawlist.Watch(t.Context(), nil)
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
		{"a name twice", `{"name":"b","name":"a"}`, `"name" is given twice`},
		{"annotations twice", `{"name":"a","annotations":{"destructiveHint":true},"annotations":{}}`, `"annotations" is given twice`},
		{"a hint twice, the first no hint", `{"name":"a","annotations":{"readOnlyHint":"x","readOnlyHint":true}}`, `readOnlyHint is "x", want a boolean`},
		{"a name that is written otherwise", `{"\u006eame":7,"name":"a"}`, "name is 7, want a string"},
		{"a description in two cases", `{"name":"a","description":"Deletes it.","Description":"Gets it."}`, `"Description" can be taken for "description"`},
		{"a description in another case", `{"name":"a","DESCRIPTION":"Gets it."}`, `"DESCRIPTION" can be taken for "description"`},
		{"a schema in two cases", `{"name":"a","inputSchema":{},"InputSchema":{}}`, `"InputSchema" can be taken for "inputSchema"`},
		{"annotations by another letter", `{"name":"a","annotation\u017f":{}}`, `can be taken for "annotations"`},
		{"a hint in another case", `{"name":"a","annotations":{"READONLYHINT":true}}`, `among its annotations "READONLYHINT" can be taken for "readOnlyHint"`},
		{"a hint in two cases", `{"name":"a","annotations":{"readOnlyHint":false,"ReadOnlyHint":true}}`, `"ReadOnlyHint" can be taken for "readOnlyHint"`},
		{"an argument twice", `{"name":"a","inputSchema":{"properties":{"path":{"type":"string"},"path":{"type":"number"}}}}`, `"path" is given twice`},
		{"arguments that differ in case", `{"name":"a","inputSchema":{"properties":{"path":{},"Path":{}}}}`, ""},
		{"a member of meta twice", `{"name":"a","_meta":{"x":{"y":1,"\u0079":2}}}`, `"y" is given twice`},
		{"execution that is text", `{"name":"a","execution":"required"}`, `execution is "required", want an object`},
		{"null", `null`, "it is null"},
		{"a list", `[1]`, "want an object, got [1]"},
		{"text", `"x"`, `want an object, got "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, page := rawlist.Watch(t.Context(), nil)
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
	_, page := rawlist.Watch(t.Context(), nil)
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
			_, page := rawlist.Watch(t.Context(), nil)
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
	_, page := rawlist.Watch(t.Context(), nil)
	page.Take(json.RawMessage(`{"tools":[{"name":"a"},null,{"name":"b"},{"name":"c"},{"name":"b"}]}`))
	var got []string
	for _, f := range page.Faults([]*mcp.Tool{{Name: "c"}, {Name: "b"}, nil}) {
		got = append(got, fmt.Sprint(f.Index, f.Name))
	}
	if want := []string{"0a", "1", "4b"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A list with a member of another type is not read.
func TestListOfAnotherType(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`null`: "it is null, want an object", `7`: "it is 7, want an object", `[]`: "it is [], want an object",
		`{}`: "it has no member tools", `{"others":[null]}`: "it has no member tools", `{"tools":{}}`: "tools is {}, want a list",
		`{"tools":[],"nextCursor":7}`: "nextCursor is 7, want a string", `{"tools":[],"nextCursor":["a"]}`: `nextCursor is ["a"], want a string`,
		`{"tools":[],"_meta":"x"}`:       `_meta is "x", want an object without a number that is out of range`,
		`{"tools":[],"cacheScope":true}`: "cacheScope is true, want a string", `{"tools":[],"resultType":7}`: `resultType is 7, want "complete"`,
		`{"tools":[],"resultType":"input_required"}`: `resultType is "input_required", want "complete"`,
	} {
		_, page := rawlist.Watch(t.Context(), nil)
		if got := page.Take(json.RawMessage(result)); string(got) != `{"tools":[]}` || page.Err() == nil || page.Err().Error() != want {
			t.Errorf("%s became %s: %v, want %s", result, got, page.Err(), want)
		}
	}
}

func TestOtherResultsPass(t *testing.T) {
	t.Parallel()
	for _, result := range []string{``, `{"tools":null}`, `{"tools":[`, `{"tools":[],"nextCursor":null,"resultType":"complete"}`} {
		_, page := rawlist.Watch(t.Context(), nil)
		if got := page.Take(json.RawMessage(result)); string(got) != result {
			t.Errorf("%s became %s", result, got)
		}
	}
}

// A list that two readers take for different ones is not read.
func TestListThatIsAmbiguous(t *testing.T) {
	t.Parallel()
	for _, result := range []string{
		`{"tools":[{"name":"a"}],"tools":[{"name":"b"}]}`, `{"tools":[{"name":"a"}],"Tools":[{"name":"b"}]}`, `{"TOOLS":[{"name":"a"}]}`,
		`{"tools":[{"name":"a"}],"tool\u017f":[{"name":"b"}]}`, `{"tools":[{"name":"a"}],"nextCursor":"x","NextCursor":""}`, `{"tools":[{"name":"a"}],"ttlMs":1,"ttlMs":2}`,
		`{"tools":[{"name":"a"}],"_meta":{"a":1,"a":2}}`, `{"_meta":{"\ud800":1,"\ud801":2},"tools":[]}`,
	} {
		_, page := rawlist.Watch(t.Context(), nil)
		if got := page.Take(json.RawMessage(result)); string(got) != `{"tools":[]}` || page.Err() == nil || len(page.Faults(nil)) > 0 {
			t.Errorf("%s became %s, %v", result, got, page.Err())
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
		_, page := rawlist.Watch(t.Context(), nil)
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
