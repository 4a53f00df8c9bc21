// Package folder serves one folder as an MCP server, for an agent to tidy.
//
// Its tools carry no annotations: what a host makes of them is its own
// judgement. Every path is jailed in the folder, what is deleted or overwritten
// goes to .trash/ first, and a ledger remembers what really happened.
package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/fairlead-go/fairlead/mount"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options change what a Server does. The zero value keeps what is deleted and
// never fails.
type Options struct {
	// Purge deletes and overwrites for good. False keeps the old file in .trash/.
	Purge bool
	// Flaky is the share of calls, 0 to 1, that fail although nothing is wrong with
	// them. 0 means none.
	Flaky float64
	// Seed decides which calls fail.
	Seed uint64
}

// A Server is an MCP server over one folder.
type Server struct {
	server *mcp.Server
	ledger *ledger
}

// Open serves the folder dir. It fails where the folder is not there or cannot
// be written.
func Open(dir string, o Options) (*Server, func() error, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, unusable(dir, err)
	}
	if err := writable(root); err != nil {
		_ = root.Close()
		return nil, nil, unusable(dir, err)
	}
	s := &Server{
		server: mcp.NewServer(&mcp.Implementation{Name: "folder", Version: "1"}, nil),
		ledger: &ledger{},
	}
	j := &jail{root: root, purge: o.Purge}
	j.addReads(s.server)
	j.addWrites(s.server)
	f := &faults{rate: o.Flaky, random: rand.New(rand.NewPCG(o.Seed, 1)), row: map[string]int{}}
	s.server.AddReceivingMiddleware(f.middleware, s.ledger.middleware)
	return s, root.Close, nil
}

// Connect connects the client in memory. The session's Close ends both sides.
func (s *Server) Connect(ctx context.Context, client *mcp.Client) (*mcp.ClientSession, error) {
	here, there := mcp.NewInMemoryTransports()
	if _, err := s.server.Connect(ctx, there, nil); err != nil {
		return nil, err
	}
	return client.Connect(ctx, mount.Transport(here), nil)
}

// Ledger returns every effect that a call had on the folder, in the order of
// their first time.
func (s *Server) Ledger() []Effect { return s.ledger.list() }

// writable tries, since the mode bits of a folder do not tell.
func writable(root *os.Root) error {
	const probe = ".fairlead-probe"
	f, err := root.OpenFile(probe, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return root.Remove(probe) // left by a run that was killed
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), root.Remove(probe))
}

// unusable names the folder and what to do.
func unusable(dir string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return fmt.Errorf("the folder %s cannot be used: %w; choose one that exists and that you may write to", dir, err)
}

// jail is the folder with its rules: no path leaves it, and nothing is replaced
// by accident.
type jail struct {
	root  *os.Root
	purge bool
	mu    sync.Mutex // one change at a time, so that a check still holds when it is acted on
}
