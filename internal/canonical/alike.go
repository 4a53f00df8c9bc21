package canonical

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Alike finds in a canonical form two members of one object, at any depth, whose
// names differ only in case. A server that does not mind the case, as Go's
// encoding/json does not, takes them for one and the same, and which of them counts
// is its affair.
func Alike(form []byte) (one, other string, found bool) {
	if !cased(form) {
		return "", "", false
	}
	d := json.NewDecoder(bytes.NewReader(form))
	d.UseNumber() // the range of a number is no matter here
	return alike(d)
}

// cased reports whether a member's name holds more than small letters of ASCII, as one
// of two that are alike must. It may report true for another form.
func cased(form []byte) bool {
	found := false // since the last quote
	for i := 0; i < len(form); i++ {
		switch c := form[i]; {
		case c == '\\':
			i++
		case c == '"':
			if found && i+1 < len(form) && form[i+1] == ':' {
				return true
			}
			found = false
		case c >= utf8.RuneSelf || 'A' <= c && c <= 'Z':
			found = true
		}
	}
	return false
}

// alike looks at the next value. That is well-formed, and no deeper than MaxDepth.
func alike(d *json.Decoder) (one, other string, found bool) {
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
