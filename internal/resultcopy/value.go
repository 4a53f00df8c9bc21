package resultcopy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A value is a result as other replicas read it: a byte for the version, the time of the request in ms, and JSON.
const (
	valueOf1    = '3' // a result as the protocol has it
	valueOf1Raw = '4' // the same, its structured content being bytes and no tree
	valueHead   = 9   // bytes before the JSON
)

// Encode returns the value of a result, and false for one that another process would not read as it is.
func Encode(res *mcp.CallToolResult, at time.Time) ([]byte, bool) {
	form, err := json.Marshal(res)
	if err != nil {
		return nil, false
	}
	version := byte(valueOf1)
	if _, raw := res.StructuredContent.(json.RawMessage); raw {
		version = valueOf1Raw
	}
	value := append(binary.BigEndian.AppendUint64([]byte{version}, uint64(at.UnixMilli())), form...)
	read, _, ok := Decode(value)
	if !ok {
		return nil, false
	}
	again, err := json.Marshal(read) // a float64 has not all digits of some numbers, for one
	return value, err == nil && bytes.Equal(form, again)
}

// Decode returns the result of a value and when it was requested, and false for another version or a broken value.
func Decode(value []byte) (res *mcp.CallToolResult, at time.Time, ok bool) {
	if len(value) < valueHead || value[0] != valueOf1 && value[0] != valueOf1Raw {
		return nil, at, false
	}
	res, at = new(mcp.CallToolResult), time.UnixMilli(int64(binary.BigEndian.Uint64(value[1:valueHead])))
	if json.Unmarshal(value[valueHead:], res) != nil {
		return nil, at, false
	}
	if value[0] == valueOf1Raw {
		var raw struct {
			StructuredContent json.RawMessage `json:"structuredContent"`
		}
		if json.Unmarshal(value[valueHead:], &raw) != nil {
			return nil, at, false
		}
		res.StructuredContent = raw.StructuredContent
	}
	return res, at, true
}
