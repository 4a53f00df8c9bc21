package resolution_test

import (
	"encoding/json"
	"testing"

	"github.com/fairlead-go/fairlead/internal/resolution"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	const key = `"io.github.fairlead-go/resolution"`
	for _, tt := range []struct{ name, method, in, want string }{
		{"capabilities", "initialize", `{"capabilities":{"tools":{"dynamicAnnotations":true}}}`,
			`{"capabilities":{"extensions":{` + key + `:{"dynamicAnnotations":true}},"tools":{"dynamicAnnotations":true}}}`},
		{"beside another extension", "server/discover", `{"capabilities":{"extensions":{"a/b":{}},"tools":{"dynamicAnnotations":true}}}`,
			`{"capabilities":{"extensions":{"a/b":{},` + key + `:{"dynamicAnnotations":true}},"tools":{"dynamicAnnotations":true}}}`},
		{"tools", "tools/list", `{"tools":[{"name":"a","dynamicAnnotations":true},{"name":"b"}]}`,
			`{"tools":[{"_meta":{` + key + `:{"dynamicAnnotations":true}},"dynamicAnnotations":true,"name":"a"},{"name":"b"}]}`},
		{"a _meta of its own stays", "tools/list", `{"tools":[{"name":"a","dynamicAnnotations":true,"_meta":{"x":12345678901234567890}}]}`,
			`{"tools":[{"_meta":{` + key + `:{"dynamicAnnotations":true},"x":12345678901234567890},"dynamicAnnotations":true,"name":"a"}]}`},
		{"false is not a mark", "tools/list", `{"tools":[{"name":"a","dynamicAnnotations":false}]}`, ""},
		{"a text is not a mark", "tools/list", `{"tools":[{"name":"a","dynamicAnnotations":"true"}]}`, ""},
		{"a _meta that is not an object", "tools/list", `{"tools":[{"name":"a","dynamicAnnotations":true,"_meta":1}]}`, ""},
		{"tools that are not a list", "tools/list", `{"tools":{}}`, ""},
		{"a tool that is not an object", "tools/list", `{"tools":[1,null]}`, ""},
		{"no capabilities", "initialize", `{}`, ""},
		{"no object", "initialize", `[1]`, ""},
		{"not JSON", "initialize", `{`, ""},
	} {
		want := tt.want
		if want == "" {
			want = tt.in
		}
		if got := string(resolution.Mark(tt.method, json.RawMessage(tt.in))); got != want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, want)
		}
	}
}
