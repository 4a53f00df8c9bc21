// Package longtest keeps the tests that take long behind one switch, which CI sets:
// the environment variable FAIRLEAD_LONG=1.
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

// Every returns n, for a test that goes through very many cases and looks at every
// nth of them, or 1 if the switch is set.
func Every(tb testing.TB, n int) int {
	tb.Helper()
	if on() {
		return 1
	}
	tb.Logf("one case in %d; set FAIRLEAD_LONG=1 to run all", n)
	return n
}

func on() bool { return os.Getenv("FAIRLEAD_LONG") == "1" }
