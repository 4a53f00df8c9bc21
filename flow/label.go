package flow

import (
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// LabelKey is the member of _meta where a label of a result is written: an object with integrity, "trusted" or
// "untrusted", and confidentiality, as servers of GitHub state it.
const LabelKey = "ifc"

// The readers of a label that are kept, and the bytes of their names.
const (
	maxReaders = 16
	maxReader  = 128
)

// Label states on a result, or on a block of it, whether its text is trusted and whether it is for everybody. It returns the
// Meta to keep. A label that is there only gets stricter: its integrity stays "trusted" if the text is, its readers stay
// unless they are everybody and the text is sensitive, and what cannot be read becomes "untrusted" and "private". Without
// a label, readers of a text that is not sensitive are not stated.
func Label(meta mcp.Meta, trusted, sensitive bool) mcp.Meta {
	out := make(mcp.Meta, len(meta)+1)
	maps.Copy(out, meta)
	for _, key := range labels {
		if of, ok := meta[key]; ok {
			out[key] = stricter(of, trusted, sensitive)
		}
	}
	if _, ok := out[LabelKey]; !ok {
		out[LabelKey] = stricter(map[string]any{}, trusted, sensitive)
	}
	return out
}

// stricter returns a label with no other members than the two, and nothing that was not read.
func stricter(of any, trusted, sensitive bool) map[string]any {
	label, ok := of.(map[string]any)
	before := result{trusted: trusted, sensitive: sensitive}
	before.label(of)
	after := map[string]any{"integrity": "untrusted"}
	if before.trusted {
		after["integrity"] = "trusted"
	}
	readers, known := label["confidentiality"]
	switch {
	case before.sensitive && (!ok || !known || !bounded(readers) || public(readers)):
		after["confidentiality"] = "private"
	case known:
		after["confidentiality"] = readers
	}
	return after
}

// public reports whether a label's readers are everybody.
func public(readers any) bool {
	list, ok := readers.([]any)
	return readers == any("public") || ok && len(list) == 1 && list[0] == any("public")
}

// bounded reports whether a label's readers are a short word, or a short list of them.
func bounded(readers any) bool {
	switch readers := readers.(type) {
	case string:
		return len(readers) <= maxReader
	case []any:
		for _, reader := range readers {
			if word, ok := reader.(string); !ok || len(word) > maxReader {
				return false
			}
		}
		return len(readers) <= maxReaders
	}
	return false
}

// labeled returns a result with its label, and with no block that states more than holds. The one that it got stays as it
// was: others may hold it.
func labeled(res *mcp.CallToolResult, trusted, sensitive bool) *mcp.CallToolResult {
	out := *res
	out.Meta = Label(res.Meta, trusted, sensitive)
	out.Content = make([]mcp.Content, len(res.Content))
	for i, c := range res.Content {
		out.Content[i] = relabeled(c, trusted)
	}
	if res.Content == nil {
		out.Content = nil
	}
	return &out
}

// relabeled returns a block whose label is no more than the result's.
func relabeled(c mcp.Content, trusted bool) mcp.Content {
	strict := func(meta *mcp.Meta) {
		for _, key := range labels {
			if _, ok := (*meta)[key]; ok {
				*meta = maps.Clone(*meta)
				(*meta)[key] = stricter((*meta)[key], trusted, false)
			}
		}
	}
	switch c := c.(type) {
	case *mcp.TextContent:
		its := *c
		strict(&its.Meta)
		return &its
	case *mcp.ImageContent:
		its := *c
		strict(&its.Meta)
		return &its
	case *mcp.AudioContent:
		its := *c
		strict(&its.Meta)
		return &its
	case *mcp.ResourceLink:
		its := *c
		strict(&its.Meta)
		return &its
	case *mcp.EmbeddedResource:
		its := *c
		strict(&its.Meta)
		if its.Resource != nil {
			inner := *its.Resource
			strict(&inner.Meta)
			its.Resource = &inner
		}
		return &its
	}
	return c
}
