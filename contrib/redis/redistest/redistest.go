// Package redistest starts a redis-server on loopback, for tests and commands that measure.
package redistest

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
	"testing"
	"time"
)

// ErrNotFound is returned by Run if no redis-server is on the PATH.
var ErrNotFound = errors.New("redistest: no redis-server on the PATH; apt-get install -y redis-server")

// A Server is a redis-server that Run or New started.
type Server struct {
	Port  int
	dir   string
	args  []string
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process that Start started has ended
}

// New starts a server for a test and kills it when the test ends. Without redis-server on the PATH it
// skips the test and prints a line to stderr.
func New(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s, err := Run(context.Background(), tb.TempDir(), args...)
	if errors.Is(err, ErrNotFound) {
		fmt.Fprintf(os.Stderr, "SKIPPED, NOT TESTED: %s: %v\n", tb.Name(), err)
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	return s
}

// Run starts a redis-server with further arguments. Its files are in dir.
func Run(ctx context.Context, dir string, args ...string) (*Server, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, ErrNotFound
	}
	var err error
	for range 10 {
		s := &Server{Port: port(), dir: dir, args: args}
		if err = s.Start(); err == nil || ctx.Err() != nil {
			return s, err
		}
	}
	return nil, err
}

var (
	first = rand.Int64N(10_000) // where this process begins, to avoid the ports of others
	given atomic.Int64
)

// port returns a port from 10,000 to 19,999 that no other Server of this process has had. It and a cluster
// node's second port, 10,000 above it, are below the system's, which begin at 32,768.
func port() int { return portOf(given.Add(1)) }

func portOf(nth int64) int { return 10_000 + int((first+nth)%10_000) }

// URL returns the address of the server.
func (s *Server) URL() string { return fmt.Sprintf("redis://127.0.0.1:%d/0", s.Port) }

// ready is what redis-server writes into its log once it listens.
const ready = "Ready to accept connections"

// Start starts the server again after Kill and waits until its log reports that it listens. Its port
// alone is not proof: another process may answer there.
func (s *Server) Start() error {
	log, err := os.Create(filepath.Join(s.dir, "redis.log"))
	if err != nil {
		return fmt.Errorf("redistest: %w", err)
	}
	defer log.Close()
	args := append([]string{
		"--port", fmt.Sprint(s.Port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no",
	}, s.args...)
	cmd, ended := exec.CommandContext(context.Background(), "redis-server", args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("redistest: %w", err)
	}
	s.cmd, s.ended = cmd, ended
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
			return fmt.Errorf("redistest: redis-server ended before it listened on port %d; its log:\n%s", s.Port, said)
		case <-late:
			s.Kill()
			return fmt.Errorf("redistest: redis-server did not listen on port %d within a minute; its log:\n%s", s.Port, said)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Kill ends the process with SIGKILL.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.cmd = nil
}

// Pause stops the process with SIGSTOP, which leaves its connections open.
func (s *Server) Pause() error { return s.signal("STOP") }

// Resume continues a paused process.
func (s *Server) Resume() error { return s.signal("CONT") }

// signal sends a signal that not all systems have, by a shell.
func (s *Server) signal(name string) error {
	return exec.CommandContext(context.Background(), "sh", "-c", fmt.Sprintf("kill -%s %d", name, s.cmd.Process.Pid)).Run()
}
