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
	out := *res
	out.Meta, _ = copyValue(map[string]any(res.Meta)).(map[string]any)
	out.Content = make([]mcp.Content, len(res.Content))
	for i, c := range res.Content {
		out.Content[i] = copyContent(c)
	}
	out.StructuredContent = copyValue(res.StructuredContent)
	return &out
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
	}
	return c // kinds that stand in sampling messages only
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
		return bytes.Clone(v)
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
	const header = 256 // the structs themselves, generously
	size := int64(header) + sizeOfValue(map[string]any(res.Meta)) + sizeOfValue(res.StructuredContent)
	for _, c := range res.Content {
		size += header
		switch c := c.(type) {
		case *mcp.TextContent:
			size += int64(len(c.Text))
		case *mcp.ImageContent:
			size += int64(len(c.Data))
		case *mcp.AudioContent:
			size += int64(len(c.Data))
		case *mcp.EmbeddedResource:
			if c.Resource != nil {
				size += int64(len(c.Resource.Text) + len(c.Resource.Blob))
			}
		}
	}
	return size
}

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
