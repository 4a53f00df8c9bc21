package proxy

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// starters start processes on one thread that never ends: the kernel sends a child its parent-death signal when the
// thread that started it ends.
var starters = sync.OnceValue(func() chan<- func() {
	starts := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
})

// startProcess starts a command that the kernel kills when this process ends, however it ends.
func startProcess(c *exec.Cmd) (err error) {
	c.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan struct{})
	starters() <- func() {
		err = c.Start()
		close(done)
	}
	<-done
	return err
}
