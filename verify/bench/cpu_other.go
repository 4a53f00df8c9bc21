//go:build !unix

package main

import "time"

var start = time.Now()

// cpuTime is the time on the wall, since this system has no CPU time.
func cpuTime() time.Duration { return time.Since(start) }
