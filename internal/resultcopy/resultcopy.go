// Package resultcopy copies the results of tools, within a process and to another, and estimates their memory.
package resultcopy

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Copy returns a deep copy of a result and an estimate of its memory. It panics on a block that is a nil pointer.
func Copy(res *mcp.CallToolResult) (*mcp.CallToolResult, int64) {
	var c copier
	if len(res.Content) == 1 {
		if text, ok := res.Content[0].(*mcp.TextContent); ok { // as most are: one allocation
			out := &struct {
				res     mcp.CallToolResult
				content [1]mcp.Content
				text    mcp.TextContent
			}{res: *res, text: *text}
			c.text(&out.text)
			out.content[0], out.res.Content = &out.text, out.content[:]
			c.rest(&out.res)
			return &out.res, c.size
		}
	}
	out := *res
	out.Content = c.contents(res.Content)
	c.rest(&out)
	return &out, c.size
}

// A copier replaces what copied structs still share by copies of its own, and adds up how much memory they hold.
type copier struct{ size int64 }

const (
	header = 256 // a struct, generously
	word   = 16  // a value in an interface, or the head of a string
)

// rest copies what is beside the contents.
func (c *copier) rest(res *mcp.CallToolResult) {
	c.size += header
	c.meta(&res.Meta)
	res.StructuredContent = c.value(res.StructuredContent)
}

func (c *copier) text(text *mcp.TextContent) {
	c.size += header + int64(len(text.Text))
	c.meta(&text.Meta)
	if text.Annotations != nil {
		c.own(reflect.ValueOf(&text.Annotations).Elem())
	}
}

func (c *copier) meta(m *mcp.Meta) {
	if *m == nil { // as it is in most
		c.size += word
		return
	}
	*m, _ = c.value(map[string]any(*m)).(map[string]any)
}

func (c *copier) contents(contents []mcp.Content) []mcp.Content {
	out := make([]mcp.Content, len(contents))
	for i, content := range contents {
		switch content := content.(type) {
		case nil:
			c.size += header
		case *mcp.TextContent: // most of them
			text := *content
			c.text(&text)
			out[i] = &text
		default: // a pointer to another struct of the SDK: the interface is closed
			block := reflect.New(reflect.TypeOf(content).Elem())
			block.Elem().Set(reflect.ValueOf(content).Elem())
			c.size += header
			c.own(block.Elem())
			out[i], _ = reflect.TypeAssert[mcp.Content](block)
		}
	}
	return out
}

// own replaces what v, a part of a struct of the SDK, still shares with another.
func (c *copier) own(v reflect.Value) {
	switch part := v.Addr().Interface().(type) {
	case *mcp.Meta:
		c.meta(part)
		return
	case *any:
		*part = c.value(*part)
		return
	case *map[string]any:
		*part, _ = c.value(*part).(map[string]any)
		return
	case *[]mcp.Content:
		*part = c.contents(*part)
		return
	}
	switch v.Kind() {
	case reflect.String:
		c.size += int64(v.Len())
	case reflect.Struct:
		for i := range v.NumField() { //nolint:modernize // an iterator allocates
			c.own(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out := reflect.New(v.Type().Elem())
			out.Elem().Set(v.Elem())
			c.own(out.Elem())
			v.Set(out)
		}
	case reflect.Slice:
		elem := v.Type().Elem()
		v.Set(reflect.AppendSlice(reflect.Zero(v.Type()), v)) // nil stays nil
		c.size += int64(v.Len()) * int64(elem.Size())
		for i := 0; i < v.Len() && elem.Kind() != reflect.Uint8; i++ {
			c.own(v.Index(i))
		}
	}
}

// value copies a value as JSON decodes it, and one of the host's own types by its JSON form.
func (c *copier) value(v any) any {
	c.size += word
	switch v := v.(type) {
	case nil, bool, float64, int, int64:
		return v
	case string:
		c.size += int64(len(v))
		return v
	case json.Number:
		c.size += int64(len(v))
		return v
	case json.RawMessage:
		c.size += int64(len(v))
		return json.RawMessage(bytes.Clone(v))
	case map[string]any:
		out := maps.Clone(v)
		for k, e := range out {
			c.size += word + int64(len(k))
			out[k] = c.value(e)
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i, e := range out {
			out[i] = c.value(e)
		}
		return out
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return v
	}
	c.size += int64(len(raw))
	return json.RawMessage(raw)
}

// Storable reports whether a result may be cached. An empty one may be of an unknown kind, such as a task.
func Storable(res *mcp.CallToolResult) bool {
	return res != nil && !res.IsError && !AsksForInput(res) && (len(res.Content) > 0 || res.StructuredContent != nil)
}

// AsksForInput reports whether a result asks its caller for input.
func AsksForInput(res *mcp.CallToolResult) bool {
	return res.NeedsInput() || res.RequestState != "" || len(res.InputRequests) > 0
}

// Shortened returns for how long a result may be used, of a lifetime. A server cannot lengthen it.
func Shortened(res *mcp.CallToolResult, ttl time.Duration) time.Duration {
	var given float64 // of what is not a number
	switch ms := res.Meta["ttlMs"].(type) {
	case nil:
		return ttl
	case int:
		given = float64(ms)
	case float64:
		given = ms
	}
	return min(ttl, time.Duration(max(0, min(given, math.MaxInt32)))*time.Millisecond)
}
