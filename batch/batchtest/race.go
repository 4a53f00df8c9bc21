//go:build race

package batchtest

// Race is true where the race detector looks on, which allocates by itself.
const Race = true
