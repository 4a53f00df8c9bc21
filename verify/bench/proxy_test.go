package main

import (
	"runtime"
	"testing"
)

// This program is the server over stdio too.
func TestMain(m *testing.M) {
	if !serveChild() {
		m.Run()
	}
}

// Every process between a client and a server of lines hands on each result.
func TestResultsThroughProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it reads the CPU time of a process from a file of Linux")
	}
	for _, at := range []int{1, 4} {
		r, err := results("10KB", 10<<10, at).run(quick)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Ratio) != 3 {
			t.Errorf("%d ratios, want 3: %v", len(r.Ratio), r.Ratio)
		}
	}
}
