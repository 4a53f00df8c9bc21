package jsontree_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/fairlead-go/fairlead/internal/jsontree"
)

func TestExactKeepsDigits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text    string
		rounded bool
	}{
		{`{"id":9007199254740993}`, true}, {`9007199254740991`, false}, {`9007199254740992`, false}, {`18446744073709551616`, true},
		{`1.10`, true}, {`[1.1,2,-0.5,1e21]`, true}, {`-0`, false}, {`0`, false}, {`1E5`, true}, {`[1.25,"9007199254740993","\"1.10"]`, false},
		{`{"1.10":1}`, false}, {`null`, false}, {`true`, false},
	} {
		v, err := jsontree.Exact([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if form, err := json.Marshal(v); err != nil || string(form) != tt.text && tt.text != `[1.1,2,-0.5,1e21]` {
			t.Errorf("%s became %s, %v", tt.text, form, err)
		}
		if got := jsontree.Rounded([]byte(tt.text)); got != tt.rounded {
			t.Errorf("%s: rounded is %v", tt.text, got)
		}
	}
	v, err := jsontree.Exact([]byte(`[1,1.5]`))
	if list, ok := v.([]any); !ok || err != nil || list[0] != 1.0 || list[1] != 1.5 {
		t.Errorf("plain numbers are %#v, %v", v, err)
	}
	if _, err := jsontree.Exact([]byte(`1e400`)); err == nil {
		t.Error("1e400 is read")
	}
}

func TestIntoKeepsDigits(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"9007199254740991", "9007199254740992", "9007199254740993", "18446744073709551616", "1e400", "-0", "1.10", "0.1", "5"} {
		var v struct {
			Any  any             `json:"any"`
			Deep map[string]any  `json:"deep"`
			Raw  json.RawMessage `json:"raw"`
		}
		text := `{"any":` + number + `,"deep":{"n":[` + number + `]},"raw":` + number + `}`
		if err := jsontree.Into([]byte(text), &v); err != nil {
			t.Errorf("%s: %v", number, err)
		}
		if again, err := json.Marshal(v); err != nil || string(again) != text {
			t.Errorf("got %s, %v, want %s", again, err, text)
		}
	}
	var v any
	if err := jsontree.Into([]byte(`5`), &v); err != nil || v != 5.0 {
		t.Errorf("a plain number is %#v, %v", v, err)
	}
	for _, broken := range []string{`1.10 2`, `[1.10`, ``, `5 5`} {
		if err := jsontree.Into([]byte(broken), &v); err == nil {
			t.Errorf("%q is read", broken)
		}
	}
}

func TestNumbersByValue(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]any{
		"1.10": 1.1, "1.0": 1.0, "1e3": 1000.0, "1E+2": 100.0, "100": 100.0, "0.0": 0.0, "0e5": 0.0, "0.001": 0.001, "-12.50": -12.5,
		"9007199254740991": 9007199254740991.0, "9007199254740992": 9007199254740992.0, "-9007199254740993": json.Number("-9007199254740993"),
		"9007199254740993": json.Number("9007199254740993"), "18446744073709551616": json.Number("18446744073709551616"),
		"0.1000000000000000055": json.Number("0.1000000000000000055"), "1e-999999999": json.Number("1e-999999999"),
		"1e-99999999999999999999": json.Number("1e-99999999999999999999"), "1e400": json.Number("1e400"), "1e22": 1e22,
	} {
		text := map[string]any{"a": []any{json.Number(number), "x", nil, true}}
		var rounded any
		if f, err := json.Number(number).Float64(); err == nil {
			rounded = map[string]any{"a": []any{f, "x", nil, true}}
			if got := jsontree.Restore(rounded, text); got.(map[string]any)["a"].([]any)[0] != want {
				t.Errorf("%s is restored as %#v, want %#v", number, got, want)
			}
			if rounded.(map[string]any)["a"].([]any)[0] != f {
				t.Errorf("%s: the value itself was changed", number)
			}
		}
		if got := jsontree.Plain(text); got.(map[string]any)["a"].([]any)[0] != want {
			t.Errorf("%s is %#v, want %#v", number, got, want)
		}
	}
	if negative, ok := jsontree.Plain(json.Number("-0")).(float64); !ok || !math.Signbit(negative) {
		t.Errorf("-0 is %v, %v", negative, ok)
	}
}

// A host may have changed what it was sent.
func TestNumbersOfAnotherValueAreKept(t *testing.T) {
	t.Parallel()
	long := json.Number("9007199254740993")
	for _, c := range []struct{ v, text any }{
		{5.0, long}, {"9007199254740993", long}, {9007199254740992.0, "x"}, {9007199254740992.0, nil}, {nil, long},
		{[]any{9007199254740992.0}, []any{long, long}}, {[]any{9007199254740992.0}, long},
		{map[string]any{"b": 9007199254740992.0}, map[string]any{"a": long}}, {map[string]any{"b": 9007199254740992.0}, long},
		{map[string]any(nil), map[string]any{}},
	} {
		if got := jsontree.Restore(c.v, c.text); !reflect.DeepEqual(got, c.v) {
			t.Errorf("%#v of %#v became %#v", c.v, c.text, got)
		}
	}
}
