//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is the CPU time that the process has used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // only for a question that does not exist
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
