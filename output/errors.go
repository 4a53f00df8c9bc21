package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// failed returns the result that stands for an error. Its text goes to the log; the
// model reads what the error has to say to a model, or the fallback and the facts
// that the error tells.
func (c *caller) failed(ctx context.Context, call middleware.Call, err error) *mcp.CallToolResult {
	attrs := []slog.Attr{slog.String("tool", call.Tool.String()), slog.String("call", call.ID), slog.Any("err", redact.Said{Call: call, Value: err})}
	if p, ok := errors.AsType[*fault.PanicError](err); ok {
		attrs = append(attrs, slog.Any("panic", redact.Said{Call: call, Value: p.Value}), slog.String("stack", string(p.Stack)))
	}
	c.Logger.LogAttrs(ctx, slog.LevelWarn, "output: a call failed", attrs...)

	text := told(call.Tool, err, func(tool *middleware.Tool) string { return c.fallback(ctx, tool) })
	if trim.Text(text, c.Limit) > c.Limit {
		text = trim.CutText(text, c.Limit)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: true}
}

// fallback is what is said of a tool whose error says nothing.
func (c *caller) fallback(ctx context.Context, tool *middleware.Tool) (text string) {
	defer func() {
		if v := recover(); v != nil {
			c.Logger.LogAttrs(ctx, slog.LevelError, "output: Options.Fallback panicked",
				slog.String("tool", tool.String()), slog.Any("panic", redact.Said{Value: v}))
		}
		text = cmp.Or(text, sorry(tool))
	}()
	if c.Fallback != nil {
		text = c.Fallback(tool)
	}
	return text
}

// facts puts into words what the error tells besides its text.
func facts(err error) string {
	text := ""
	switch {
	case middleware.NotSent(err):
		text = " Nothing has happened: the call did not leave."
	case middleware.Refused(err):
		text = " Nothing has happened: the server turned the call away."
	}
	if after, ok := middleware.RetryAfter(err); ok {
		text += fmt.Sprintf(" It is of no use to try again within %v.", max(after.Round(time.Second), time.Second))
	} else if middleware.Permanent(err) {
		text += " The same call would only fail again."
	}
	return text
}

// A withheldError says that a call was answered, and why the model does not see the
// answer. It is final: the call has been made.
type withheldError struct {
	tool *middleware.Tool
	what string
	err  error
}

func withheld(tool *middleware.Tool, what string, err error) error {
	return &withheldError{tool: tool, what: what, err: err}
}

func (e *withheldError) Error() string {
	return fmt.Sprintf("output: the answer of %s %s and is withheld from the model: %v", e.tool, e.what, e.err)
}

func (e *withheldError) Unwrap() error { return e.err }

// Permanent reports that the call was made and answered.
func (e *withheldError) Permanent() bool { return true }

func (e *withheldError) ForModel() string {
	text := fmt.Sprintf("%s answered, but its answer %s, so it is withheld.", e.tool.ModelName(), e.what)
	if e.tool.Safety() != annotation.Safe {
		text += " The call was made: do not make it again."
	}
	if errors.Is(e.err, errTooLong) {
		return text + " Ask for less at a time."
	}
	return text + " Use another tool, or tell the user."
}

var errTooLong = errors.New("it cannot be cut to fit; raise output.Options.Limit, or let the tool answer with less")
