package cache

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shallowCopy shares everything below the result itself.
func shallowCopy(res *mcp.CallToolResult) *mcp.CallToolResult {
	out := *res
	return &out
}

// deepCopy returns a result that shares nothing that can be written to.
func deepCopy(res *mcp.CallToolResult) *mcp.CallToolResult {
	if len(res.Content) == 1 {
		if text, ok := res.Content[0].(*mcp.TextContent); ok {
			return copyText(res, text)
		}
	}
	out := *res
	out.Meta, _ = copyValue(map[string]any(res.Meta)).(map[string]any)
	out.Content = copyContents(res.Content)
	out.StructuredContent = copyValue(res.StructuredContent)
	return &out
}

// copyText copies a result that is one text, as most are, in one piece.
func copyText(res *mcp.CallToolResult, text *mcp.TextContent) *mcp.CallToolResult {
	out := &struct {
		res     mcp.CallToolResult
		content [1]mcp.Content
		text    mcp.TextContent
	}{res: *res, text: *text}
	out.text.Meta, out.text.Annotations = copyMeta(text.Meta), copyAnnotations(text.Annotations)
	out.content[0] = &out.text
	out.res.Meta, _ = copyValue(map[string]any(res.Meta)).(map[string]any)
	out.res.Content = out.content[:]
	out.res.StructuredContent = copyValue(res.StructuredContent)
	return &out.res
}

func copyContent(c mcp.Content) mcp.Content {
	switch c := c.(type) {
	case *mcp.TextContent:
		out := *c
		out.Meta, out.Annotations = copyMeta(c.Meta), copyAnnotations(c.Annotations)
		return &out
	case *mcp.ImageContent:
		out := *c
		out.Meta, out.Annotations, out.Data = copyMeta(c.Meta), copyAnnotations(c.Annotations), bytes.Clone(c.Data)
		return &out
	case *mcp.AudioContent:
		out := *c
		out.Meta, out.Annotations, out.Data = copyMeta(c.Meta), copyAnnotations(c.Annotations), bytes.Clone(c.Data)
		return &out
	case *mcp.ResourceLink:
		out := *c
		out.Meta, out.Annotations, out.Icons = copyMeta(c.Meta), copyAnnotations(c.Annotations), slices.Clone(c.Icons)
		for i := range out.Icons {
			out.Icons[i].Sizes = slices.Clone(out.Icons[i].Sizes)
		}
		if c.Size != nil {
			out.Size = new(*c.Size)
		}
		return &out
	case *mcp.EmbeddedResource:
		out := *c
		out.Meta, out.Annotations = copyMeta(c.Meta), copyAnnotations(c.Annotations)
		if c.Resource != nil {
			r := *c.Resource
			r.Meta, r.Blob = copyMeta(r.Meta), bytes.Clone(r.Blob)
			out.Resource = &r
		}
		return &out
	case *mcp.ToolUseContent: // not for results, but the SDK lets a server send it
		out := *c
		out.Meta = copyMeta(c.Meta)
		out.Input, _ = copyValue(c.Input).(map[string]any)
		return &out
	case *mcp.ToolResultContent: // likewise
		out := *c
		out.Meta, out.Content, out.StructuredContent = copyMeta(c.Meta), copyContents(c.Content), copyValue(c.StructuredContent)
		return &out
	}
	return c // there is no other: the interface is closed
}

func copyContents(contents []mcp.Content) []mcp.Content {
	out := make([]mcp.Content, len(contents))
	for i, c := range contents {
		out[i] = copyContent(c)
	}
	return out
}

func copyMeta(m mcp.Meta) mcp.Meta {
	if m == nil {
		return nil
	}
	return copyValue(map[string]any(m)).(map[string]any)
}

func copyAnnotations(a *mcp.Annotations) *mcp.Annotations {
	if a == nil {
		return nil
	}
	out := *a
	out.Audience = slices.Clone(a.Audience)
	return &out
}

// copyValue copies a value as JSON decodes it. A type of the host's own, which
// only an executor in the same process can give, is copied by its JSON form.
func copyValue(v any) any {
	switch v := v.(type) {
	case nil, bool, string, float64, int, int64, json.Number:
		return v
	case json.RawMessage:
		return json.RawMessage(bytes.Clone(v))
	case map[string]any:
		if v == nil {
			return v
		}
		out := maps.Clone(v)
		for k, e := range out {
			out[k] = copyValue(e)
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i, e := range out {
			out[i] = copyValue(e)
		}
		return out
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return v
	}
	return json.RawMessage(raw)
}

// sizeOf estimates the memory that a result holds.
func sizeOf(res *mcp.CallToolResult) int64 {
	return header + sizeOfMeta(res.Meta) + sizeOfValue(res.StructuredContent) + sizeOfContents(res.Content)
}

const header = 256 // the structs themselves, generously

func sizeOfContents(contents []mcp.Content) int64 {
	var size int64
	for _, c := range contents {
		size += header
		switch c := c.(type) {
		case *mcp.TextContent:
			size += sizeOfTexts(c.Text) + sizeOfMeta(c.Meta) + sizeOfAnnotations(c.Annotations)
		case *mcp.ImageContent:
			size += int64(len(c.Data)) + sizeOfTexts(c.MIMEType) + sizeOfMeta(c.Meta) + sizeOfAnnotations(c.Annotations)
		case *mcp.AudioContent:
			size += int64(len(c.Data)) + sizeOfTexts(c.MIMEType) + sizeOfMeta(c.Meta) + sizeOfAnnotations(c.Annotations)
		case *mcp.ResourceLink:
			size += sizeOfTexts(c.URI, c.Name, c.Title, c.Description, c.MIMEType) + sizeOfMeta(c.Meta) + sizeOfAnnotations(c.Annotations)
			for _, icon := range c.Icons { // a data URI may hold the whole image
				size += header + sizeOfTexts(icon.Source, icon.MIMEType, string(icon.Theme)) + sizeOfTexts(icon.Sizes...)
			}
		case *mcp.EmbeddedResource:
			size += sizeOfMeta(c.Meta) + sizeOfAnnotations(c.Annotations)
			if r := c.Resource; r != nil {
				size += int64(len(r.Blob)) + sizeOfTexts(r.URI, r.MIMEType, r.Text) + sizeOfMeta(r.Meta)
			}
		case *mcp.ToolUseContent:
			size += sizeOfTexts(c.ID, c.Name) + sizeOfValue(c.Input) + sizeOfMeta(c.Meta)
		case *mcp.ToolResultContent:
			size += sizeOfTexts(c.ToolUseID) + sizeOfContents(c.Content) + sizeOfValue(c.StructuredContent) + sizeOfMeta(c.Meta)
		}
	}
	return size
}

func sizeOfTexts(texts ...string) (size int64) {
	for _, text := range texts {
		size += int64(len(text))
	}
	return size
}

func sizeOfAnnotations(a *mcp.Annotations) int64 {
	if a == nil {
		return 0
	}
	size := sizeOfTexts(a.LastModified)
	for _, role := range a.Audience {
		size += sizeOfTexts(string(role))
	}
	return size
}

func sizeOfMeta(m mcp.Meta) int64 { return sizeOfValue(map[string]any(m)) }

func sizeOfValue(v any) int64 {
	const word = 16
	switch v := v.(type) {
	case string:
		return word + int64(len(v))
	case json.RawMessage:
		return word + int64(len(v))
	case map[string]any:
		size := int64(word)
		for k, e := range v {
			size += word + int64(len(k)) + sizeOfValue(e)
		}
		return size
	case []any:
		size := int64(word)
		for _, e := range v {
			size += sizeOfValue(e)
		}
		return size
	}
	return word
}
