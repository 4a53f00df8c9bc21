package main

import (
	"os"
	"testing"
)

// No order of the steps of calls at two replicas, one of which may be lost, executes a call in doubt again unasked.
func TestDoubtInAnyOrder(t *testing.T) {
	t.Parallel()
	states := 0
	for _, s := range doubtScenarios {
		if s.long && os.Getenv("FAIRLEAD_LONG") == "" {
			continue
		}
		e, err := s.explore()
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		if e.ends == 0 {
			t.Errorf("%s: it does not end", s.name)
		}
		states += len(e.seen)
		t.Logf("%d states, %d ends: %s", len(e.seen), e.ends, s.name)
	}
	if states < 3_000 {
		t.Errorf("%d states, want three thousand", states)
	}
}
