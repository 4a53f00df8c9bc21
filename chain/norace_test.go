//go:build !race

package chain_test

const raced = false
