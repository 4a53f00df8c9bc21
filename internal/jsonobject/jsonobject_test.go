package jsonobject_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/jsonobject"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const text = `{"a": 1,` + "\n" + `"b" :{"a":[null]} }`
	members, err := jsonobject.Parse([]byte(text), "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"a": "1", "b": `{"a":[null]}`} {
		if m := members[key]; string(m.RawMessage) != want || !strings.HasPrefix(text[m.Start:], want) {
			t.Errorf("%s: got %s at %d, want %s", key, m.RawMessage, m.Start, want)
		}
	}
	if members, err := jsonobject.Parse([]byte(`{}`)); len(members) != 0 || err != nil {
		t.Errorf("got %v and %v", members, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, want string
		offset     int
	}{
		{``, "ends too soon", 0},
		{`{"a":1`, "ends too soon", 6},
		{`{"a":`, "ends too soon", 5},
		{`{"a"`, "ends too soon", 4},
		{`[]`, "is no object", 1},
		{`null`, "is no object", 4},
		{`a`, "is no JSON", 1},
		{`{"a":1,}`, "is no JSON", 7},
		{`{"a":1]`, "is no JSON", 6},
		{`{"a":1,"a":1}`, `has "a" twice`, 10},
		{`{"a":1,"\u0061":1}`, `has "a" twice`, 15},
		{`{"A":1}`, `has the unknown key "A"; it knows a, b`, 4},
		{`{"a":1}`, `has no "b"`, 7},
		{`{"a":1,"b":2}{}`, "goes on after its end", 14},
	} {
		members, err := jsonobject.Parse([]byte(tt.text), "a", "b")
		var e *jsonobject.Error
		if members != nil || !errors.As(err, &e) || !strings.Contains(e.Reason, tt.want) || e.Offset != tt.offset {
			t.Errorf("%s: got %v and %#v, want %q at %d", tt.text, members, err, tt.want, tt.offset)
		}
	}
}
