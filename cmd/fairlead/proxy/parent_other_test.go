//go:build !linux

package proxy_test

// reaps does nothing: orphans are reaped on Linux alone.
func reaps() {}
