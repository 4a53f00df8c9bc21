package lazyregexp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMethods(t *testing.T) {
	t.Parallel()
	r := New(`(\w)=(\d)`)
	got := []any{
		r.MatchString("a=1"), r.FindString("x a=1"), r.FindStringSubmatch("a=1"), r.FindStringSubmatchIndex("a=1"),
		r.FindAllString("a=1 b=2", -1), r.FindAllStringIndex("a=1 b=2", -1), r.FindAllStringSubmatchIndex("a=1", -1),
	}
	want := []any{
		true, "a=1", []string{"a=1", "a", "1"}, []int{0, 3, 0, 1, 2, 3},
		[]string{"a=1", "b=2"}, [][]int{{0, 3}, {4, 7}}, [][]int{{0, 3, 0, 1, 2, 3}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("an invalid expression was taken in a test")
		}
	}()
	New(`(`)
}
