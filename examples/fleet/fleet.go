package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/mount"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/fairlead-go/fairlead/route"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// servers are the processes; main and copy are replicas of orders.
var servers = []string{"main", "copy", "archive"}

// A fleet is the servers with the chain in front of them.
type fleet struct {
	tools    *catalog.Catalog
	std      chain.Standard
	caller   middleware.ToolCaller
	sessions []*mcp.ClientSession
	asked    atomic.Int64
}

// assemble starts the servers and hangs the chain before them.
func assemble(ctx context.Context, dir string) (*fleet, error) {
	f := &fleet{tools: catalog.New(catalog.Options{})}
	sessions := make(map[string]*mcp.ClientSession)
	for _, name := range servers {
		session, err := f.start(ctx, dir, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		sessions[name] = session
	}
	if err := errors.Join(f.tools.Add(ctx, "orders", sessions["main"]), f.tools.Add(ctx, "archive", sessions["archive"])); err != nil {
		return nil, err
	}
	primary, err := f.tools.Replica(ctx, "orders", "main", sessions["main"])
	if err != nil {
		return nil, err
	}
	second, err := f.tools.Replica(ctx, "orders", "copy", sessions["copy"])
	if err != nil {
		return nil, err
	}
	f.std = chain.Standard{
		Confirm: hitl.New(hitl.ConfirmerFunc(f.answer), hitl.Options{}),
		Cache:   cache.New(cache.Options{}),
		Retry:   retry.New(retry.Options{First: time.Millisecond}),
		Route: route.New(route.Options{Failures: 100}, route.NewPool("orders", route.RoundRobin,
			route.Replica{ID: "main", Weight: 80, Caller: primary},
			route.Replica{ID: "copy", Weight: 20, Caller: second})),
	}
	f.caller = f.std.Then(f.tools)
	return f, nil
}

// start runs this program again as one of the servers.
func (f *fleet) start(ctx context.Context, dir, name string) (*mcp.ClientSession, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), serverKey+"="+name, booksKey+"="+dir)
	client := mcp.NewClient(&mcp.Implementation{Name: "fleet", Version: "1"}, mount.Options(f.tools, nil))
	session, err := client.Connect(ctx, mount.Transport(&mcp.CommandTransport{Command: cmd}), nil)
	if err != nil {
		return nil, err
	}
	f.sessions = append(f.sessions, session)
	return session, nil
}

func (f *fleet) close() {
	_ = f.tools.Close()
	for _, s := range f.sessions {
		_ = s.Close()
	}
}

// answer is the person in this example: orders may be deleted, the archive may not.
func (f *fleet) answer(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	f.asked.Add(1)
	if r.Tool.Server == "archive" {
		return hitl.Decision{Verdict: hitl.Denied, Reason: "the archive stays"}, nil
	}
	return hitl.Decision{Verdict: hitl.Approved}, nil
}

// answers count how calls ended, by "server/tool" and a word.
type answers map[string]map[string]int

// mix is how often each tool is called, of a hundred calls.
var mix = []struct {
	server, tool string
	of100        int
}{
	{"orders", "get_order", 50}, {"orders", "search_orders", 20}, {"orders", "add_note", 10},
	{"orders", "delete_order", 8}, {"archive", "read_entry", 9}, {"archive", "purge_entries", 3},
}

// work makes the calls, eight at a time.
func (f *fleet) work(ctx context.Context) answers {
	var mu sync.Mutex
	out := make(answers)
	rnd := rand.New(rand.NewPCG(7, 7))
	var all sync.WaitGroup
	room := make(chan struct{}, 8)
	for range calls {
		at, pick := 0, rnd.IntN(100)
		for pick >= mix[at].of100 {
			pick -= mix[at].of100
			at++
		}
		tool, _ := f.tools.Lookup(mix[at].server, mix[at].tool)
		call := middleware.Call{Tool: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"id":%d}`, rnd.IntN(40)))}
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			_, err := f.caller.CallTool(ctx, call)
			mu.Lock()
			defer mu.Unlock()
			if out[tool.String()] == nil {
				out[tool.String()] = make(map[string]int)
			}
			out[tool.String()][outcome(err)]++
		})
	}
	all.Wait()
	return out
}

func outcome(err error) string {
	_, unknown := errors.AsType[*middleware.OutcomeUnknownError](err)
	switch {
	case err == nil:
		return "answered"
	case errors.Is(err, hitl.ErrDenied):
		return "denied"
	case unknown:
		return "unknown"
	}
	return "failed"
}
