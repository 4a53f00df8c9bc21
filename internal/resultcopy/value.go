package resultcopy

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A value is a result as other replicas read it: a byte that says how, and JSON.
const (
	valueOf1    = '1' // a result as the protocol has it
	valueOf1Raw = '2' // the same, its structured content being bytes and no tree
)

// Encode returns the value of a result, and false for one that another process
// would not read as it is.
func Encode(res *mcp.CallToolResult) ([]byte, bool) {
	form, err := json.Marshal(res)
	if err != nil {
		return nil, false
	}
	version := byte(valueOf1)
	if _, raw := res.StructuredContent.(json.RawMessage); raw {
		version = valueOf1Raw
	}
	value := append([]byte{version}, form...)
	read, ok := Decode(value)
	if !ok {
		return nil, false
	}
	again, err := json.Marshal(read) // a float64 has not all digits of some numbers, for one
	return value, err == nil && bytes.Equal(form, again)
}

// Decode returns the result of a value, and false for one that is none: of another
// version, or cut off.
func Decode(value []byte) (*mcp.CallToolResult, bool) {
	if len(value) == 0 || value[0] != valueOf1 && value[0] != valueOf1Raw {
		return nil, false
	}
	res := new(mcp.CallToolResult)
	if json.Unmarshal(value[1:], res) != nil {
		return nil, false
	}
	if value[0] == valueOf1Raw {
		var raw struct {
			StructuredContent json.RawMessage `json:"structuredContent"`
		}
		if json.Unmarshal(value[1:], &raw) != nil {
			return nil, false
		}
		res.StructuredContent = raw.StructuredContent
	}
	return res, true
}
