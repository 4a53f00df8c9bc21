//go:build !race

package middlewaretest_test

const raced = false
