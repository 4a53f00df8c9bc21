package jsontree_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/jsontree"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	v, err := jsontree.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestNumbersStayAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	const text = `{"a":9007199254740993,"b":[1.0,1E5,-0],"c":"<&>","d":null}`
	if got := jsontree.Encode(decode(t, text)); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                         "EOF",
		`{"a":1`:                   "unexpected EOF",
		`{} {}`:                    "more behind its end",
		`{}]`:                      "more behind its end",
		`{"a":[{"b":1e99999999}]}`: "the number 1e99999999 is too large",
	} {
		if _, err := jsontree.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`{"a":[1,{"b":null}]}`, ` {"a" : [1.0, {"b":null}]}`, true},
		{`100`, `1e2`, true},
		{`1`, `2`, false},
		{`[9007199254740993]`, `[9007199254740993]`, true},
		{`[9007199254740993]`, `[9007199254740992]`, false},
		{`0.1`, `0.10000000000000000001`, false},
		{`0.10`, `1e-1`, true},
		{`1`, `"1"`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":null}`, `{}`, false},
		{`{}`, `[]`, false},
	} {
		if got := jsontree.Same(decode(t, tt.a), decode(t, tt.b)); got != tt.want {
			t.Errorf("%s and %s: got %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestPointer(t *testing.T) {
	t.Parallel()
	const text = `{"":4,"a":{"b":[1,2]},"~/":3}`
	for _, tt := range []struct{ pointer, at, set, removed string }{
		{"", text, `0`, text},
		{"/a/b", `[1,2]`, `{"":4,"a":{"b":0},"~/":3}`, `{"":4,"a":{},"~/":3}`},
		{"/a/b/1", `2`, `{"":4,"a":{"b":[1,0]},"~/":3}`, text},
		{"/~0~1", `3`, `{"":4,"a":{"b":[1,2]},"~/":0}`, `{"":4,"a":{"b":[1,2]}}`},
		{"/", `4`, `{"":0,"a":{"b":[1,2]},"~/":3}`, `{"a":{"b":[1,2]},"~/":3}`},
		{"/a/c", "", `{"":4,"a":{"b":[1,2],"c":0},"~/":3}`, text},
		{"/a/b/2", "", text, text},
		{"/a/b/-1", "", text, text},
		{"/x/y", "", text, text},
		{"/a/b/0/z", "", text, text},
	} {
		p, err := jsontree.ParsePointer(tt.pointer)
		if err != nil {
			t.Fatal(err)
		}
		v := decode(t, text)
		if at, ok := p.In(v); ok != (tt.at != "") || ok && jsontree.Encode(at) != tt.at {
			t.Errorf("%q leads to %v, want %s", tt.pointer, at, tt.at)
		}
		if got := jsontree.Encode(p.Set(v, 0)); got != tt.set {
			t.Errorf("%q set: got %s, want %s", tt.pointer, got, tt.set)
		}
		v = decode(t, text)
		if p.Remove(v); jsontree.Encode(v) != tt.removed {
			t.Errorf("%q removed: got %s, want %s", tt.pointer, jsontree.Encode(v), tt.removed)
		}
	}
	if _, err := jsontree.ParsePointer("a"); err == nil || !strings.Contains(err.Error(), "want a JSON Pointer") {
		t.Errorf("got %v", err)
	}
}

func TestLikely(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"\ufeff\r\n\t {}": true, "[": true, "": false, "1": false, "a{": false} {
		if got := jsontree.Likely(text); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
