//go:build race

package infer_test

// sampled is one in how many the slow tests look at: the race detector makes
// each ten times as slow and finds nothing more in pure functions.
const sampled = 16
