package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/strictjson"
)

func TestMembersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	all, ok := strictjson.Members([]byte(` {"b": [1, {"c": 2}], "a\u0062": 1e400, "b": null} behind it`))
	var got strings.Builder
	for _, m := range all {
		got.WriteString(m.Name + "=" + string(m.Value) + ";")
	}
	if want := `b=[1, {"c": 2}];ab=1e400;b=null;`; !ok || got.String() != want {
		t.Errorf("got %v %s, want %s", ok, got.String(), want)
	}
	if all, ok := strictjson.Members([]byte(`{}`)); !ok || len(all) != 0 {
		t.Errorf("an empty object: %v %v", all, ok)
	}
}

func TestMembersOfOtherValues(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, ` `, `null`, `7`, `"{}"`, `[]`, `[{}]`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a" 1}`, `{"a":1 "b":2}`,
		`{a:1}`, `{'a':1}`, `{1:1}`, `{"a":nul}`, `{"a":[}`, "{\"a\n\":1}", `{"a":1]`, `{,}`,
	} {
		if all, ok := strictjson.Members([]byte(text)); ok {
			t.Errorf("%s has the members %v", text, all)
		}
	}
}

func TestParseRefusesWhatIsNotOneJSONValue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, want string }{
		{"empty", "", "line 1: not valid JSON: unexpected EOF"},
		{"blank lines", "\n\n", "line 3: not valid JSON: unexpected EOF"},
		{"cut off", "{\n\"a\":", "line 2: not valid JSON: unexpected EOF"},
		{"a comma too many", "{\n\"a\": 1,\n}", "line 3: not valid JSON: invalid character '}'"},
		{"a comment", "{\n// why\n}", "line 2: not valid JSON: invalid character '/'"},
		{"a second value", "{}\n\n{}", "line 3: there is more after its end"},
		{"a stray brace", "{}}", "line 1: there is more after its end"},
		{"a byte order mark", "\ufeff{}", "line 1: not valid JSON"},
		{"a byte that is not UTF-8", "{\n\"\xff\": 1}", "line 2: not valid UTF-8"},
		{"half a surrogate in UTF-8", "\"\xed\xa0\x80\"", "line 1: not valid UTF-8"},
		{"nested too deeply", strings.Repeat("[", 20_000), "line 1: not valid JSON: invalid character '[' exceeded max depth"},
	} {
		if _, err := strictjson.Parse([]byte(tt.file)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	for _, file := range []string{`null`, " {} \n", `"\ud800"`, "\"\ufffd\"", `1e400`} {
		if _, err := strictjson.Parse([]byte(file)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

const file = `{
  "a": {"b":
    {"x": true,
     "c": 1}
  },
  "b": 2
}`

func TestErrorsNameLineAndPlace(t *testing.T) {
	t.Parallel()
	v, err := strictjson.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	top, err := v.Object("the file")
	if err != nil || len(top) != 2 || top[0].Name() != "a" || top[1].Name() != "b" {
		t.Fatalf("got %v, %v", top, err)
	}
	inner, err := top[0].Object("a")
	if err != nil || len(inner) != 1 {
		t.Fatalf("got %v, %v", inner, err)
	}
	deepest, err := inner[0].Object("b")
	if err != nil || len(deepest) != 2 || string(deepest[0].Raw()) != "true" {
		t.Fatalf("got %v, %v", deepest, err)
	}
	for want, v := range map[string]strictjson.Value{
		`line 7: odd 1`:                v,
		`line 5: "a": odd 1`:           top[0],
		`line 6: "b": odd 1`:           top[1],
		`line 4: "a": "b": odd 1`:      inner[0],
		`line 3: "a": "b": "x": odd 1`: deepest[0],
		`line 4: "a": "b": "c": odd 1`: deepest[1],
	} {
		if got := v.Errorf("odd %d", 1).Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if _, err := top[1].Object("a number"); err == nil || err.Error() != `line 6: "b": a number must be an object` {
		t.Errorf("got %v", err)
	}
}

func TestObjectRefusesAMemberGivenTwice(t *testing.T) {
	t.Parallel()
	v, err := strictjson.Parse([]byte("{\"a\": {\"x\": 1,\n\"y\": 2,\n\"\\u0078\": 3\n}}"))
	if err != nil {
		t.Fatal(err)
	}
	top, err := v.Object("the file")
	if err != nil {
		t.Fatal(err)
	}
	if members, err := top[0].Object("a"); err == nil || err.Error() != `line 3: "a": "x": is given twice` {
		t.Errorf("got %v, %v", members, err)
	}
}

func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{}],"a":"x"}`))
	f.Add([]byte(`{"a":`))
	f.Add([]byte(file))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, ok := strictjson.Members(text)
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) != nil || want == nil {
			return // Members does not look behind the object
		}
		got := make(map[string]json.RawMessage)
		for _, m := range all {
			got[m.Name] = m.Value // the last one counts
		}
		if !ok || len(got) != len(want) {
			t.Fatalf("%s: %v, %d members, want %d", text, ok, len(got), len(want))
		}
		for name, value := range want {
			if string(got[name]) != string(value) {
				t.Errorf("%s: %s is %s, want %s", text, name, got[name], value)
			}
		}
	})
}
