package answers

import "encoding/json"

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
