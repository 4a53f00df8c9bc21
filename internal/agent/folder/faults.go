package folder

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// inARow is how many faults may hit the same call one after the other, so that
// a third try of it always gets through.
const inARow = 2

// errBroken is a failure that does not tell how far the call came.
var errBroken = errors.New("the disk did not answer in time")

// faults makes a share of the calls fail, in the ways in which servers do.
type faults struct {
	rate float64

	mu     sync.Mutex
	random *rand.Rand
	row    map[string]int // faults in a row, by call
}

func (f *faults) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		fail := f.draw(call.Params.Name + string(call.Params.Arguments))
		if fail == nil {
			return next(ctx, method, req)
		}
		return nil, fail(ctx, method, req, next)
	}
}

// A fault is a way to fail.
type fault func(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler) error

// draw returns how this call fails, nil for not at all.
func (f *faults) draw(call string) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	// Both are drawn every time, so that one seed means the same faults whatever
	// the rate lets through.
	hit, kind := f.random.Float64() < f.rate, f.random.IntN(4)
	if !hit || f.row[call] == inARow {
		delete(f.row, call)
		return nil
	}
	f.row[call]++
	return [...]fault{busy, internal, broken, lost}[kind]
}

// busy turns the call away before executing it, and says so.
func busy(context.Context, string, mcp.Request, mcp.MethodHandler) error {
	return &jsonrpc.Error{Code: -32023, Message: "busy", Data: json.RawMessage(`{"retryAfterMs":20}`)}
}

// internal fails before executing the call, and does not say so.
func internal(context.Context, string, mcp.Request, mcp.MethodHandler) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "something broke"}
}

// broken is the same as a Go error.
func broken(context.Context, string, mcp.Request, mcp.MethodHandler) error { return errBroken }

// lost executes the call and loses the answer.
func lost(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler) error {
	// What it did is in the ledger; nobody will hear of it from here.
	_, _ = next(ctx, method, req)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "something broke"}
}
