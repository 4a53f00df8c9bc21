//go:build !unix

package command

import "os/exec"

// detach leaves the process as it is: here it outlives the one that starts it anyway.
func detach(*exec.Cmd) {}
