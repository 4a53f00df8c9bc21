//go:build !unix

package main

import "time"

var start = time.Now()

// cpuTime is the time on the wall where CPU time cannot be had: leave the machine
// alone meanwhile.
func cpuTime() time.Duration { return time.Since(start) }
