package intern_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/internal/intern"
)

func TestShare(t *testing.T) {
	t.Parallel()
	equal := func(a, b *[]int) bool { return (*a)[0] == (*b)[0] }
	var set intern.Set[string, []int]
	share := func(key string, n int) *[]int { return set.Share(key, &[]int{n}, equal) }
	one := share("a", 1)
	if share("a", 1) != one {
		t.Error("equal values are there twice")
	}
	if share("b", 1) == one {
		t.Error("two keys share a value")
	}
	other := share("a", 2)
	if other == one || (*other)[0] != 2 {
		t.Errorf("a value that differs is %v", *other)
	}
	if share("a", 2) != other {
		t.Error("the later value is not shared")
	}
	runtime.KeepAlive(one)
}

// A value that is not in use is not kept.
func TestShareKeepsNothing(t *testing.T) {
	t.Parallel()
	var set intern.Set[int, [1 << 16]byte]
	gone := make(chan struct{})
	func() {
		v := set.Share(1, new([1 << 16]byte), func(_, _ *[1 << 16]byte) bool { return true })
		runtime.AddCleanup(v, func(done chan struct{}) { close(done) }, gone)
	}()
	for end := time.Now().Add(2 * time.Minute); ; {
		runtime.GC()
		select {
		case <-gone:
			return
		default:
		}
		if time.Now().After(end) {
			t.Fatal("the set keeps a value that is not in use")
		}
		runtime.Gosched()
	}
}
