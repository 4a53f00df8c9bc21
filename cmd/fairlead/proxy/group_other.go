//go:build !unix

package proxy

import (
	"os/exec"
	"syscall"
)

// ownGroup does nothing: there are no groups of processes here.
func ownGroup(*exec.Cmd) {}

// signal ends the process; there is one signal that does.
func signal(c *exec.Cmd, s syscall.Signal) {
	if s == syscall.SIGKILL {
		_ = c.Process.Kill() // it may have ended
	}
}
