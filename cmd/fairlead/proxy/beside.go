package proxy

// Beside a question, a person is shown what the same server can show about the call: what a file has now that the call
// overwrites, and a trial if the policy wants one. Both are calls that are Safe, through the chain, without a question of
// their own. The opposite of a call is only looked up.

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/counterpart"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	besideScope = " beside a question"

	besideTime = 5 * time.Second // for a call beside a question
	maxBeside  = 256 << 10       // bytes of its answer
)

// changes returns the file that a call overwrites as it is, and as it becomes.
func changes(ctx context.Context, call middleware.Call) []hitl.Change {
	c := callIn(ctx)
	if c == nil {
		return nil
	}
	set := c.set
	file, ok := counterpart.Reading(call, set.catalog.List())
	if !ok || len(file.New) > maxBeside {
		return nil
	}
	res, _ := set.beside(ctx, c.underWay, file.Read)
	if res == nil || res.IsError || len(res.Content) != 1 {
		return nil // such as a file that is not there
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok || text.Text == "" || len(text.Text) > maxBeside {
		return nil
	}
	return []hitl.Change{{Name: file.Path, Before: text.Text, After: file.New, Source: file.Read.Tool.String()}}
}

// preview returns what a trial of a call shows, if the policy wants one of its tool.
func preview(ctx context.Context, call middleware.Call) *hitl.Preview {
	c := callIn(ctx)
	if c == nil || !c.set.plan.policy.Previews(call.Tool) {
		return nil
	}
	set := c.set
	found, ok := set.Lookup(call.Tool.Server, call.Tool.Name()) // the call's own tool may have the class of its arguments
	if !ok {
		return nil
	}
	call.Tool = found
	trial, with, ok := counterpart.Preview(call)
	if !ok {
		return nil
	}
	res, made := set.beside(ctx, c.underWay, trial)
	if !made { // it is not harmless, so that there was none that could fail
		return nil
	}
	shown := &hitl.Preview{With: with, Failed: true}
	if res != nil {
		shown.Answer, shown.Failed = textOnce(res), res.IsError
	}
	return shown
}

// textOnce returns the text of a result, without structured content whose members are all texts that it has already.
func textOnce(res *mcp.CallToolResult) string {
	bare := *res
	bare.StructuredContent = nil
	text := output.Text(&bare)
	members, ok := res.StructuredContent.(map[string]any)
	if !ok || text == "" {
		return output.Text(res)
	}
	for _, v := range members {
		if its, isText := v.(string); !isText || !strings.Contains(text, its) {
			return output.Text(res)
		}
	}
	return text
}

// inverse returns the call that takes a call back.
func inverse(ctx context.Context, call middleware.Call) (hitl.Inverse, bool) {
	c := callIn(ctx)
	if c == nil {
		return hitl.Inverse{}, false
	}
	set := c.set
	by, ok := counterpart.Undo(call, set.catalog.List())
	if !ok || !set.covers(by.Tool) {
		return hitl.Inverse{}, false
	}
	return hitl.Inverse{Server: by.Tool.Server, Tool: by.Tool.Name(), Arguments: func(res *mcp.CallToolResult) (json.RawMessage, bool) {
		if c.answer.Load().goesOn() || unfinished(res) { // it is not done yet
			return nil, false
		}
		return by.Arguments(res)
	}}, true
}

// beside makes a call that is Safe and that the policy neither denies nor has asked about, and no other. Its result is nil
// if it failed. It is a request of its own, whose answer does not become that of the client's.
func (s *set) beside(ctx context.Context, of *underWay, call middleware.Call) (res *mcp.CallToolResult, made bool) {
	judged, err := s.plan.judged(call.Tool, call.Arguments)
	if err != nil || judged.Safety() != annotation.Safe {
		return nil, false
	}
	if v, _ := s.plan.proxy.o.Policy().Ruling(judged).Decide(judged.Safety()); v == policy.Deny || v == policy.Ask {
		return nil, false
	}
	call.Scope += besideScope                                            // the model does not read the answer, so that no value of its calls is from it
	own, cancel := context.WithTimeout(context.Background(), besideTime) // nothing of the client's call is of this one
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	mine := &clientCall{underWay: &underWay{Context: own, session: of.session, about: of.about, left: of.left}, set: s}
	if res, err = s.caller.CallTool(mine, call); err != nil {
		return nil, true
	}
	return res, true
}
