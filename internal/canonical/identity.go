package canonical

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// Identity returns the text of one value. A number and its text are one, however
// they are written, and so are two texts that differ in case or in the space
// around them: a server may take them for the same thing.
func Identity(raw json.RawMessage) (text string, ok bool) {
	switch {
	case len(raw) == 0:
		return "", false
	case raw[0] == '"':
		if json.Unmarshal(raw, &text) != nil {
			return "", false
		}
	case raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9':
		text = string(raw)
	default: // null, true, an object
		return "", false
	}
	text = strings.ToLower(strings.ToUpper(strings.TrimSpace(text))) // some letters have two small forms
	if number, err := strconv.ParseFloat(text, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		text = strconv.FormatFloat(number, 'g', -1, 64)
	}
	return text, text != ""
}
