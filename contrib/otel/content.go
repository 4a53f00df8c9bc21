package otel

import (
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/redact"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
)

// maxContent bounds the arguments, and the result, on a span.
const maxContent = 16 << 10

// capped returns the text, or its size if it is too long for a span.
func capped(raw json.RawMessage) string {
	if len(raw) > maxContent {
		return fmt.Sprintf("%d bytes", len(raw))
	}
	return string(raw)
}

// content returns the arguments and the result without secrets, those of the arguments included.
func content(call middleware.Call, res *mcp.CallToolResult) []attribute.KeyValue {
	var secrets redact.Redactor
	out := []attribute.KeyValue{attribute.String(attrArguments, capped(secrets.JSON(call.Arguments, definition(call.Tool).InputSchema)))}
	raw, err := json.Marshal(res)
	if res == nil || err != nil {
		return out
	}
	return append(out, attribute.String(attrResult, capped(secrets.Result(raw, definition(call.Tool).OutputSchema))))
}

func definition(t *middleware.Tool) *mcp.Tool {
	if t == nil || t.Definition == nil {
		return new(mcp.Tool)
	}
	return t.Definition
}
