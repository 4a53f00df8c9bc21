// Package engine starts a redis-server of its own on loopback, for tests and for
// the commands that measure.
package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrNone says that there is no redis-server on the PATH.
var ErrNone = errors.New("engine: there is no redis-server on the PATH; apt-get install -y redis-server")

// An Engine is a redis-server that runs, or could.
type Engine struct {
	Port  int
	dir   string
	args  []string
	cmd   *exec.Cmd
	ended chan struct{} // is closed when the process that Start started is gone
}

// New starts a redis-server in the folder given with further arguments.
func New(ctx context.Context, dir string, args ...string) (*Engine, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, ErrNone
	}
	var err error
	for range 10 {
		e := &Engine{Port: port(), dir: dir, args: args}
		if err = e.Start(); err == nil || ctx.Err() != nil {
			return e, err
		}
	}
	return nil, err
}

var (
	first = rand.Int64N(10_000) // where this process begins, beside others that do the same
	given atomic.Int64
)

// port returns one that no other engine of this process has, not even one that is
// killed and will be back. It is from 10,000 to 19,999, and a cluster's node listens
// 10,000 further on as well: all below those that the system gives to connections
// (from 32,768), and none both a port and a node's second.
func port() int { return portOf(given.Add(1)) }

func portOf(nth int64) int { return 10_000 + int((first+nth)%10_000) }

// URL is where it is.
func (e *Engine) URL() string { return fmt.Sprintf("redis://127.0.0.1:%d/0", e.Port) }

// ready is what redis-server writes into its log once it listens.
const ready = "Ready to accept connections"

// Start starts it, once more after Kill, and waits until it listens. That it is the
// one who listens its log says: a connection could be another's, who had the port before.
func (e *Engine) Start() error {
	log, err := os.Create(filepath.Join(e.dir, "redis.log"))
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	defer log.Close()
	args := append([]string{
		"--port", fmt.Sprint(e.Port), "--bind", "127.0.0.1", "--dir", e.dir, "--save", "", "--appendonly", "no",
	}, e.args...)
	cmd, ended := exec.CommandContext(context.Background(), "redis-server", args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	e.cmd, e.ended = cmd, ended
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	late := time.After(time.Minute)
	for {
		said, err := os.ReadFile(log.Name())
		if err == nil && strings.Contains(string(said), ready) {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("engine: redis-server ended before it listened on port %d; it said:\n%s", e.Port, said)
		case <-late:
			e.Kill()
			return fmt.Errorf("engine: redis-server did not listen on port %d within a minute; it said:\n%s", e.Port, said)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Kill ends it at once, without a word.
func (e *Engine) Kill() {
	if e.cmd == nil {
		return
	}
	_ = e.cmd.Process.Signal(syscall.SIGCONT)
	_ = e.cmd.Process.Kill()
	<-e.ended
	e.cmd = nil
}

// Pause stops it without closing anything; Resume lets it go on.
func (e *Engine) Pause() error { return e.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (e *Engine) Resume() error { return e.cmd.Process.Signal(syscall.SIGCONT) }
