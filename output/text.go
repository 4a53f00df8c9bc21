package output

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/internal/jsontree"
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
