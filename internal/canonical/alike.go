package canonical

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
)

// Alike finds two members of one object, at any depth, whose names differ only in
// case. A server that does not mind the case, as Go's encoding/json does not, takes
// them for one and the same, and which of them counts is its affair. What is no
// JSON has none.
func Alike(src []byte) (one, other string, found bool) {
	form, err := Append(nil, src)
	if err != nil {
		return "", "", false
	}
	return alike(json.NewDecoder(bytes.NewReader(form)))
}

// alike looks at the next value. That is well-formed, and no deeper than MaxDepth.
func alike(d *json.Decoder) (one, other string, found bool) {
	d.UseNumber()
	open, _ := d.Token()
	if open != json.Delim('{') && open != json.Delim('[') {
		return "", "", false
	}
	names := make(map[string]string)
	for d.More() {
		if open == json.Delim('{') {
			token, _ := d.Token()
			name, _ := token.(string)
			if one, found = names[fold(name)]; found {
				return one, name, true
			}
			names[fold(name)] = name
		}
		if one, other, found = alike(d); found {
			return one, other, true
		}
	}
	_, _ = d.Token() // the end of it
	return "", "", false
}

// fold returns the same for all texts that [strings.EqualFold] holds for equal.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}
