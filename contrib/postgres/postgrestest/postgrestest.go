// Package postgrestest starts a PostgreSQL on a Unix socket, for tests.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// ErrNotFound is returned by Run if there is no PostgreSQL.
var ErrNotFound = errors.New("postgrestest: there is no initdb on the PATH or in /usr/lib/postgresql; apt-get install -y postgresql")

// A Server is a PostgreSQL that Run or New started. Its superuser is postgres, without a password.
type Server struct {
	Dir string // has its socket, and the folder data
	bin string
	as  []string // runs a program as another user than root, whom PostgreSQL refuses
}

// New starts a server for a test, and kills it when the test ends. Without PostgreSQL it skips the test and
// prints a line to stderr.
func New(tb testing.TB) *Server {
	tb.Helper()
	s, err := Run()
	if errors.Is(err, ErrNotFound) {
		fmt.Fprintf(os.Stderr, "SKIPPED, NOT TESTED: %s: %v\n", tb.Name(), err)
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Remove)
	return s
}

// Run makes a database and starts its server.
func Run() (*Server, error) {
	s, err := Prepare()
	if err != nil {
		return nil, err
	}
	if out, err := s.Command("initdb", "-D", s.data(), "-A", "trust", "-U", "postgres", "--no-sync").CombinedOutput(); err != nil {
		s.Remove()
		return nil, fmt.Errorf("postgrestest: %w: %s", err, out)
	}
	if err := s.Start(); err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

// Prepare makes the folder of a server, whose data are missing.
func Prepare() (*Server, error) {
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is one
		if len(found) == 0 {
			return nil, ErrNotFound
		}
		initdb = found[len(found)-1]
	}
	if initdb, err = filepath.EvalSymlinks(initdb); err != nil {
		return nil, fmt.Errorf("postgrestest: %w", err)
	}
	s := &Server{bin: filepath.Dir(initdb)}              // the other programs are beside it
	if s.Dir, err = os.MkdirTemp("", "pg"); err != nil { // short, as the name of a socket must be
		return nil, fmt.Errorf("postgrestest: %w", err)
	}
	if os.Getuid() != 0 {
		return s, nil
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		owner, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("postgrestest: %w", err)
	}
	uid, _ := strconv.Atoi(owner.Uid) // of this system, a number
	gid, _ := strconv.Atoi(owner.Gid)
	s.as = []string{"setpriv", "--reuid", owner.Uid, "--regid", owner.Gid, "--clear-groups"}
	return s, os.Chown(s.Dir, uid, gid)
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

// Command returns a program of PostgreSQL, to be run as the server's user.
func (s *Server) Command(name string, args ...string) *exec.Cmd {
	line := append(append(slices.Clip(s.as), filepath.Join(s.bin, name)), args...)
	cmd := exec.CommandContext(context.Background(), line[0], line[1:]...)
	cmd.Dir = s.Dir
	return cmd
}

// URL returns the address of the server.
func (s *Server) URL() string { return "postgres://postgres@/postgres?host=" + s.Dir }

// Start starts the server, again after Kill.
func (s *Server) Start() error {
	out, err := s.Command("pg_ctl", "start", "-w", "-D", s.data(), "-l", filepath.Join(s.Dir, "log"),
		"-o", "-c listen_addresses= -c fsync=off -c unix_socket_directories="+s.Dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("postgrestest: %w: %s", err, out)
	}
	return nil
}

// Kill ends the server at once, as a crash does, and waits for the end of its processes.
func (s *Server) Kill() {
	_ = s.Command("pg_ctl", "stop", "-m", "immediate", "-D", s.data()).Run() // it fails if the server does not run
}

// Remove kills the server and deletes its folder.
func (s *Server) Remove() {
	s.Kill()
	_ = os.RemoveAll(s.Dir)
}
