package jsontree_test

import (
	"encoding/json"
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
