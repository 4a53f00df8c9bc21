package trim_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/schema"
	"github.com/fairlead-go/fairlead/internal/trim"
	"pgregory.net/rapid"
)

// anyText has what JSON escapes, what takes several bytes, and what is long.
func anyText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		piece := rapid.SampledFrom([]string{"a", "\"", "\\", "\n", "\x00", "é", "\u2028", "😀", "\xff", "<b>&", " "}).Draw(t, "piece")
		return strings.Repeat(piece, rapid.SampledFrom([]int{0, 1, 7, 60, 900}).Draw(t, "times"))
	})
}

// anyTree is a tree of up to that depth, as jsontree decodes it.
func anyTree(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 4
		if depth > 0 {
			kinds = 6
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return json.Number(rapid.SampledFrom([]string{"0", "-1.50", "1E+9"}).Draw(t, "number"))
		case 3, 4:
			return anyText().Draw(t, "text")
		case 5:
			return rapid.MapOfN(rapid.StringN(0, 12, -1), anyTree(depth-1), 0, 12).Draw(t, "object")
		}
		return rapid.SliceOfN(anyTree(depth-1), 0, 20).Draw(t, "list")
	})
}

// The weighed text is the written one.
func TestWeightIsThatOfWhatIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		v := anyTree(3).Draw(rt, "value")
		written := jsontree.Encode(v)
		if got, want := trim.JSON(v, math.MaxInt), utf8.RuneCountInString(written); got != want {
			rt.Fatalf("weighed %d, want %d: %s", got, want, written)
		}
	})
}

// A value that is still too large after cutting has nothing left to cut, the cuts are counted, and
// the given value is unchanged.
func TestCutJSONFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		v := anyTree(3).Draw(rt, "value")
		room := rapid.IntRange(300, 3000).Draw(rt, "room")
		before := jsontree.Encode(v)
		got := trim.CutJSON(v, room, nil)
		if jsontree.Encode(v) != before {
			rt.Fatal("the value was written to")
		}
		if n := trim.JSON(got, room); n > room {
			rt.Fatalf("it weighs %d, more than %d", n, room)
		}
		var lost trim.Loss
		if lost.Count(v, got); (lost == trim.Loss{}) != (jsontree.Encode(got) == before) {
			rt.Fatalf("lost %+v of %s: %s", lost, before, jsontree.Encode(got))
		}
	})
}

// Members that the shape requires or fixes stay, and the rest is cut for them.
func TestCutJSONKeepsToTheShape(t *testing.T) {
	t.Parallel()
	c, err := schema.ReadContract(json.RawMessage(`{"properties":{"hash":{"pattern":"^a+$"}},"required":["hash"]}`))
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]any{"hash": strings.Repeat("a", 400), "notes": strings.Repeat("n", 400), "cursor": trim.Whole(strings.Repeat("c", 50))}
	got, _ := trim.CutJSON(v, 600, c.Shape()).(map[string]any)
	if got["hash"] != v["hash"] || got["cursor"] != v["cursor"] {
		t.Errorf("got %v", got)
	}
	if notes, _ := got["notes"].(string); !strings.HasSuffix(notes, " characters cut]") || len(notes) > 130 {
		t.Errorf("got %q", notes)
	}
}

func TestCutTextHasTheMissingLength(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want string
	}{
		{strings.Repeat("é", 100), strings.Repeat("é", 25) + "… [75 characters cut]"},
		{strings.Repeat("\xff", 100), "\ufffd… [75 characters cut]"},
	} {
		if got := trim.CutText(tt.text, 47); got != tt.want || trim.Text(got, 100) > 47 {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		weights    []int
		room, want int
	}{
		{nil, 10, 10},
		{[]int{3, 3}, 10, 7},
		{[]int{20, 20}, 10, 5},
		{[]int{2, 20, 20}, 10, 4},
		{[]int{1, 1}, -1, 0},
	} {
		if got := trim.Share(slices.Values(tt.weights), tt.room); got != tt.want {
			t.Errorf("%v in %d: got %d, want %d", tt.weights, tt.room, got, tt.want)
		}
	}
}
