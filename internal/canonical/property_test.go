package canonical_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"pgregory.net/rapid"
)

func append1(t *rapid.T, text string) []byte {
	t.Helper()
	out, err := canonical.Append(nil, []byte(text))
	if err != nil {
		t.Fatalf("%q is refused: %v", text, err)
	}
	return out
}

// read decodes a text and keeps the literals of its numbers.
func read(t *rapid.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// However a value is written, it has one form; the form means what the text
// means, and is its own form.
func TestSameMeaningSameForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := anyObject().Draw(t, "value")
		left, right := writing(t, v), writing(t, v)
		form := append1(t, left)
		if other := append1(t, right); !bytes.Equal(form, other) {
			t.Fatalf("%q and %q mean the same and have the forms %q and %q", left, right, form, other)
		}
		if again := append1(t, string(form)); !bytes.Equal(again, form) {
			t.Fatalf("the form %q has the form %q", form, again)
		}
		if got, want := read(t, form), read(t, []byte(left)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q means %v and its form %q means %v", left, want, form, got)
		}
	})
}

// Two values that mean different things have different forms, be the difference
// ever so small.
func TestOtherMeaningOtherForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := anyObject().Draw(t, "value")
		w := maps.Clone(v)
		other := anyObject().Draw(t, "other")
		for _, name := range slices.Sorted(maps.Keys(other))[:min(1, len(other))] { // added, or written over
			w[name] = other[name]
		}
		left, right := writing(t, v), writing(t, w)
		if same := bytes.Equal(append1(t, left), append1(t, right)); same != sameValue(v, w) {
			t.Fatalf("%q and %q mean the same: %t; one form: %t", left, right, !same, same)
		}
	})
}
