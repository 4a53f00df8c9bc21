package connect

import (
	"bytes"

	"github.com/BurntSushi/toml"
)

// tomlValues returns the keys of a text of TOML that is valid, with the places of their values.
func tomlValues(text []byte) (all []tomlValue) {
	var table []string
	for at := 0; at < len(text); {
		at += len(text[at:]) - len(bytes.TrimLeft(text[at:], " \t\r\n"))
		switch {
		case at == len(text):
			return all
		case text[at] == '#':
			at = lineOf(text, at)
		case text[at] == '[':
			end := lineOf(text, at)
			table = tableWords(text[at:end])
			at = end
		default:
			v := tomlValue{table: table, start: at}
			equals := keyEnd(text, at)
			if equals < 0 {
				return all
			}
			v.key = keyWords(text[at:equals])
			v.valueAt = equals + 1 + len(text[equals+1:]) - len(bytes.TrimLeft(text[equals+1:], " \t"))
			v.endsAt = valueEnd(text, v.valueAt)
			all = append(all, v)
			at = lineOf(text, v.endsAt)
		}
	}
	return all
}

// lineOf returns the end of the line at a place.
func lineOf(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

// tableWords returns the words of a table's line, nil for a list of tables.
func tableWords(line []byte) []string {
	if bytes.HasPrefix(line, []byte("[[")) {
		return []string{"", ""}
	}
	var file map[string]any
	meta, err := toml.Decode(string(line), &file)
	if err != nil || len(meta.Keys()) == 0 {
		return []string{"", ""}
	}
	return meta.Keys()[len(meta.Keys())-1]
}

// keyWords returns the words of a key.
func keyWords(key []byte) []string {
	var file map[string]any
	meta, err := toml.Decode(string(key)+" = 1", &file)
	if err != nil || len(meta.Keys()) == 0 {
		return nil
	}
	return meta.Keys()[len(meta.Keys())-1]
}

// keyEnd returns where the sign behind a key is, -1 if there is none.
func keyEnd(text []byte, at int) int {
	for at < len(text) {
		switch c := text[at]; c {
		case '=':
			return at
		case '"', '\'':
			at = stringEnd(text, at)
		case '\n':
			return -1
		default:
			at++
		}
	}
	return -1
}

// valueEnd returns the end of a value.
func valueEnd(text []byte, at int) int {
	end, depth := at, 0
	for at < len(text) {
		switch c := text[at]; {
		case c == '"' || c == '\'':
			at = stringEnd(text, at)
			end = at
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == '#':
			if depth == 0 {
				return end
			}
			at = lineOf(text, at)
			continue
		case c == '\n' && depth == 0:
			return end
		}
		if at++; text[at-1] > ' ' {
			end = at
		}
	}
	return end
}

// stringEnd returns the end of the string that begins at a place.
func stringEnd(text []byte, at int) int {
	quote := text[at : at+1]
	if long := bytes.Repeat(quote, 3); bytes.HasPrefix(text[at:], long) {
		quote = long
	}
	for i := at + len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote[0] == '"':
			i++
		case bytes.HasPrefix(text[i:], quote):
			i += len(quote)
			for len(quote) == 3 && i < len(text) && text[i] == quote[0] { // up to two more belong to it
				i++
			}
			return i
		}
	}
	return len(text)
}
