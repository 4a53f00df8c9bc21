// Package eino lets agents of CloudWeGo's Eino call tools through a chain: as tools of
// its own, or by a middleware around existing tools. Its examples import it as
//
//	fairlead "github.com/fairlead-go/fairlead/contrib/eino"
package eino

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Middleware puts a chain around Eino's existing tools: it adds them to the catalog under the id, and
// returns the middleware for compose.ToolsNodeConfig.ToolCallMiddlewares. Catalog.Override sets hints
// that cannot be inferred from a tool's words.
//
// A tool that streams is read to its end and answers at once. A tool that answers in parts, which the
// chain would not see, is refused; use [MultimodalTools]. A call of any other tool is refused too.
// Eino starts the calls of one message in any order; ExecuteSequentially keeps it.
func Middleware(ctx context.Context, tools *catalog.Catalog, id string, chain middleware.Middleware, o batch.HostOptions, own ...tool.BaseTool) (compose.ToolMiddleware, error) {
	if tools == nil || chain == nil {
		panic("eino: Middleware needs a catalog and a chain")
	}
	var definitions []*mcp.Tool
	for _, t := range own {
		definition, err := definitionOf(ctx, t)
		if err != nil {
			return compose.ToolMiddleware{}, err
		}
		definitions = append(definitions, definition)
	}
	if err := tools.AddTools(id, middleware.ToolCallerFunc(execute), definitions...); err != nil { //nolint:contextcheck // it lists the given definitions
		return compose.ToolMiddleware{}, err
	}
	g := guarded{tools: tools, id: id, host: batch.NewHost(tools, chain(tools), o)}
	return compose.ToolMiddleware{
		Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
				text, err := g.call(ctx, in, next)
				if err != nil {
					return nil, err
				}
				return &compose.ToolOutput{Result: text}, nil
			}
		},
		Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			whole := func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
				out, err := next(ctx, in)
				if err != nil {
					return nil, err
				}
				text, err := all(out.Result)
				return &compose.ToolOutput{Result: text}, err
			}
			return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
				text, err := g.call(ctx, in, whole)
				if err != nil {
					return nil, err
				}
				return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray([]string{text})}, nil
			}
		},
		EnhancedInvokable: func(compose.EnhancedInvokableToolEndpoint) compose.EnhancedInvokableToolEndpoint {
			return func(context.Context, *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
				return nil, errParts
			}
		},
		EnhancedStreamable: func(compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
			return func(context.Context, *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
				return nil, errParts
			}
		},
	}, nil
}

func all(r *schema.StreamReader[string]) (string, error) {
	defer r.Close()
	var text strings.Builder
	for {
		part, err := r.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return text.String(), nil
		case err != nil:
			return "", err
		}
		text.WriteString(part)
	}
}

var errParts = errors.New("eino: a tool that answers in parts was refused: the chain does not see its answer; pass the tool by MultimodalTools")

// definitionOf returns the definition of an Eino tool as MCP has it.
func definitionOf(ctx context.Context, t tool.BaseTool) (*mcp.Tool, error) {
	info, err := t.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("eino: the info of a tool: %w", err)
	}
	definition := &mcp.Tool{Name: info.Name, Description: info.Desc, InputSchema: map[string]any{"type": "object"}}
	parameters, err := info.ToJSONSchema()
	if err == nil && parameters != nil {
		var raw json.RawMessage
		raw, err = json.Marshal(parameters)
		definition.InputSchema = raw
	}
	if err != nil {
		return nil, fmt.Errorf("eino: the schema of %s: %w", info.Name, err)
	}
	return definition, nil
}

type guarded struct {
	tools *catalog.Catalog
	id    string
	host  *batch.Host
}

type nextKey struct{}

// next is Eino's endpoint, beneath the chain.
type next struct {
	in  *compose.ToolInput
	run compose.InvokableToolEndpoint

	paused atomic.Pointer[pausedError] // the graph, by the tool; the context of a call that has given up may outlive it
}

// A pausedError is an interrupt by which a tool pauses its graph. It is for Eino and not for the model. The tool has asked
// for something and is run again when the graph goes on: the call has not happened, and is not repeated before.
type pausedError struct{ interrupt error }

func (e *pausedError) Error() string {
	return "eino: the tool has paused the graph: " + e.interrupt.Error()
}
func (e *pausedError) Unwrap() error   { return e.interrupt }
func (e *pausedError) NotSent() bool   { return true }
func (e *pausedError) Permanent() bool { return true }

// call makes a call by the chain, at whose end execute takes Eino's endpoint out of the context.
// An error is an interrupt of the graph, which goes on to Eino as the tool returned it.
func (g guarded) call(ctx context.Context, in *compose.ToolInput, run compose.InvokableToolEndpoint) (string, error) {
	tool, ok := g.tools.Lookup(g.id, in.Name)
	if !ok {
		return output.Text(output.Failure(nil, &catalog.UnknownToolError{Server: g.id, Tool: in.Name})), nil
	}
	to := &next{in: in, run: run}
	text := output.Text(g.host.Call(context.WithValue(ctx, nextKey{}, to), tool, in.CallID, json.RawMessage(in.Arguments)))
	if paused := to.paused.Load(); paused != nil {
		return "", paused.interrupt
	}
	return text, nil
}

func execute(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
	to, ok := ctx.Value(nextKey{}).(*next)
	if !ok {
		return nil, &middleware.NotSentError{Err: errors.New("eino: only its tools node can call the tools of a middleware")}
	}
	in := *to.in
	in.Arguments = strings.TrimSpace(string(call.Arguments))
	out, err := to.run(ctx, &in)
	if _, interrupts := compose.IsInterruptRerunError(err); interrupts {
		paused := &pausedError{err}
		to.paused.Store(paused)
		return nil, paused
	}
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out.Result}}}, nil
}
