package main

import "testing"

// The chance result of one process is not in the table.
func TestMergedIsTheMedian(t *testing.T) {
	found := []row{
		{Name: "a", Ratio: map[string]float64{"naive": 2.4}, Allocs: 1, PeerAllocs: map[string]float64{"naive": 7}, Cost: "310ns"},
		{Name: "a", Ratio: map[string]float64{"naive": 9}, Allocs: 1, PeerAllocs: map[string]float64{"naive": 7}, Cost: "1.1µs"},
		{Name: "a", Ratio: map[string]float64{"naive": 2.6}, Allocs: 1, PeerAllocs: map[string]float64{"naive": 8}, Cost: "320ns"},
	}
	r, err := merged(found)
	if err != nil || r.Ratio["naive"] != 2.6 || r.PeerAllocs["naive"] != 7 || r.Allocs != 1 || r.Cost != "320ns" || !r.Met {
		t.Errorf("merged as %+v, %v", r, err)
	}
	found[1].Cost = "quick"
	if _, err := merged(found); err == nil {
		t.Error("a cost of 0 passes")
	}
}

// A process measures the row that it is asked for, by its whole name.
func TestEachRowIsFoundByItsName(t *testing.T) {
	named := map[string]bool{}
	for _, b := range benchmarks() {
		if named[b.name] {
			t.Errorf("two rows are %s", b.name)
		}
		named[b.name] = true
	}
	for name := range named {
		for other := range named {
			if got := chosen(other, name+"$"); got != (other == name) {
				t.Errorf("%s$ chooses %s: %t", name, other, got)
			}
		}
	}
}
