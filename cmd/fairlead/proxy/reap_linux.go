package proxy

import (
	"bytes"
	"context"
	"os"
	notify "os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// reapDelay is how long a process of no one is left to whoever waits for it.
const reapDelay = time.Second

// ReapOrphans collects processes that have ended and are not waited for elsewhere, until ctx is done. The kernel gives the
// children of a process that ended to process 1, which in a container is the proxy; without this they stay as zombies.
func ReapOrphans(ctx context.Context) {
	ended := make(chan os.Signal, 1)
	notify.Notify(ended, syscall.SIGCHLD)
	defer notify.Stop(ended)
	seen := make(map[int]bool)
	for {
		var again <-chan time.Time
		if len(seen) > 0 {
			again = time.After(reapDelay)
		}
		select {
		case <-ended:
		case <-again:
		case <-ctx.Done():
			return
		}
		select { // the next one sees these again
		case <-time.After(reapDelay):
		case <-ctx.Done():
			return
		}
		now := make(map[int]bool)
		for _, pid := range zombies() {
			if _, ours := own.Load(pid); ours {
				continue
			}
			if seen[pid] {
				_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // somebody may have been faster
			} else {
				now[pid] = true
			}
		}
		seen = now
	}
}

// zombies returns the children of this process that have ended and were not waited for.
func zombies() (all []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(filepath.Clean(name))
		if err != nil {
			continue // it has gone
		}
		pid, _, _ := bytes.Cut(text, []byte(" "))
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 2 || string(fields[0]) != "Z" || string(fields[1]) != strconv.Itoa(os.Getpid()) {
			continue
		}
		if n, err := strconv.Atoi(string(pid)); err == nil {
			all = append(all, n)
		}
	}
	return all
}
