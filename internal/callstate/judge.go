package callstate

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Judge classifies a call by its arguments.
type Judge func(ctx context.Context, call middleware.Call) (*middleware.Tool, error)

// JudgeBy returns a judge that classifies a call as the middleware does.
func JudgeBy(m middleware.Middleware) Judge {
	return func(ctx context.Context, call middleware.Call) (tool *middleware.Tool, err error) {
		call.Tool = Static(ctx, call.Tool) // not as it was with the arguments before
		_, err = m(middleware.ToolCallerFunc(func(_ context.Context, judged middleware.Call) (*mcp.CallToolResult, error) {
			tool = judged.Tool
			return &mcp.CallToolResult{}, nil
		})).CallTool(ctx, call)
		return tool, err
	}
}

// WithJudge returns a context that carries a judge for arguments that a person edits.
func WithJudge(ctx context.Context, judge Judge) context.Context {
	p := derive(ctx)
	p.holds.judge = judge
	return &p.State
}

// JudgeOf returns the judge that the context carries, nil without one.
func JudgeOf(ctx context.Context) Judge { return Of(ctx).within().judge }

// JudgeAgain returns the call with the tool of the judge that the context carries, and as it
// is without one. Another tool is an error.
func JudgeAgain(ctx context.Context, call middleware.Call) (middleware.Call, error) {
	judge := JudgeOf(ctx)
	if judge == nil {
		return call, nil
	}
	tool, err := judge(ctx, call)
	switch {
	case err != nil:
		return call, fmt.Errorf("they cannot be classed: %w", err)
	case tool == nil || tool.Server != call.Tool.Server || tool.Name() != call.Tool.Name() || tool.Digest != call.Tool.Digest:
		return call, errors.New("they were classed as those of another tool")
	}
	call.Tool = tool
	return call, nil
}
