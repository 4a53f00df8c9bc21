package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/internal/trouble"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Failure returns what a model reads of an error, as [New] with zero Options words it, without the error's own
// text. The tool may be nil.
func Failure(tool *middleware.Tool, err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: told(tool, err, sorry)}}, IsError: true}
}

// told returns the text of an error for the model: its text for a model, else that of sorry.
func told(tool *middleware.Tool, err error, sorry func(*middleware.Tool) string) string {
	err = middleware.OutcomeUnknown(middleware.Call{Tool: tool}, err)
	if text := middleware.ForModel(err); text != "" {
		return text
	}
	return sorry(tool) + facts(err)
}

func sorry(tool *middleware.Tool) string {
	name := "The call"
	if tool != nil {
		name = tool.ModelName()
	}
	return name + " failed. Try other arguments or another tool, or tell the user that it does not work."
}

// failed returns the result of a call that failed, and logs the error, which the model does not see.
func (c *caller) failed(ctx context.Context, call middleware.Call, err error) *mcp.CallToolResult {
	attrs := []slog.Attr{slog.String("tool", call.Tool.String()), slog.String("call", call.ID), slog.Any("err", redact.Value{Call: call, Value: err})}
	if p, ok := errors.AsType[*middleware.PanicError](err); ok {
		attrs = append(attrs, slog.Any("panic", redact.Value{Call: call, Value: p.Value}), slog.String("stack", string(p.Stack)))
	}
	c.logFailed(ctx, call, err, attrs)

	text := told(call.Tool, err, func(tool *middleware.Tool) string { return c.fallback(ctx, tool) })
	if trim.Text(text, c.Limit) > c.Limit {
		text = trim.CutText(text, c.Limit)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: true}
}

// An outage is what calls fail for through no fault of their own, such as a store that is away. It has one line at its begin
// and one at its end: as many calls as there are fail likewise.
type outage struct {
	trouble.Trouble

	tools sync.Map // the names of those with a call that failed
}

// away reports whether an error is that something which the host depends on is away.
func away(err error) bool {
	gone, ok := errors.AsType[interface {
		error
		Unavailable() bool
	}](err)
	return ok && gone.Unavailable()
}

func (c *caller) logFailed(ctx context.Context, call middleware.Call, err error, attrs []slog.Attr) {
	message, level := "output: a call failed", slog.LevelWarn
	if away(err) {
		c.outage.tools.Store(call.Tool.String(), true)
		if c.outage.Fails() {
			message += "; others that fail likewise are at the debug level, and there is another line when calls go on again"
		} else {
			level = slog.LevelDebug
		}
	}
	c.Logger.LogAttrs(ctx, level, message, attrs...)
}

// went notes that a call was made. An outage ends with one of a tool that it met, since it lets others go on.
func (c *caller) went(ctx context.Context, tool *middleware.Tool) {
	if !c.outage.On() {
		return
	}
	if _, met := c.outage.tools.Load(tool.String()); !met {
		return
	}
	if failures, after := c.outage.Works(); failures > 0 {
		c.outage.tools.Clear()
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "output: calls go on again", slog.String("tool", tool.String()),
			slog.Int("failures", failures), slog.Duration("after", after.Round(time.Millisecond)))
	}
}

func (c *caller) fallback(ctx context.Context, tool *middleware.Tool) (text string) {
	defer func() {
		if v := recover(); v != nil {
			c.Logger.LogAttrs(ctx, slog.LevelError, "output: Options.Fallback panicked",
				slog.String("tool", tool.String()), slog.Any("panic", redact.Value{Value: v}))
		}
		text = cmp.Or(text, sorry(tool))
	}()
	if c.Fallback != nil {
		text = c.Fallback(tool)
	}
	return text
}

// facts returns what a model may rely on after an error.
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

// withheld returns the error of a call whose result is withheld from the model.
func withheld(tool *middleware.Tool, what string, err error) error {
	told := fmt.Sprintf("%s answered, but its answer %s, so it is withheld.", tool.ModelName(), what)
	if tool.Safety() != annotation.Safe {
		told += " The call was made: do not make it again."
	}
	if errors.Is(err, errTooLong) {
		told += " Ask for less at a time."
	} else {
		told += " Use another tool, or tell the user."
	}
	return fault.Told(fmt.Errorf("output: the answer of %s %s and is withheld from the model: %w", tool, what, err), true, told)
}

var errTooLong = errors.New("it cannot be cut to fit; raise output.Options.Limit, or let the tool answer with less")
