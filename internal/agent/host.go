package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/internal/agent/folder"
	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/fairlead-go/fairlead/internal/agent/screen"
	"github.com/fairlead-go/fairlead/internal/stores"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A host holds what one run needs: a server, its tools, the chain in front of
// them, and somebody who watches.
type host struct {
	options
	program *Program
	screen  screen.Screen

	server string // its id
	folder *folder.Server
	where  connection
	tools  *catalog.Catalog
	chain  chain.Standard
	caller middleware.ToolCaller

	lines    lines
	calls    int
	counting sync.Mutex // guards what follows while calls are under way
	counts   screen.Counts
	refused  int
	errored  int
	lost     error // the server went away

	shared      stores.Stores
	endRecord   func() error // nil without --audit
	interrupted []string     // calls of a run before this one
}

// host connects to the server, lists its tools and hangs the chain in front.
func (p *Program) host(ctx context.Context, o options) (*host, error) {
	h := &host{options: o, program: p, screen: screen.Text(p.Stdout, p.Stderr, p.Getenv)}
	if o.json {
		h.screen = screen.JSON(p.Stdout)
	}
	h.tools = catalog.New(catalog.Options{})
	if err := h.connect(ctx); err != nil {
		return nil, err
	}
	if err := h.tools.Add(ctx, h.server, h.where.session); err != nil {
		h.close()
		return nil, h.where.explain(err)
	}
	var err error
	if h.shared, err = p.Stores.Open(ctx, o.store, h.where.sharedName(), program, slog.New(slog.NewTextHandler(p.Stderr, nil))); err != nil {
		h.close()
		return nil, err
	}
	if h.chain, err = h.standard(); err != nil {
		h.close()
		return nil, err
	}
	h.caller = h.chain.Then(h.tools)
	return h, nil
}

func (h *host) nextID() string {
	h.calls++
	return "call-" + strconv.Itoa(h.calls)
}

// progress shows a step of a call that is under way. One that comes after the
// answer is dropped.
func (h *host) progress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	if token, ok := req.Params.ProgressToken.(string); !ok || !h.lines.waits(token) {
		return
	}
	h.screen.Progress(screen.Progress{Done: req.Params.Progress, Total: req.Params.Total, Message: req.Params.Message})
}

// modelPlans reports whether a language model chooses the calls.
func (h *host) modelPlans() bool { return !h.repl && h.script == "" && h.program.hasModel() }

// planner chooses who plans.
func (h *host) planner() (plan.Planner, error) {
	switch env := h.program.Getenv; {
	case h.repl && isTerminal(h.program.Stdin):
		return &plan.Repl{Lines: plan.TerminalLines(h.program.Stdin.(*os.File), h.program.Stdout), Out: h.replOut(), Prompt: h.systemPrompt, Explain: h.chain.Explain}, nil
	case h.repl:
		return &plan.Repl{Lines: plan.PlainLines(h.program.Stdin), Out: h.replOut(), Prompt: h.systemPrompt, Explain: h.chain.Explain}, nil
	case h.script != "":
		data, err := os.ReadFile(h.script)
		if err != nil {
			return nil, fmt.Errorf("the script cannot be read: %w; --script takes a JSON file", err)
		}
		return plan.ReadScript(h.script, data)
	case h.program.Model != nil:
		return plan.ByModel(h.program.Model, "", h.systemPrompt), nil
	case env("OPENAI_BASE_URL") != "" || env("OPENAI_API_KEY") != "":
		return plan.OpenAI(or(env("OPENAI_BASE_URL"), "https://api.openai.com/v1"), env("OPENAI_API_KEY"), env("OPENAI_MODEL"), h.systemPrompt), nil
	case env("ANTHROPIC_API_KEY") != "":
		return plan.Anthropic(or(env("ANTHROPIC_BASE_URL"), "https://api.anthropic.com"), env("ANTHROPIC_API_KEY"), env("ANTHROPIC_MODEL"), h.systemPrompt), nil
	case h.folder == nil:
		return &plan.Explore{}, nil
	}
	return plan.NewTidy(), nil
}

// hasModel reports whether the environment names a model.
func (p *Program) hasModel() bool {
	return p.Model != nil || slices.ContainsFunc([]string{"OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"}, func(name string) bool { return p.Getenv(name) != "" })
}

// conclude shows the figures and says how the run ended.
func (h *host) conclude(err error) (int, error) {
	if h.lost != nil {
		err = errors.Join(h.where.explain(h.lost), err)
	}
	if h.endRecord != nil {
		err = errors.Join(err, h.endRecord())
		h.endRecord = nil
	}
	twice := h.ledger()
	if err != nil && h.json {
		h.screen.Problem(err.Error())
	}
	if h.counts.Denied > 0 && h.yes == "none" {
		h.screen.Problem(fmt.Sprintf("%d were denied, since nobody is here to ask; run it in a terminal, or with --yes safe or --yes all", h.counts.Denied))
	}
	h.screen.Summary(h.counts)
	switch {
	case err != nil:
		return exitError, err
	case twice:
		return exitError, errors.New("an effect happened twice; the ledger above names it")
	case h.errored > 0 && h.script != "":
		return exitError, nil
	case h.counts.Denied > 0 || h.refused > 0:
		return exitDenied, nil
	}
	return exitDone, nil
}

// ledger shows what the folder's server says that it did, and reports whether
// anything happened more than once.
func (h *host) ledger() bool {
	if h.folder == nil {
		return false
	}
	l := screen.Ledger{Twice: []string{}, Folder: h.where.folder}
	for _, e := range h.folder.Ledger() {
		l.Effects += one(e.Times > 0)
		if e.Times > 1 {
			l.Twice = append(l.Twice, e.Tool+" "+e.Arguments)
		}
	}
	h.screen.Ledger(l)
	return len(l.Twice) > 0
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
