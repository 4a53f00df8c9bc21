package agent

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-go/fairlead/internal/agent/folder"
	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/internal/dial"
	"github.com/fairlead-go/fairlead/mount"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// memory is the SDK's own example server, from wherever the program runs.
const memory = "go run github.com/modelcontextprotocol/go-sdk/examples/server/memory@v1.8.0"

// connectLimit is how long a server may take to come up. A first `go run` builds.
const connectLimit = 2 * time.Minute

// A connection is a session and what its other end is.
type connection struct {
	session *mcp.ClientSession
	name    string
	folder  string       // the folder that is worked on, "" for a foreign server
	foreign *dial.Server // nil for a server of ours
	closers []func() error
}

// explain says which server failed and what to do.
func (c *connection) explain(err error) error {
	if c.foreign == nil {
		return err
	}
	return c.foreign.Explain(err)
}

// sharedName names what is worked on, for those who share what they know of it.
func (c *connection) sharedName() string {
	if c.folder != "" {
		return "folder " + c.folder
	}
	return "server " + c.name
}

func (h *host) connect(ctx context.Context) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "fairlead-agent", Version: "1"},
		mount.Options(h.tools, &mcp.ClientOptions{ProgressNotificationHandler: h.progress}))
	if h.options.server == "" {
		h.server = "files"
		return h.connectFolder(ctx, client)
	}
	h.server = "server"
	if h.options.server == "memory" {
		h.server = "memory"
	}
	return h.connectForeign(ctx, client)
}

// connectFolder serves a folder in memory: the person's own, or a copy of the
// inbox that comes with the program.
func (h *host) connectFolder(ctx context.Context, client *mcp.Client) error {
	dir := h.dir
	if dir == "" {
		var err error
		if dir, err = copyInbox(h.program.Inbox); err != nil {
			return err
		}
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	server, closeFolder, err := folder.Open(dir, folder.Options{Purge: h.purge, Flaky: h.flaky, Seed: h.seed})
	if err != nil {
		return err
	}
	h.folder, h.program.Folder = server, server
	h.where = connection{name: "files, in memory; it declares nothing about its tools", folder: dir, closers: []func() error{closeFolder}}
	h.where.session, err = server.Connect(ctx, client)
	return err
}

func copyInbox(inbox fs.FS) (string, error) {
	dir, err := os.MkdirTemp("", "fairlead-inbox-")
	if err != nil {
		return "", fmt.Errorf("no temporary folder: %w; set TMPDIR, or name a folder by --dir", err)
	}
	if err := os.CopyFS(dir, inbox); err != nil {
		return "", fmt.Errorf("the inbox could not be copied to %s: %w; name a folder by --dir", dir, err)
	}
	return dir, nil
}

// connectForeign starts or reaches somebody else's server.
func (h *host) connectForeign(ctx context.Context, client *mcp.Client) error {
	h.where = connection{name: h.options.server}
	target, err := target(h.options.server)
	if err != nil {
		return err
	}
	// The session lives on this context: it is cancelled at once if none comes
	// about, else at the end.
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(connectLimit, func() { cancel(fmt.Errorf("it said nothing for %v", connectLimit)) })
	defer timer.Stop()
	if h.where.foreign, err = dial.Connect(ctx, client, target); err != nil {
		cancel(err)
		return err
	}
	h.where.session = h.where.foreign.Session
	h.where.closers = append(h.where.closers, func() error { cancel(context.Canceled); return nil })
	return nil
}

// target is the server that --server names: an URL, a command line, or a short
// name.
func target(server string) (t dial.Target, err error) {
	if server == "memory" {
		server = memory
	}
	words, err := plan.SplitWords(server)
	if err != nil {
		return t, fmt.Errorf("--server %s: %w", server, err)
	}
	return dial.Words(words...), nil
}

func (h *host) close() {
	if h.endRecord != nil {
		_ = h.endRecord() // the run has ended with an error of its own
	}
	_ = h.tools.Close() // it has nothing to say
	if h.where.session != nil {
		// A server that ended badly was reported where a call noticed it.
		_ = h.where.session.Close()
	}
	for _, f := range h.where.closers {
		_ = f()
	}
	_ = h.shared.End() // what it holds ends by itself
}
