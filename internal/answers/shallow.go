package answers

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/internal/strictjson"
)

// oneReading returns a message in which no member is there twice or in another case. Another response becomes one whose
// result is all of it, which those that look at results do not accept.
func oneReading(message []byte) []byte {
	if strictjson.Top(message, "jsonrpc", "id", "method", "params", "result", "error") == nil {
		return message
	}
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(message, &m) != nil || m.ID == nil {
		return message
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"result":%s,"Result":null}}`+"\n", m.ID, bytes.TrimSpace(message))
}

// maxDepth is how deep a list of tools is read. The SDK refuses a message of more than 1,000 levels.
const maxDepth = 900

// Shallow returns an answer to tools/list with null for each value that is nested deeper than 900 levels, since
// the SDK fails a deeper message as a whole. Any other message is returned as it is.
func Shallow(message []byte) []byte {
	flat, deep := flatten(message)
	var answer struct {
		Result struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if !deep || json.Unmarshal(flat, &answer) != nil || answer.Result.Tools == nil {
		return message
	}
	return flat
}

// flatten replaces what is too deep, without decoding a message that may be nested a million levels deep.
func flatten(text []byte) (flat []byte, deep bool) {
	depth, copied, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth == maxDepth+1 {
				flat, deep = append(append(flat, text[copied:i]...), "null"...), true
			}
		case c == '}' || c == ']':
			if depth--; depth == maxDepth {
				copied = i + 1
			}
		}
	}
	return append(flat, text[copied:]...), deep
}
