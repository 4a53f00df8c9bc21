package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/fairlead-go/fairlead/chain/batch"
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
	asked   []call                 // its calls of our tools that have not come
	open    *turn
}

type turn struct {
	calls  []*call
	full   chan struct{} // closed when no more calls will come
	over   chan struct{} // closed when there are results
	closed bool
}

type call struct {
	batch.ToolCall

	input  []byte // as the runner hands it on, which may have rounded the numbers of the arguments
	place  int    // in the message
	result *mcp.CallToolResult
}

// answer makes one call with the others of its turn.
func (t *turns) answer(ctx context.Context, name string, input json.RawMessage) (*mcp.CallToolResult, error) {
	joined, mine, alone := t.join(name, input)
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
		return mine.result, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// join adds a call to the open turn. A call alone needs no turn.
func (t *turns) join(name string, input json.RawMessage) (joined *turn, mine *call, alone batch.ToolCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if message := t.last(); message != t.message {
		t.begin(message)
	}
	c := call{ToolCall: batch.ToolCall{Name: name, Arguments: input}, place: math.MaxInt}
	if i := slices.IndexFunc(t.asked, func(c call) bool { return c.Name == name && bytes.Equal(c.input, input) }); i >= 0 {
		c = t.asked[i]
		t.asked = slices.Delete(t.asked, i, i+1)
	}
	switch {
	case t.open == nil && len(t.asked) == 0:
		return nil, nil, c.ToolCall
	case t.open == nil:
		t.open = &turn{full: make(chan struct{}), over: make(chan struct{})}
	}
	joined, mine = t.open, new(c)
	joined.calls = append(joined.calls, mine)
	if len(t.asked) == 0 {
		close(joined.full)
		t.open = nil
	}
	return joined, mine, c.ToolCall
}

// begin records which of our tools a message asks for, after its last fallback.
func (t *turns) begin(message *anthropic.BetaMessage) {
	t.message, t.asked, t.open = message, nil, nil
	if message == nil {
		return
	}
	for _, block := range message.Content {
		switch {
		case block.Type == "fallback":
			t.asked = nil
		case block.Type == "tool_use" && t.ours[block.Name]:
			use := block.AsToolUse()
			if input, err := json.Marshal(use.Input); err == nil {
				asked := batch.ToolCall{ID: use.ID, Name: use.Name, Arguments: written(use.JSON.Input.Raw(), input)}
				t.asked = append(t.asked, call{ToolCall: asked, input: input, place: len(t.asked)})
			}
		}
	}
}

// written returns the input of a call as the model wrote it. The SDK decodes it into any value, which rounds
// 9007199254740993, and writes that again; the text is used if it is one of the same value.
func written(text string, input []byte) []byte {
	if text == string(input) {
		return input
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return input
	}
	if again, err := json.Marshal(value); err != nil || !bytes.Equal(again, input) {
		return input
	}
	return []byte(text)
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
	slices.SortStableFunc(j.calls, func(a, b *call) int { return cmp.Compare(a.place, b.place) })
	requests := make([]batch.ToolCall, len(j.calls))
	for i, c := range j.calls {
		requests[i] = c.ToolCall
	}
	for i, res := range host.Answer(ctx, requests...) {
		j.calls[i].result = res
	}
}
