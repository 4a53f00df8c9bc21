// Package longtest keeps the tests that take long behind the environment variable FAIRLEAD_LONG=1, which CI sets.
package longtest

import (
	"os"
	"testing"
)

// Skip skips the test unless the switch is set.
func Skip(tb testing.TB) {
	tb.Helper()
	if !on() {
		tb.Skip("set FAIRLEAD_LONG=1 to run")
	}
}

// Every returns n, for a test that looks at every nth of many cases, or 1 if the switch is set.
func Every(tb testing.TB, n int) int {
	tb.Helper()
	if on() {
		return 1
	}
	tb.Logf("one case in %d; set FAIRLEAD_LONG=1 to run all", n)
	return n
}

func on() bool { return os.Getenv("FAIRLEAD_LONG") == "1" }
