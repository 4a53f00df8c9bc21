package canonical

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// AppendTool appends the canonical form of a tool's definition to dst.
func AppendTool(dst []byte, d *mcp.Tool) ([]byte, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return dst, err
	}
	return Append(dst, raw)
}
