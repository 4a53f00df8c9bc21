package canonical_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/internal/canonical"
)

// Any order of any members, on any number of goroutines.
func TestOrderOfMembersNeverMatters(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		var members []string
		for i := range r.IntN(40) {
			members = append(members, fmt.Sprintf(`"%c%d":{"n":[%d,"x"]}`, 'a'+rune(r.IntN(26)), i, r.IntN(100)))
		}
		want := form(t, "{"+strings.Join(members, ",")+"}")
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		if got := form(t, "{"+strings.Join(members, " , ")+"}"); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

// A long object is put in order, wherever its longest member is and wherever it goes.
func TestLongObjectsAreRearranged(t *testing.T) {
	t.Parallel()
	long := func(n int) string { // out of order inside, so that it cannot be copied as it is
		return `{"z":"` + strings.Repeat("z", n) + `","y":1}`
	}
	sorted := func(n int) string { return `{"y":1,"z":"` + strings.Repeat("z", n) + `"}` }
	for longest := range 4 {
		var given, want []string
		for i, name := range []string{"a", "b", "c", "d"} {
			n := 10 * i
			if i == longest {
				n = 10_000
			}
			given = append(given, `"`+name+`": `+long(n))
			want = append(want, `"`+name+`":`+sorted(n))
		}
		for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 0, 1, 2}} {
			var text []string
			for _, i := range order {
				text = append(text, given[i])
			}
			got, err := canonical.Append([]byte("before"), []byte("{"+strings.Join(text, " , ")+"}"))
			if err != nil || string(got) != "before{"+strings.Join(want, ",")+"}" {
				t.Errorf("the longest is %d, in the order %v: %.80s… (%v)", longest, order, got, err)
			}
		}
	}
}
