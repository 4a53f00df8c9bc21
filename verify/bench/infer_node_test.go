package main

import (
	"strings"
	"testing"
)

// The program on Node finds what the port finds. Where there is no Node, the row says
// so and is a row all the same.
func TestInferOnNode(t *testing.T) {
	r, err := inferNode(quick)
	if err != nil || !r.Met {
		t.Fatal(r, err)
	}
	if strings.Contains(r.Goal, "no node") {
		t.Skip("SKIPPED: there is no node on the PATH: the program for it is not tried")
	}
	if r.Ratio["node"] < 1 {
		t.Error(r.Goal)
	}
	t.Setenv("PATH", t.TempDir())
	if r, err := inferNode(quick); err != nil || !r.Met || !strings.Contains(r.Goal, "no node") {
		t.Error(r, err)
	}
}
