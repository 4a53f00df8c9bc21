package catalog

import (
	"cmp"
	"slices"

	"github.com/fairlead-go/fairlead/middleware"
)

// positive returns the places of the scores above 0.
func positive[F float32 | float64](scores []F) []int32 {
	var places []int32
	for at, score := range scores {
		if score > 0 {
			places = append(places, int32(at))
		}
	}
	return places
}

// byScore is the order in which the best score comes first.
func byScore[F float32 | float64](scores []F) func(a, b int32) int {
	return func(a, b int32) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) }
}

// first returns the first n places in an order that tells any two apart.
func first(places []int32, n int, order func(a, b int32) int) []int32 {
	return firstOf(places, n, order, func(int32) bool { return true })
}

// firstOf is first among those that keep holds for. It asks only about places that
// would be among the first: a tool lies far away in memory.
func firstOf(places []int32, n int, order func(a, b int32) int, keep func(int32) bool) []int32 {
	const few = 8 // from here on it is quicker to sort them all
	if n > len(places)/few {
		places = slices.DeleteFunc(slices.Clone(places), func(at int32) bool { return !keep(at) })
		slices.SortFunc(places, order)
		return places[:min(n, len(places))]
	}
	best := make([]int32, 0, n+1)
	for _, at := range places {
		if len(best) == n && (n == 0 || order(best[n-1], at) < 0) || !keep(at) {
			continue
		}
		i, _ := slices.BinarySearchFunc(best, at, order)
		best = slices.Insert(best, i, at)
		best = best[:min(n, len(best))]
	}
	return best
}

func placed(tools []*middleware.Tool, places []int32) []*middleware.Tool {
	list := make([]*middleware.Tool, len(places))
	for i, at := range places {
		list[i] = tools[at]
	}
	return list
}
