package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/fairlead-go/fairlead/batch"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// gatherFor is how long the calls of a turn wait for others that the runner may not make.
const gatherFor = 100 * time.Millisecond

// turns gathers the calls that a runner makes at once, since it reports neither their turn nor ids.
type turns struct {
	host *batch.Host
	last func() *anthropic.BetaMessage
	ours map[string]bool // by the model's name for it

	mu      sync.Mutex
	message *anthropic.BetaMessage // that asked for the turn
	asked   []batch.ToolCall       // its calls of our tools, in order; the name of one that has come is ""
	left    int                    // that have not come
	open    *turn
}

type turn struct {
	requests []batch.ToolCall
	places   []int         // of each in the message
	full     chan struct{} // closed when no more calls will come
	over     chan struct{} // closed when there are results
	closed   bool
	results  []*mcp.CallToolResult
}

// answer makes one call with the others of its turn.
func (t *turns) answer(ctx context.Context, name string, input json.RawMessage) (*mcp.CallToolResult, error) {
	joined, n, alone := t.join(name, input)
	if joined == nil {
		return t.host.Answer(ctx, alone)[0], nil
	}
	select {
	case <-joined.full:
	case <-time.After(gatherFor):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if t.lead(joined) {
		joined.run(ctx, t.host)
	}
	select {
	case <-joined.over:
		return joined.results[n], nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// join adds a call to the open turn, and returns its number there. A call alone needs no turn.
func (t *turns) join(name string, input json.RawMessage) (joined *turn, n int, alone batch.ToolCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if message := t.last(); message != t.message {
		t.begin(message)
	}
	request, place := batch.ToolCall{Name: name, Arguments: input}, len(t.asked)
	for i, r := range t.asked {
		if r.Name == name && bytes.Equal(r.Arguments, input) {
			request, place = r, i
			t.asked[i].Name = ""
			t.left--
			break
		}
	}
	switch {
	case t.open == nil && t.left == 0:
		return nil, 0, request
	case t.open == nil:
		t.open = &turn{full: make(chan struct{}), over: make(chan struct{})}
	}
	joined = t.open
	joined.requests, joined.places = append(joined.requests, request), append(joined.places, place)
	if t.left == 0 {
		close(joined.full)
		t.open = nil
	}
	return joined, len(joined.requests) - 1, request
}

// begin records which of our tools a message asks for, after its last fallback.
func (t *turns) begin(message *anthropic.BetaMessage) {
	t.message, t.asked, t.open = message, nil, nil
	if message != nil {
		for _, block := range message.Content {
			switch {
			case block.Type == "fallback":
				t.asked = nil
			case block.Type == "tool_use" && t.ours[block.Name]:
				use := block.AsToolUse()
				input, err := json.Marshal(use.Input)
				if err == nil {
					t.asked = append(t.asked, batch.ToolCall{ID: use.ID, Name: use.Name, Arguments: input})
				}
			}
		}
	}
	t.left = len(t.asked)
}

// lead closes the turn, for the first waiter.
func (t *turns) lead(joined *turn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if joined.closed {
		return false
	}
	joined.closed = true
	if t.open == joined {
		t.open = nil
	}
	return true
}

func (j *turn) run(ctx context.Context, host *batch.Host) {
	defer close(j.over)
	order := make([]int, len(j.requests))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return j.places[a] - j.places[b] })
	sorted := make([]batch.ToolCall, len(order))
	for i, n := range order {
		sorted[i] = j.requests[n]
	}
	j.results = make([]*mcp.CallToolResult, len(order))
	for i, res := range host.Answer(ctx, sorted...) {
		j.results[order[i]] = res
	}
}
