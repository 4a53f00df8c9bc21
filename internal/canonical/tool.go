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

// Copy returns a private copy of v, as encoding/json would decode what it would
// write for it.
func Copy(v any) (any, error) { return copied(v, 0) }

func copied(v any, depth int) (_ any, err error) {
	if depth > MaxDepth {
		return nil, tooDeep(0)
	}
	switch v := v.(type) {
	case nil, bool, string, float64:
		return v, nil
	case map[string]any:
		if v == nil {
			return nil, nil //nolint:nilnil // it is JSON's null
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			if out[k], err = copied(e, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		if v == nil {
			return nil, nil //nolint:nilnil // it is JSON's null
		}
		out := make([]any, len(v))
		for i, e := range v {
			if out[i], err = copied(e, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	err = json.Unmarshal(raw, &out)
	return out, err
}
