package annotationtest

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Faults is what Run would report, by tool; "" is the server.
func Faults(ctx context.Context, session *mcp.ClientSession, o Options) (faults map[string][]string, skipped map[string]string) {
	faults, skipped = make(map[string][]string), make(map[string]string)
	tools, err := list(ctx, session)
	if err != nil {
		return map[string][]string{"": {err.Error()}}, nil
	}
	faults[""] = missing(tools, o)
	for _, tool := range tools {
		faults[tool.Name], skipped[tool.Name] = check(ctx, session, tool, o)
	}
	return faults, skipped
}
