package output

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Text returns a result as one text, for a model's API that takes nothing else. The
// structured content is part of it, unless a text says the same. What is no text is
// named in square brackets, so that the model knows that it is missing.
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

// StructuredText returns the structured content of a result as JSON, and "" where it
// has none or one of its texts says the same. It is for an adapter that hands a
// model the contents one by one.
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

// Failure returns what a model reads of an error that ended a call, as the middleware
// of [New] with zero Options words it: for a host without one, and for errors from
// outside a chain. The error's own text is not in it. The tool may be nil.
func Failure(tool *middleware.Tool, err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: told(tool, err, sorry)}}, IsError: true}
}

// told is what a model reads of an error; what an error says that has nothing to say
// to a model, sorry knows.
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
