// Package batch makes the calls that a model asked for in one turn: side by side if that is harmless, and
// otherwise in their order. A [Host] is the model's side of it: tool calls by name go in, and results that a
// model can read come out. The adapters under contrib/ are thin around it.
//
// For each server, writes are made one after the other, no read runs beside a write, and a call waits for
// those before it that are not known to read. A [chain.Standard] keeps this order behind Confirm, by the
// class that the chain found for exactly these arguments, so that people are asked first, and together if
// the confirmer is a hitl.GroupConfirmer. Before any other caller the order is kept in front of the whole,
// by the class of each tool as it was passed, and people are asked one after the other.
//
// The calls enter the chain one by one, in order: each once the one before it is with a person, waits for
// its turn, is on its way to the server or has returned.
//
// [chain.Standard]: https://pkg.go.dev/github.com/fairlead-go/fairlead/chain#Standard
package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/internal/turn"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of a batch. The zero value is ready.
type Options struct {
	// Parallel is how many calls run at the same time, without those that wait for a person; 0 means 16.
	Parallel int
	// MaxCalls is how many calls one turn may hold; 0 means 128. Those beyond it are not made, and say so.
	MaxCalls int
}

// An Outcome is how one call ended. Exactly one of Result and Err is not nil.
type Outcome struct {
	Call   middleware.Call // as it was handed in
	Result *mcp.CallToolResult
	Err    error
}

// Run makes the calls of one turn with the zero [Options], and returns how they ended, in their order.
func Run(ctx context.Context, caller middleware.ToolCaller, calls []middleware.Call) []Outcome {
	return Options{}.Run(ctx, caller, calls)
}

// Run makes the calls of one turn and returns how they ended, in their order, when the last of them has. All
// of them end with ctx.
//
// A call with the ID of an earlier one, or beyond MaxCalls, ends in [ErrRepeatedID] or [ErrTooMany]. A failure or a panic
// affects its own call alone. Run panics on a nil caller and on options below zero.
func (o Options) Run(ctx context.Context, caller middleware.ToolCaller, calls []middleware.Call) []Outcome {
	switch {
	case caller == nil:
		panic("batch: Run was given a nil caller")
	case o.Parallel < 0 || o.MaxCalls < 0:
		panic("batch: Options.Parallel and Options.MaxCalls must not be negative")
	}
	if !turn.Gated(caller) {
		caller = turn.Gate()(caller)
	}
	outcomes := make([]Outcome, len(calls))
	servers := make([]string, 0, len(calls))
	made := make([]int, 0, len(calls))
	most, seen := cmp.Or(o.MaxCalls, 128), make(map[string]bool, len(calls))
	for i, call := range calls {
		outcomes[i].Call = call
		switch {
		case i >= most:
			why := fmt.Errorf("%w: it holds %d, and at most %d are made", ErrTooMany, len(calls), most)
			outcomes[i].Err = notMade(call.Tool, why, why.Error()+". Nothing has happened. If it is still needed, call it in the next turn, with fewer calls.")
		case call.ID != "" && seen[call.ID]:
			outcomes[i].Err = notMade(call.Tool, fmt.Errorf("%w: %.80q", ErrRepeatedID, call.ID),
				"another call of this turn has the same id. Nothing has happened. Call it again with an id of its own.")
		default:
			server := ""
			if call.Tool != nil {
				server = call.Tool.Server
			}
			made, servers = append(made, i), append(servers, server)
		}
		seen[call.ID] = true
	}
	var all sync.WaitGroup
	for n, k := range turn.New(cmp.Or(o.Parallel, 16), servers...) {
		all.Go(func() { run(ctx, caller, k, &outcomes[made[n]]) })
		<-k.Here() // so that an earlier call never waits for a later one, whatever is in the chain
	}
	all.Wait()
	return outcomes
}

func run(ctx context.Context, caller middleware.ToolCaller, k *turn.Ticket, out *Outcome) {
	defer k.Done()
	defer func() { // a tool may have ended the goroutine
		if out.Result == nil && out.Err == nil {
			out.Err = middleware.OutcomeUnknown(out.Call, errEnded)
		}
	}()
	out.Result, out.Err = fault.Call(callstate.Keep(ctx, k), caller, out.Call)
}

// Why a call of a batch was not made.
var (
	ErrTooMany    = errors.New("too many calls in one turn")
	ErrRepeatedID = errors.New("another call of the turn has the same id")
)

var errEnded = errors.New("batch: the call ended its goroutine")

func notMade(tool *middleware.Tool, why error, told string) error {
	err := fault.Unsendable(fmt.Errorf("batch: %s was not called: %w", tool, why))
	return fault.Told(err, false, tool.ModelName()+" was not called: "+told)
}

// Tools are the tools that a model may call: a *catalog.Catalog, or a *catalog.View of it for one caller.
type Tools interface {
	List() []*middleware.Tool
	Find(name string) (*middleware.Tool, error)
}

// HostOptions are the settings of [NewHost]. The zero value is ready.
type HostOptions struct {
	// Scope returns the tenant, user or session of the calls, from the context of the loop. Nothing is shared
	// across scopes. Nil means one scope for all calls, which fits one user.
	Scope func(ctx context.Context) string
	// Batch is how the calls of one turn are made; the zero value is that of [Run].
	Batch Options
}

// A Host is the tools of an agent behind their chain. It is safe for concurrent use.
type Host struct {
	tools  Tools
	caller middleware.ToolCaller
	o      HostOptions
}

// NewHost returns a host. The caller is a chain in front of the same tools. NewHost panics if one of them is nil.
func NewHost(tools Tools, caller middleware.ToolCaller, o HostOptions) *Host {
	if tools == nil || caller == nil {
		panic("batch: NewHost needs tools and a caller")
	}
	if o.Scope == nil {
		o.Scope = func(context.Context) string { return "" }
	}
	return &Host{tools: tools, caller: caller, o: o}
}

// Tools returns what a model may be given now. It finds a tool by its ModelName.
func (h *Host) Tools() []*middleware.Tool { return h.tools.List() }

// A ToolCall is one call as a model asks for it.
type ToolCall struct {
	ID        string          // the model's own, which becomes Call.ID; "" for none
	Name      string          // as the model was given it
	Arguments json.RawMessage // as the model wrote them, valid or not; none is {}
}

// Answer makes the calls of one turn as a batch does, and returns what the model may read of each, in their
// order. No result is nil: one of a failure, an unknown name or broken arguments has IsError set.
func (h *Host) Answer(ctx context.Context, asked ...ToolCall) []*mcp.CallToolResult {
	results := make([]*mcp.CallToolResult, len(asked))
	scope := h.o.Scope(ctx)
	var calls []middleware.Call
	var made []int
	for i, a := range asked {
		tool, err := h.tools.Find(a.Name)
		call := middleware.Call{ID: a.ID, Scope: scope, Tool: tool, Arguments: a.Arguments}
		if err == nil {
			err = session.CheckArguments(call)
		}
		switch {
		case err != nil:
			results[i] = output.Failure(tool, err)
		case len(asked) == 1:
			res, err := fault.Call(ctx, h.caller, call)
			results[i] = result(tool, res, err)
		default:
			calls, made = append(calls, call), append(made, i)
		}
	}
	if len(calls) == 0 {
		return results
	}
	for n, o := range h.o.Batch.Run(ctx, h.caller, calls) {
		results[made[n]] = result(o.Call.Tool, o.Result, o.Err)
	}
	return results
}

// Call makes one call of a tool that is known, for a loop that asks tool by tool. The result is never nil.
func (h *Host) Call(ctx context.Context, tool *middleware.Tool, id string, arguments json.RawMessage) *mcp.CallToolResult {
	call := middleware.Call{ID: id, Scope: h.o.Scope(ctx), Tool: tool, Arguments: arguments}
	if err := session.CheckArguments(call); err != nil {
		return output.Failure(tool, err)
	}
	res, err := fault.Call(ctx, h.caller, call)
	return result(tool, res, err)
}

func result(tool *middleware.Tool, res *mcp.CallToolResult, err error) *mcp.CallToolResult {
	switch {
	case err != nil:
		return output.Failure(tool, err)
	case res.NeedsInput() || len(res.InputRequests) > 0 || res.RequestState != "":
		err := fmt.Errorf("batch: %s asks for input; a loop has no way to ask for it", tool)
		return output.Failure(tool, fault.Told(err, true,
			tool.ModelName()+" asks for more than its arguments, and that cannot be given here. Do not call it again; tell the user."))
	}
	return res
}

// ResultError returns the failure that a result reports as an error with the same text,
// for an SDK that has failures only as errors. It returns nil for any other result.
func ResultError(res *mcp.CallToolResult) error {
	if res == nil || !res.IsError {
		return nil
	}
	return fault.Plain("%s", output.Text(res))
}
