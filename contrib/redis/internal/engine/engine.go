// Package engine starts a redis-server of its own on loopback, for tests and for
// the commands that measure.
package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// ErrNone says that there is no redis-server on the PATH.
var ErrNone = errors.New("engine: there is no redis-server on the PATH; apt-get install -y redis-server")

// An Engine is a redis-server that runs, or could.
type Engine struct {
	Port int
	dir  string
	args []string
	cmd  *exec.Cmd
}

// New starts a redis-server in the folder given with further arguments.
func New(ctx context.Context, dir string, args ...string) (*Engine, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, ErrNone
	}
	port, err := free(ctx)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	e := &Engine{Port: port, dir: dir, args: args}
	return e, e.Start()
}

// free returns a port on which nobody listens. It is below those that the system gives
// to connections by itself, so that none of them has it before redis-server does.
func free(ctx context.Context) (port int, err error) {
	for range 100 {
		port = 10_000 + rand.IntN(20_000)
		var l net.Listener
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// URL is where it is.
func (e *Engine) URL() string { return fmt.Sprintf("redis://127.0.0.1:%d/0", e.Port) }

// Start starts it, once more after Kill, and waits until it listens.
func (e *Engine) Start() error {
	args := append([]string{
		"--port", fmt.Sprint(e.Port), "--bind", "127.0.0.1", "--dir", e.dir, "--save", "", "--appendonly", "no", "--loglevel", "warning",
	}, e.args...)
	e.cmd = exec.CommandContext(context.Background(), "redis-server", args...)
	log, err := os.OpenFile(filepath.Join(e.dir, "redis.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	defer log.Close()
	e.cmd.Stdout, e.cmd.Stderr = log, log
	if err := e.cmd.Start(); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", e.Port), time.Second)
		if err == nil {
			return conn.Close()
		}
	}
	e.Kill()
	return fmt.Errorf("engine: redis-server does not listen; its log is %s", log.Name())
}

// Kill ends it at once, without a word.
func (e *Engine) Kill() {
	if e.cmd == nil || e.cmd.Process == nil {
		return
	}
	_ = e.cmd.Process.Signal(syscall.SIGCONT)
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
	e.cmd = nil
}

// Pause stops it without closing anything; Resume lets it go on.
func (e *Engine) Pause() error { return e.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (e *Engine) Resume() error { return e.cmd.Process.Signal(syscall.SIGCONT) }
