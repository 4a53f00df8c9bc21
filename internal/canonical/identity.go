package canonical

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// Identities returns at most so many texts of the values that members of an object have; none if that is ambiguous.
func Identities(object []byte, members []string, most int) (texts []string) {
	var given map[string]json.RawMessage
	if json.Unmarshal(object, &given) != nil {
		return nil
	}
	for _, member := range members {
		for other := range given { // many servers ignore the case
			if other != member && strings.EqualFold(other, member) {
				return nil
			}
		}
		list := []json.RawMessage{given[member]}
		if raw := given[member]; len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) != nil {
			return nil
		}
		if len(list) == 0 || len(texts)+len(list) > most {
			return nil
		}
		for _, one := range list {
			text := identity(one)
			if text == "" {
				return nil
			}
			texts = append(texts, text)
		}
	}
	return texts
}

// identity returns the text of a string or a number, and "" for any other value. It is the same for a number and its
// text, and for texts that differ in case or surrounding space: a server may take them for the same thing.
func identity(raw json.RawMessage) (text string) {
	switch {
	case len(raw) == 0:
	case raw[0] == '"':
		_ = json.Unmarshal(raw, &text) // it was JSON
	case raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9':
		text = string(raw)
	}
	text = strings.ToLower(strings.ToUpper(strings.TrimSpace(text))) // some letters have two small forms
	if number, err := strconv.ParseFloat(text, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		text = strconv.FormatFloat(number, 'g', -1, 64)
	}
	return text
}
