package output_test

import (
	"encoding/json"
	"testing"

	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestTextHoldsEverythingThatAModelCanRead(t *testing.T) {
	t.Parallel()
	say := func(text string) mcp.Content { return &mcp.TextContent{Text: text} }
	for name, c := range map[string]struct {
		contents   []mcp.Content
		structured any
		want       string
	}{
		"a text":                              {[]mcp.Content{say("plain")}, nil, "plain"},
		"two":                                 {[]mcp.Content{say("a"), say("b")}, nil, "a\nb"},
		"nothing":                             {nil, nil, ""},
		"structured alone":                    {nil, map[string]any{"n": 1}, `{"n":1}`},
		"structured beside a text":            {[]mcp.Content{say("read")}, map[string]any{"n": 1}, "read\n{\"n\":1}"},
		"structured, said already":            {[]mcp.Content{say(`{ "n": 1 }`)}, map[string]any{"n": 1}, `{ "n": 1 }`},
		"said already, in bytes":              {[]mcp.Content{say(`{"n":1}`)}, json.RawMessage(`{"n":1}`), `{"n":1}`},
		"structured content that is not JSON": {[]mcp.Content{say("a")}, func() {}, "a\n[structured content that cannot be written as JSON]"},
		"an image":                            {[]mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 7)}}, nil, "[an image, image/png, 7 bytes; it is not shown]"},
		"a sound":                             {[]mcp.Content{&mcp.AudioContent{MIMEType: "audio/wav", Data: make([]byte, 7)}}, nil, "[a sound, audio/wav, 7 bytes; it is not played]"},
		"a link":                              {[]mcp.Content{&mcp.ResourceLink{URI: "file:///a", Description: "the file"}}, nil, "[a resource: file:///a the file]"},
		"a resource with text":                {[]mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: "in it"}}}, nil, "in it"},
		"a resource without":                  {[]mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", MIMEType: "x/y", Blob: []byte("abc")}}}, nil, "[a resource: file:///a, x/y, 3 bytes; it is not shown]"},
		"a resource that is not there":        {[]mcp.Content{&mcp.EmbeddedResource{}, say("b")}, nil, "b"},
	} {
		if got := output.Text(&mcp.CallToolResult{Content: c.contents, StructuredContent: c.structured}); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := output.Text(nil); got != "" {
		t.Errorf("of no result: %q", got)
	}
}
