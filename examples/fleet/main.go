// Command fleet makes 1,000 calls of three MCP servers: orders has a primary and a flaky
// copy, and archive declares that its deletion only reads. It prints which server executed
// what, and checks the servers' own counts for what must not have happened.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"sync"
	"text/tabwriter"
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

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatalf("fleet: %v", err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	servers := &executed{counts: make(map[string]map[string]int)}
	std, err := assemble(ctx, tools, servers)
	if err != nil {
		return err
	}
	will, w := std.Describe().Will, tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, tool := range tools.List() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", tool, tool.Safety(), will(tool))
	}
	_ = w.Flush()
	for _, finding := range tools.Findings() {
		fmt.Fprintln(out, "finding:", finding)
	}
	got := work(ctx, tools, std.Then(tools))
	report(out, got, servers.counts)
	return errors.Join(promises(out, got, servers.counts)...)
}

// assemble connects the servers and returns the chain in front of them.
func assemble(ctx context.Context, tools *catalog.Catalog, servers *executed) (std chain.Standard, err error) {
	sessions := make(map[string]*mcp.ClientSession)
	for name, offered := range map[string][]mcp.Tool{"main": orders, "copy": orders, "archive": archive} {
		here, there := mcp.NewInMemoryTransports()
		if _, err := servers.serve(name, offered).Connect(ctx, there, nil); err != nil {
			return std, err
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "fleet", Version: "1"}, mount.Options(tools, nil))
		if sessions[name], err = client.Connect(ctx, mount.Transport(here), nil); err != nil {
			return std, err
		}
	}
	if err := errors.Join(tools.Add(ctx, "orders", sessions["main"]), tools.Add(ctx, "archive", sessions["archive"])); err != nil {
		return std, err
	}
	primary, err1 := tools.Replica(ctx, "orders", "main", sessions["main"])
	second, err2 := tools.Replica(ctx, "orders", "copy", sessions["copy"])
	return chain.Standard{
		Confirm: hitl.New(hitl.ConfirmerFunc(answer), hitl.Options{}),
		Cache:   cache.New(cache.Options{}),
		Retry:   retry.New(retry.Options{First: time.Millisecond}),
		Route: route.New(route.Options{Failures: 100}, route.NewPool("orders", route.RoundRobin,
			route.Replica{ID: "main", Weight: 80, Caller: primary},
			route.Replica{ID: "copy", Weight: 20, Caller: second})),
	}, errors.Join(err1, err2)
}

// answer is the person in this example: orders may be deleted, the archive may not.
func answer(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	if r.Tool.Server == "archive" {
		return hitl.Decision{Verdict: hitl.Denied, Reason: "the archive stays"}, nil
	}
	return hitl.Decision{Verdict: hitl.Approved}, nil
}

// mix is how often each tool is called, of a hundred calls.
var mix = []struct {
	server, tool string
	of100        int
}{
	{"orders", "get_order", 50}, {"orders", "search_orders", 20}, {"orders", "add_note", 10},
	{"orders", "delete_order", 8}, {"archive", "read_entry", 9}, {"archive", "purge_entries", 3},
}

// outcomes are the numbers of calls, by "server/tool" and how they ended.
type outcomes map[string]map[string]int

// work makes 1,000 calls, eight at a time.
func work(ctx context.Context, tools *catalog.Catalog, caller middleware.ToolCaller) outcomes {
	var mu sync.Mutex
	ended := make(outcomes)
	rnd := rand.New(rand.NewPCG(7, 7))
	var all sync.WaitGroup
	room := make(chan struct{}, 8)
	for range 1000 {
		at, pick := 0, rnd.IntN(100)
		for pick >= mix[at].of100 {
			pick -= mix[at].of100
			at++
		}
		tool, _ := tools.Lookup(mix[at].server, mix[at].tool)
		call := middleware.Call{Tool: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"id":%d}`, rnd.IntN(40)))}
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			_, err := caller.CallTool(ctx, call)
			mu.Lock()
			defer mu.Unlock()
			if ended[tool.String()] == nil {
				ended[tool.String()] = make(map[string]int)
			}
			ended[tool.String()][outcome(err)]++
		})
	}
	all.Wait()
	return ended
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

// report prints how the calls ended, and how many each server executed.
func report(out io.Writer, got outcomes, executed map[string]map[string]int) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\ntool\tanswered\tdenied\tunknown\tfailed\tat main\tat copy\tat archive\t")
	for _, m := range mix {
		ended := got[m.server+"/"+m.tool]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t", m.tool, ended["answered"], ended["denied"], ended["unknown"], ended["failed"])
		fmt.Fprintf(w, "%d\t%d\t%d\t\n", executed["main"][m.tool], executed["copy"][m.tool], executed["archive"][m.tool])
	}
	_ = w.Flush()
}

// promises prints each promise that was kept, and returns an error for each that was not.
func promises(out io.Writer, got outcomes, executed map[string]map[string]int) (broken []error) {
	check := func(kept bool, text string, args ...any) {
		if !kept {
			broken = append(broken, fmt.Errorf("not so: "+text, args...))
			return
		}
		fmt.Fprintf(out, "✓ "+text+"\n", args...)
	}
	deletes, notes, reads, purges := got["orders/delete_order"], got["orders/add_note"], got["orders/get_order"], got["archive/purge_entries"]
	primary, second := executed["main"], executed["copy"]
	added := primary["add_note"] + second["add_note"]
	fmt.Fprintln(out)
	check(second["delete_order"] == 0 && primary["delete_order"] > 0, "all %d deletions went to the primary", primary["delete_order"])
	check(primary["delete_order"] == deletes["answered"]+deletes["unknown"], "each was executed once")
	check(added == notes["answered"]+notes["unknown"], "no note was added twice: %d were added, and %d lost answers are reported as unknown", added, notes["unknown"])
	check(second["get_order"] > 0 && reads["failed"] == 0, "reads went to both, and what the copy lost was read at the primary")
	check(executed["archive"]["purge_entries"] == 0 && purges["denied"] > 0, "the archive's false declaration was not trusted: %d deletions asked about, none made", purges["denied"])
	return broken
}
