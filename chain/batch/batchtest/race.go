//go:build race

package batchtest

// Race reports whether the race detector is on, which allocates by itself.
const Race = true
