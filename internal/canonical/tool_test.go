package canonical_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// A definition is written as its JSON is, and copied as its form is decoded.
func TestToolHasTheFormOfItsJSON(t *testing.T) {
	t.Parallel()
	object := func(t *rapid.T, label string) (tree map[string]any) {
		if json.Unmarshal([]byte(writing(t, anyObject().Draw(t, label))), &tree) != nil {
			t.Skip("not for encoding/json")
		}
		return tree
	}
	hint := rapid.SampledFrom([]*bool{nil, new(false), new(true)})
	title := rapid.SampledFrom([]string{"", "b", "a \"title\"\n\x7f<\u2028é", "\xff"})
	rapid.Check(t, func(t *rapid.T) {
		tool := &mcp.Tool{Name: "a", Title: title.Draw(t, "title"), Description: title.Draw(t, "description"), InputSchema: object(t, "input")}
		if rapid.Bool().Draw(t, "more") {
			tool.Meta, tool.OutputSchema = object(t, "meta"), object(t, "output")
			tool.Annotations = &mcp.ToolAnnotations{
				Title: title.Draw(t, "other title"), ReadOnlyHint: rapid.Bool().Draw(t, "read-only"), IdempotentHint: rapid.Bool().Draw(t, "idempotent"),
				DestructiveHint: hint.Draw(t, "destructive"), OpenWorldHint: hint.Draw(t, "open-world"),
			}
			tool.Icons = rapid.SampledFrom([][]mcp.Icon{nil, {{Source: "a"}}}).Draw(t, "icons")
		}
		raw, err := json.Marshal(tool)
		if err != nil {
			t.Skip(err)
		}
		want, err := canonical.Append(nil, raw)
		if err != nil {
			t.Skip(err)
		}
		got, private, err := canonical.Tool(nil, tool)
		if err != nil || string(got) != string(want) {
			t.Fatalf("got %s, %v\nwant %s", got, err, want)
		}
		var decoded mcp.Tool
		if err := json.Unmarshal(want, &decoded); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(&decoded, private); d != "" {
			t.Fatalf("the copy of %s differs: %s", want, d)
		}
	})
}

// A member that a later SDK adds has to be written and copied as well.
func TestToolHasNoOtherMembers(t *testing.T) {
	t.Parallel()
	if n, m := reflect.TypeFor[mcp.Tool]().NumField(), reflect.TypeFor[mcp.ToolAnnotations]().NumField(); n != 8 || m != 5 {
		t.Errorf("a tool has %d members and its annotations %d, and not 8 and 5", n, m)
	}
}

// What is in a copy is not what is in the definition.
func TestToolIsCopiedWhole(t *testing.T) {
	t.Parallel()
	list, object := []any{"a"}, map[string]any{"a": "b"}
	d := &mcp.Tool{
		Name: "a", InputSchema: map[string]any{"list": list, "object": object}, OutputSchema: object, Meta: mcp.Meta{"object": object},
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)},
	}
	form, private, err := canonical.Tool(nil, d)
	if err != nil {
		t.Fatal(err)
	}
	list[0], object["a"], *d.Annotations.DestructiveHint, *d.Annotations.OpenWorldHint = "changed", "changed", true, true
	if again, err := canonical.AppendTool(nil, private); err != nil || string(again) != string(form) {
		t.Errorf("the copy of %s became %s, %v", form, again, err)
	}
}

func TestToolOfOtherValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		v    any
		want string
	}{
		"nothing":           {nil, `null`},
		"a nil map":         {map[string]any(nil), `null`},
		"a nil list":        {[]any(nil), `null`},
		"empty":             {map[string]any{"a": []any{}, "b": map[string]any{}}, `{"a":[],"b":{}}`},
		"small and large":   {[]any{1e-7, 1e21, 1e20, -0.5, 1e-300}, `[1e-7,1e+21,100000000000000000000,-0.5,1e-300]`},
		"a raw message":     {map[string]any{"a": json.RawMessage(`{"z": 9007199254740993, "b": 1.0}`)}, `{"a":{"b":1.0,"z":9007199254740993}}`},
		"a struct":          {struct{ B, A int }{1, 2}, `{"A":2,"B":1}`},
		"two foreign ones":  {[]any{json.Number("1.50"), int64(7), "x"}, `[1.50,7,"x"]`},
		"a broken text":     {"a\xffb\x01\"", `"a` + "\ufffd" + `b\u0001\""`},
		"awkward keys":      {map[string]any{"a": 1.0, "a!": 2.0, "a ": 3.0, "\"": 4.0}, `{"\"":4,"a ":3,"a!":2,"a":1}`},
		"characters of XML": {"<&>\u2028", "\"<&>\u2028\""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canonical.AppendTool([]byte("x"), &mcp.Tool{Name: "n", InputSchema: c.v})
			if want := `x{"inputSchema":` + c.want + `,"name":"n"}`; err != nil || string(got) != want {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		})
	}
}

func TestToolThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	var deep any = "x"
	for range 600 {
		deep = []any{deep}
	}
	circle := map[string]any{}
	circle["a"] = circle
	for name, v := range map[string]any{
		"a func": func() {}, "NaN": math.NaN(), "infinite": []any{math.Inf(1)}, "deep": deep, "a circle": circle,
		"long": strings.Repeat("x", 5<<20), "a raw member twice": json.RawMessage(`{"a":1,"a":2}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := canonical.AppendTool([]byte("x"), &mcp.Tool{InputSchema: v}); err == nil || string(got) != "x" {
				t.Errorf("got %.40s, %v", got, err)
			}
		})
	}
}
