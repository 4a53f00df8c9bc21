package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/prompt"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"mvdan.cc/sh/v3/shell"
)

// A host is one run: a server, its tools, and the chain in front of them.
type host struct {
	options
	folder  *folder // nil for another server
	id      string  // of the server in the catalog
	tools   *catalog.Catalog
	chain   chain.Standard
	caller  middleware.ToolCaller
	closers []func() error // the last one first

	turn   map[string]*call // by Call.ID; it does not change while the turn is under way
	counts counts
}

// newHost connects to the server and assembles the chain. The caller closes it, after an error too.
func newHost(ctx context.Context, o options) (*host, error) {
	h := &host{options: o, tools: catalog.New(catalog.Options{})}
	h.closers = append(h.closers, h.tools.Close)
	transport, err := h.transport(ctx)
	if err != nil {
		return h, err
	}
	session, err := mount.Connect(ctx, h.tools, h.id, &mcp.Implementation{Name: "fairlead-agent", Version: "1"}, transport)
	if err == nil {
		h.closers = append(h.closers, func() error { _ = session.Close(); return nil }) // a call has reported what is wrong with it
	}
	if err == nil && h.folder != nil { // no other program writes to it
		_, err = h.tools.OverrideMatching(h.id+"/*", annotation.Annotations{Freshness: annotation.Stable}) //nolint:contextcheck // it calls nothing
	}
	if err != nil { // an error of HTTP holds the whole URL, so secrets are taken out
		return h, redact.Error(fmt.Errorf("the server %q failed: %w", h.server, err))
	}
	h.chain = h.standard()
	if h.audit != "" {
		log := slog.New(slog.NewTextHandler(h.errs, nil))
		file, err := audit.OpenFile(h.audit, log)
		if err != nil {
			return h, fmt.Errorf("--audit %s: %w; name a file in a folder that exists", h.audit, err)
		}
		h.closers = append(h.closers, file.Close)
		h.chain.Audit = audit.New(file, audit.Options{Logger: log})
	}
	h.caller = h.chain.Then(h.tools)
	return h, nil
}

// standard returns the chain of every call. A host with a model adds Output and Budget.
func (h *host) standard() chain.Standard {
	about := func(_ context.Context, asked middleware.Call) (why, undo string) { return h.turn[asked.ID].why, "" }
	limit := ratelimit.Options{}
	if h.rate > 0 {
		limit.PerMinute, limit.Burst = h.rate, 1
	}
	return chain.Standard{
		Outermost: []middleware.Middleware{h.watch},
		Flow:      flow.New(flow.Options{}), // these planners have no words of a user to compare with
		Confirm:   hitl.New(h.confirmer(), hitl.Options{About: about, Timeout: 10 * time.Minute}),
		PerCall:   []middleware.Middleware{h.approved},
		Cache:     cache.New(cache.Options{}),
		Retry:     retry.New(retry.Options{}),
		RateLimit: ratelimit.New(limit),
		Timeout:   timeout.New(timeout.Options{}),
	}
}

// confirmer answers for --yes, or asks the person at the terminal.
func (h *host) confirmer() hitl.Confirmer {
	switch h.yes {
	case "ask":
		return terminal.New(h.in, h.errs)
	case "all":
		return hitl.DangerouslyApproveEveryCallWithoutAsking()
	}
	return hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		switch {
		case h.yes == "none":
			return hitl.Decision{}, errors.New("nobody is here to ask")
		case h.folder == nil || h.purge || r.Tool.Name() != "delete_file":
			return hitl.Decision{}, errors.New("--yes safe covers only what .trash/ can undo")
		}
		return hitl.Decision{Verdict: hitl.Approved, By: "--yes safe"}, nil
	})
}

func (h *host) systemPrompt() string {
	const identity = "You are an agent that works with the tools of one server on behalf of the user. Work step by step, look before you change anything, and say at the end what you did."
	return prompt.New(prompt.Options{Identity: identity, Enforced: h.chain.Describe()}).For(h.tools.List()).String()
}

// transport returns the way to the server: in memory, at a URL, or a process.
func (h *host) transport(ctx context.Context) (mcp.Transport, error) {
	if h.server == "" {
		return h.serveFolder(ctx)
	}
	h.id = "server"
	if strings.HasPrefix(h.server, "http://") || strings.HasPrefix(h.server, "https://") {
		return &mcp.StreamableClientTransport{Endpoint: h.server}, nil
	}
	line := h.server
	if line == "memory" { // the SDK's own example
		h.id, line = "memory", "go run github.com/modelcontextprotocol/go-sdk/examples/server/memory@v1.8.0"
	}
	words, err := shell.Fields(line, nil)
	if err != nil || len(words) == 0 {
		return nil, fmt.Errorf("--server %q is not a command line: %w", line, err)
	}
	command := exec.Command(words[0], words[1:]...) // it ends with its session
	command.Stderr = h.errs
	return &mcp.CommandTransport{Command: command}, nil
}

// serveFolder serves a folder in memory: the user's own, or a copy of the inbox.
func (h *host) serveFolder(ctx context.Context) (mcp.Transport, error) {
	h.id = "files"
	dir, err := filepath.Abs(h.dir)
	if h.dir == "" {
		if dir, err = os.MkdirTemp("", "fairlead-inbox-"); err == nil {
			files, _ := fs.Sub(inbox, "inbox") // it is embedded
			err = os.CopyFS(dir, files)
		}
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("the folder cannot be used: %w; choose one that exists and that you may write to", err)
	}
	h.closers = append(h.closers, root.Close)
	h.folder = &folder{dir: dir, root: root, purge: h.purge, flaky: h.flaky, random: rand.New(rand.NewPCG(h.seed, 1)), row: map[string]int{}, ledger: map[string]int{}}
	here, there := mcp.NewInMemoryTransports()
	_, err = h.folder.server().Connect(ctx, there, nil)
	return here, err
}

func (h *host) work(ctx context.Context) error {
	name, plan, err := h.planner()
	if err != nil {
		return err
	}
	h.introduce(name)
	err = plan(ctx, h)
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted (%w); the lines above show what was done", context.Cause(ctx))
	}
	if h.folder != nil && !h.showLedger(h.folder) {
		err = errors.Join(err, errors.New("an effect happened twice; the ledger above names it"))
	}
	h.showCounts(h.counts)
	if err == nil && h.counts.failed > 0 && !h.repl {
		err = fmt.Errorf("%s could not be made; the lines above say why", count(h.counts.failed, "call"))
	}
	return err
}

func (h *host) close() error {
	var errs []error
	for _, closer := range slices.Backward(h.closers) {
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}
