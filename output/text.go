package output

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/trim"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Text returns a result as one text, for a model's API that takes nothing else. It includes structured content
// that no text repeats, and names other content in square brackets.
func Text(res *mcp.CallToolResult) string {
	if res == nil {
		return ""
	}
	var parts []string
	for _, content := range res.Content {
		if text := ContentText(content); text != "" {
			parts = append(parts, text)
		}
	}
	if text := StructuredText(res); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

// StructuredText returns the structured content of a result as JSON, and "" if it has none or a text repeats it.
func StructuredText(res *mcp.CallToolResult) string {
	if res.StructuredContent == nil {
		return ""
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return "[structured content that cannot be written as JSON]"
	}
	meant, err := jsontree.Decode(raw)
	for _, content := range res.Content {
		t, ok := content.(*mcp.TextContent)
		if !ok || err != nil || !jsontree.Likely(t.Text) {
			continue
		}
		if said, err := jsontree.Decode([]byte(t.Text)); err == nil && jsontree.Same(said, meant) {
			return ""
		}
	}
	return string(raw)
}

// ContentText returns what a model that reads text alone sees of one content.
func ContentText(content mcp.Content) string {
	switch c := content.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[an image, %s, %d bytes; it is not shown]", c.MIMEType, len(c.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[a sound, %s, %d bytes; it is not played]", c.MIMEType, len(c.Data))
	case *mcp.ResourceLink:
		return fmt.Sprintf("[a resource: %s]", strings.TrimSpace(c.URI+" "+c.Description))
	case *mcp.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return ""
		case c.Resource.Blob != nil:
			return fmt.Sprintf("[a resource: %s, %s, %d bytes; it is not shown]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
		}
		return c.Resource.Text
	}
	return fmt.Sprintf("[content of a kind that is not known here: %T]", content)
}

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
