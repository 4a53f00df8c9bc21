//go:build !race

package canonical_test

const raced = false
