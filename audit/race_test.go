//go:build race

package audit_test

const raced = true
