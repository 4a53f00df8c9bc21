//go:build race

package middlewaretest_test

// The race detector reports what writes later before the kit can.
const raced = true
