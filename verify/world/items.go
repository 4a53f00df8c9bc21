package world

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// itemKinds are those of the tools of a server of items.
var itemKinds = map[string]Kind{"get": Read, "list": Read, "put": Add, "delete": Delete}

// ItemEntities is the value of cache.Options.Entities for these tools.
var ItemEntities = map[string][]string{"ledger/get": {"id"}, "ledger/put": {"id"}, "ledger/delete": {"id"}}

// A Request is a call of such a tool as the server has it.
type Request struct {
	Call   string
	Kind   Kind
	Things []string // the items that it is about, none for all
}

// RequestOf reads a call.
func RequestOf(call middleware.Call) (Request, error) {
	var arguments struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
		return Request{}, err
	}
	r := Request{Call: call.ID, Kind: itemKinds[call.Tool.Name()]}
	if arguments.ID != "" {
		r.Things = []string{arguments.ID}
	}
	return r, nil
}

// CallItem calls a tool of a server of items within a time: "get", "list", "put" or "delete". A note makes the
// arguments differ from those of other calls.
func CallItem(ctx context.Context, caller middleware.ToolCaller, id, name, item, note string, within time.Duration) Event {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	arguments := map[string]string{}
	if name != "list" {
		arguments["id"] = item
	} else {
		item = ""
	}
	if note != "" {
		arguments["note"] = note
	}
	form, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // texts only
	}
	kind := itemKinds[name]
	tool := testtool.Of("ledger", &mcp.Tool{Name: name}, kind.Annotations())
	e := Event{Call: id, Kind: kind, Item: item, Began: time.Now()}
	res, err := caller.CallTool(ctx, middleware.Call{ID: id, Tool: tool, Arguments: form, Meta: mcp.Meta{"traceparent": id}})
	e.Ended = time.Now()
	if err == nil {
		if e.Version, err = VersionOf(res); err == nil {
			res.Content[0].(*mcp.TextContent).Text = "-1" // it is the caller's own
		}
	}
	if err != nil {
		e.Err, e.Denied, e.NotSent = err.Error(), errors.Is(err, hitl.ErrDenied), middleware.NotSent(err)
	}
	return e
}

// denied reports whether the person denies a call, by its id.
func denied(call string) bool { return strings.HasSuffix(call, Deny) }

// Deny is the suffix of the ids of calls that Decide denies.
const Deny = "-no"

// Decide answers as a person that approves all other calls.
func Decide(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	if denied(r.CallID) {
		return hitl.Decision{}, nil
	}
	return hitl.Decision{Verdict: hitl.Approved, By: "the world"}, nil
}
