package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/mount"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A host is one run: a server, its tools, and the chain in front of them.
type host struct {
	options
	folder  *folder
	tools   *catalog.Catalog
	chain   chain.Standard
	caller  middleware.ToolCaller
	closers []func() error // the last one first

	turn   map[string]*call // by Call.ID; it does not change during the turn
	counts counts
}

// connect lists the tools of a server and assembles the chain. The caller closes the host, after an error too.
func (h *host) connect(ctx context.Context, id string, transport mcp.Transport) error {
	h.tools = catalog.New(catalog.Options{})
	h.closers = append(h.closers, h.tools.Close)
	// With the options of mount the catalog gets notice when the tools have changed.
	client := mcp.NewClient(&mcp.Implementation{Name: "fairlead-agent", Version: "1"}, mount.Options(h.tools, nil))
	session, err := client.Connect(ctx, mount.Transport(transport), nil)
	if err != nil {
		return fmt.Errorf("the server %q cannot be connected to: %w", id, err)
	}
	h.closers = append(h.closers, func() error { _ = session.Close(); return nil }) // a call has reported what is wrong with it
	if err := h.tools.Add(ctx, id, session); err != nil {
		return err
	}
	h.chain = h.standard()
	if h.audit != "" {
		log := slog.New(slog.NewTextHandler(h.errs, nil))
		file, err := audit.OpenFile(h.audit, log)
		if err != nil {
			return fmt.Errorf("--audit %s: %w; name a file in a folder that exists", h.audit, err)
		}
		h.closers = append(h.closers, file.Close)
		h.chain.Audit = audit.New(file, audit.Options{Logger: log})
	}
	h.caller = h.chain.Then(h.tools)
	return nil
}

// standard returns the chain of every call. A host with a model adds Output and Budget.
func (h *host) standard() chain.Standard {
	about := func(_ context.Context, asked middleware.Call) (why, undo string) { return h.turn[asked.ID].why, "" }
	return chain.Standard{
		Outermost: []middleware.Middleware{h.watch},
		Flow:      flow.New(flow.Options{}), // these planners have no words of a user to compare with
		Confirm:   hitl.New(h.confirmer(), hitl.Options{About: about, Timeout: 10 * time.Minute}),
		PerCall:   []middleware.Middleware{h.approved},
		Cache:     cache.New(cache.Options{}),
		Retry:     retry.New(retry.Options{}),
		RateLimit: ratelimit.New(ratelimit.Options{}),
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
		case r.Tool.Name() != "delete_file":
			return hitl.Decision{}, errors.New("--yes safe covers only what .trash/ can undo")
		}
		return hitl.Decision{Verdict: hitl.Approved, By: "--yes safe"}, nil
	})
}

// serve serves a folder in memory: the user's own, or a copy of the inbox.
func (h *host) serve(ctx context.Context) (mcp.Transport, error) {
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
	h.folder = &folder{dir: dir, root: root, flaky: h.flaky, random: rand.New(rand.NewPCG(h.seed, 1)), row: map[string]int{}, ledger: map[string]int{}}
	here, there := mcp.NewInMemoryTransports()
	_, err = h.folder.server().Connect(ctx, there, nil)
	return here, err
}

// open connects to the folder. No other program writes to it, so its reads stay true.
func (h *host) open(ctx context.Context) error {
	transport, err := h.serve(ctx)
	if err == nil {
		err = h.connect(ctx, "files", transport)
	}
	if err == nil {
		_, err = h.tools.OverrideMatching("files/*", annotation.Annotations{Freshness: annotation.Stable}) //nolint:contextcheck // it calls nothing
	}
	return err
}

func (h *host) work(ctx context.Context) error {
	name, plan := "rules, no model", tidy
	if h.script != "" {
		var err error
		if plan, err = readScript(h.script); err != nil {
			return err
		}
		name = "script " + h.script
	}
	h.introduce(name)
	err := plan(ctx, h)
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted (%w); the lines above show what was done", context.Cause(ctx))
	}
	if h.folder != nil && !h.showLedger(h.folder) {
		err = errors.Join(err, errors.New("an effect happened twice; the ledger above names it"))
	}
	if h.counts.denied > 0 && h.yes == "none" {
		h.problem(fmt.Sprintf("%d were denied, since nobody is here to ask; run it in a terminal, or with --yes safe or --yes all", h.counts.denied))
	}
	h.showCounts(h.counts)
	if err == nil && h.counts.failed > 0 {
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
