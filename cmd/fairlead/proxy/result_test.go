package proxy_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client gets the bytes of the server exactly if the chain returned what was read from them, in that value or in a copy.
func TestBytesOfTheServerAreOfTheResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*mcp.CallToolResult) *mcp.CallToolResult
		want   bool
	}{
		"as it was":          {func(r *mcp.CallToolResult) *mcp.CallToolResult { return r }, true},
		"a copy":             {func(r *mcp.CallToolResult) *mcp.CallToolResult { own := *r; return &own }, true},
		"none":               {func(*mcp.CallToolResult) *mcp.CallToolResult { return nil }, false},
		"another":            {func(*mcp.CallToolResult) *mcp.CallToolResult { return new(mcp.CallToolResult) }, false},
		"cut where it was":   {func(r *mcp.CallToolResult) *mcp.CallToolResult { r.Content = r.Content[:1]; return r }, false},
		"without structure":  {func(r *mcp.CallToolResult) *mcp.CallToolResult { r.StructuredContent = nil; return r }, false},
		"with another _meta": {func(r *mcp.CallToolResult) *mcp.CallToolResult { r.Meta = mcp.Meta{"truncated": true}; return r }, false},
		"as an error":        {func(r *mcp.CallToolResult) *mcp.CallToolResult { r.IsError = true; return r }, false},
	} {
		for _, raw := range []string{
			`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"structuredContent":{"n":1.0},"_meta":{"a":1}}`,
			`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"structuredContent":{"n":1.0},"_meta":{"a":1},"more":{}}`,
		} {
			if got, err := proxy.Given([]byte(raw), c.change); got != c.want || err != nil {
				t.Errorf("%s: %s: got %t, %v", name, raw, got, err)
			}
		}
	}
}
