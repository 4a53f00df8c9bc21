//go:build unix

package command

import (
	"os/exec"
	"syscall"
)

// detach has a process outlive the one that starts it, and its terminal.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
