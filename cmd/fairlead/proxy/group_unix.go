//go:build unix

package proxy

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group, so that a launcher does not leave its server behind.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signal signals the whole group.
func signal(c *exec.Cmd, s syscall.Signal) { _ = syscall.Kill(-c.Process.Pid, s) } // it may have ended
