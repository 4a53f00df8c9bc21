package middlewaretest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type answer func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error)

// A next is what the middleware is hung before. It keeps the contract.
type next struct {
	answer  answer
	entered chan struct{} // holds one if next was called

	mu   sync.Mutex
	seen []seen
}

type seen struct {
	ctx  context.Context
	call middleware.Call
}

func (n *next) CallTool(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	n.mu.Lock()
	n.seen = append(n.seen, seen{ctx, call})
	n.mu.Unlock()
	select {
	case n.entered <- struct{}{}:
	default:
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return n.answer(ctx, call)
}

func (n *next) calls() []seen {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clip(n.seen)
}

// result answers with a result that only this call can have.
func result(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	said := marker(call)
	return &mcp.CallToolResult{
		Meta:              mcp.Meta{"kit": map[string]any{"said": said}},
		Content:           []mcp.Content{&mcp.TextContent{Text: said}},
		StructuredContent: map[string]any{"said": said, "list": []any{map[string]any{"said": said}}},
	}, nil
}

// marker is a text that no other call's answer holds, and that JSON writes as it is.
func marker(call middleware.Call) string {
	return strings.ReplaceAll(fmt.Sprintf("[answer for %q to %s]", call.Scope, call.Arguments), `"`, "'")
}

func reported(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	res, err := result(ctx, call)
	res.IsError = true
	return res, err
}

func failing(err error) answer {
	return func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return nil, err }
}

// waiting answers when the context is done, or with a result once the time has passed.
func waiting(n time.Duration) answer {
	return func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(n):
			return result(ctx, call)
		}
	}
}

// held answers with a result when let go, and earlier when the context is done.
func (p *probe) held(letGo <-chan struct{}) answer {
	return func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-letGo:
		case <-p.quit:
		}
		return result(ctx, call)
	}
}

// What a next may fail with.
var (
	errLost    = errors.New("the connection was lost after the call had left")
	errNotSent = &middleware.NotSentError{Err: errors.New("the connection could not be made")}
	errRefused = &refusedError{}
)

type refusedError struct{}

func (*refusedError) Error() string { return "too many requests" }

func (*refusedError) Refused() bool { return true }

// call returns call number n of its scope. Arguments and tags have room behind their end, to see writes there.
func (p *probe) call(scope string, n int) middleware.Call {
	arguments := fmt.Appendf(make([]byte, 0, 64), `{"number":%d,"of":"middlewaretest"}`, n)
	return middleware.Call{
		ID: fmt.Sprintf("%s-%d", scope, n), Scope: scope, Tool: p.tool, Arguments: arguments,
		Meta: mcp.Meta{"kit": map[string]any{"call": "middlewaretest"}},
	}
}

// snapshot returns all that a call holds, the unused capacity of its slices included, so that a write anywhere is seen.
func snapshot(call middleware.Call) string {
	definition, _ := json.Marshal(call.Tool.Definition) // NewTool has marshalled it once
	annotations, _ := json.Marshal(call.Tool.Annotations)
	meta, _ := json.Marshal(call.Meta)
	input, _ := json.Marshal(call.Input)
	params, _ := json.Marshal(call.Params)
	tags := call.Tool.Annotations.Tags
	return fmt.Sprintf("id %s, scope %s, arguments %q, meta %s, input %s, params %s, tool %s %x, annotations %s, tags %q, evidence %v, definition %s",
		call.ID, call.Scope, call.Arguments[:cap(call.Arguments)], meta, input, params, call.Tool, call.Tool.Digest,
		annotations, tags[:cap(tags)], call.Tool.Annotations.Evidence, definition)
}

func text(res *mcp.CallToolResult) string {
	raw, err := json.Marshal(res)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

const scribbled = "scribbled by the caller"

// scribble writes into a result wherever it can be written to, as its owner may.
func scribble(res *mcp.CallToolResult) {
	for i, content := range res.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			t.Text = scribbled
		}
		res.Content[i] = &mcp.TextContent{Text: scribbled}
	}
	scribbleValue(map[string]any(res.Meta))
	scribbleValue(res.StructuredContent)
	res.IsError = !res.IsError
}

func scribbleValue(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			scribbleValue(inner)
			v[k] = scribbled
		}
	case []any:
		for i, inner := range v {
			scribbleValue(inner)
			v[i] = scribbled
		}
	case json.RawMessage:
		for i := range v {
			v[i] = '0'
		}
	}
}
