//go:build !linux

package proxy

import "os/exec"

// startProcess starts a command. It may outlive this process if that is killed: there is no parent-death signal here.
func startProcess(c *exec.Cmd) error { return c.Start() }
