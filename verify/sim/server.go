package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session is a server as the catalog sees it. It records the calls that were really sent.
type session struct {
	w       *scenario
	name    string
	replica string // "" where it has no replicas
}

func (s *session) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return &mcp.ListToolsResult{Tools: definitions(s.name, func(t *toolSpec) int {
		revision := 1
		for _, at := range []place{{s.name, t.name}, {s.replica, t.name}} {
			if now, ok := s.w.declared[at]; ok {
				revision = now
			}
		}
		s.w.listed[place{s.name + s.replica, t.name}] = revision
		return revision
	})}, nil
}

type fault string

const (
	none       fault = "ok"
	slow       fault = "slow" // answers after a long time
	notSent    fault = "not sent"
	refused    fault = "refused"       // before execution
	failed     fault = "failed before" // execution, which the error does not show
	dropped    fault = "executed, answer lost"
	invalid    fault = "invalid" // a final error
	isError    fault = "isError" // the tool reports a failure
	asksInput  fault = "asks for input"
	neither    fault = "nil and nil"
	panicked   fault = "panic"
	goexit     fault = "Goexit"
	stubborn   fault = "stubborn" // does not heed its context
	refusedTie fault = "refused until the deadline"
)

var faults = []fault{slow, notSent, refused, failed, dropped, invalid, isError, asksInput, neither, panicked, goexit, stubborn, refusedTie}

// A serverError is a fault as an error. It names its execution.
type serverError struct {
	exec *exec
	err  error
}

func (e *serverError) Error() string { return e.err.Error() }
func (e *serverError) Unwrap() error { return e.err }

const codeRateLimited, codeTransport = -32023, -32005

func (s *session) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	e, latency := s.w.handOver(ctx, s, params)
	defer s.w.over(e)
	heeded := ctx
	if e.fault == stubborn {
		heeded = context.Background()
	}
	if err := world.Wait(heeded, latency); err != nil {
		return nil, err
	}
	fail := func(err error) (*mcp.CallToolResult, error) { return nil, &serverError{e, err} }
	switch e.fault {
	case notSent:
		return fail(fmt.Errorf("%w: calling \"tools/call\": client is closing", mcp.ErrConnectionClosed))
	case refused, refusedTie:
		return fail(&jsonrpc.Error{Code: codeRateLimited, Message: "too many", Data: s.w.retryAfter(ctx, e)})
	case failed, dropped:
		if e.lot%2 == 0 {
			return fail(errors.New("connection reset by peer"))
		}
		return fail(&jsonrpc.Error{Code: codeTransport, Message: "bad gateway"})
	case invalid:
		return fail(&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no"})
	case neither:
		return nil, nil
	case panicked:
		panic(fmt.Sprintf("execution %d", e.n))
	case goexit:
		runtime.Goexit()
	}
	res := &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: e.text}},
		StructuredContent: map[string]any{"text": e.text, "list": []any{e.text}},
		IsError:           e.fault == isError,
	}
	if e.fault == asksInput {
		res.RequestState = "more"
	}
	return res, nil
}

// retryAfter returns a wait that the server asks for: a while, or exactly until the deadline.
func (w *scenario) retryAfter(ctx context.Context, e *exec) json.RawMessage {
	after := time.Duration(e.lot%7) * 777 * time.Millisecond
	deadline, ok := ctx.Deadline()
	if d := e.call.deadline; !d.IsZero() {
		deadline, ok = d, true
	}
	if e.fault == refusedTie && ok {
		after = time.Until(deadline)
	}
	w.mu.Lock()
	e.after = after
	w.mu.Unlock()
	millis := float64(after) / float64(time.Millisecond)
	return json.RawMessage(`{"retryAfterMs":` + strconv.FormatFloat(millis, 'g', -1, 64) + `}`)
}

// drawFault draws how an attempt ends and how long it takes.
func (w *scenario) drawFault(r *record, attempt int, replica string) (fault, time.Duration) {
	dice := w.dice(forFault, uint64(r.n), uint64(attempt))
	latency := span(dice, time.Millisecond, 1500*time.Millisecond)
	if w.epilogue {
		return none, latency
	}
	f := none
	if dice.IntN(100) < 45 {
		f = faults[dice.IntN(len(faults))]
	}
	if replica == losesAnswers && dice.IntN(3) == 0 {
		f = dropped
	}
	switch f {
	case slow, stubborn:
		latency = span(dice, 2*time.Second, 14*time.Second)
	case notSent, refused, refusedTie:
		latency = span(dice, 0, 20*time.Millisecond)
	}
	return f, latency
}
