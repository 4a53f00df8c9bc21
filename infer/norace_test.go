//go:build !race

package infer_test

// sampled is one in how many the slow tests look at.
const sampled = 1
