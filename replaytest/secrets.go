package replaytest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/redact"
)

// maxValue is how many bytes of arguments, of a result or of a definition are recorded, without pictures.
const maxValue = 1 << 20

// secrets takes secrets out of all values of a session. The same secret gets the same placeholder.
type secrets struct {
	redact.Redactor

	numbers map[string]int
	fresh   []string // what was found since this was last emptied
}

var placeholder = regexp.MustCompile(`\{secret \d+\}`)

// A hiding is a method of a Redactor.
type hiding func(raw []byte, schema any) json.RawMessage

// clean returns a value without its secrets, otherwise as it was written.
func (s *secrets) clean(raw json.RawMessage, hide hiding, schema any) (json.RawMessage, error) {
	v, err := jsontree.Decode(raw)
	if err != nil {
		return nil, err
	}
	seen := []byte(jsontree.Encode(eachText(v, func(text string) string {
		if isMedia(text) {
			return "" // merge leaves it as it is
		}
		return text
	})))
	if len(seen) > maxValue {
		return nil, fmt.Errorf("%d bytes are more than %d", len(seen), maxValue)
	}
	if v, err = jsontree.Decode(hide(seen, schema)); err != nil {
		return nil, err
	}
	return s.merge(compact(raw), v), nil
}

// texts is a hiding by the texts alone, for a definition: the schema of a member called "password" is no secret.
func (s *secrets) texts(raw []byte, _ any) json.RawMessage {
	return json.RawMessage(jsontree.Encode(eachText(tree(raw), s.Text)))
}

// eachText replaces the texts in v, which it writes into.
func eachText(v any, by func(string) string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = eachText(v[i], by)
		}
	case map[string]any:
		for name := range v {
			v[name] = eachText(v[name], by)
		}
	case string:
		return by(v)
	}
	return v
}

// isMedia reports whether a text is a picture, a sound or another file of a known format.
func isMedia(text string) bool {
	const least = 512 // bytes
	data, err := base64.StdEncoding.DecodeString(text)
	kind := http.DetectContentType(data)
	return err == nil && len(data) >= least && kind != "application/octet-stream" && !strings.HasPrefix(kind, "text/")
}

// merge writes raw with placeholders where clean, the same value after redaction, has marks.
func (s *secrets) merge(raw json.RawMessage, clean any) json.RawMessage {
	b := []byte{raw[0]}
	switch clean := clean.(type) {
	case map[string]any:
		members, _ := strictjson.Members(raw)
		same := len(members) == len(clean) // and no name is given twice or has a secret
		for i, m := range members {
			value, there := clean[m.Name]
			if same = same && there; i > 0 {
				b = append(b, ',')
			}
			b = append(append(append(b, jsontree.Encode(m.Name)...), ':'), s.merge(m.Value, value)...)
		}
		if same {
			return append(b, '}')
		}
	case []any:
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) == nil && len(items) == len(clean) {
			for i, item := range items {
				if i > 0 {
					b = append(b, ',')
				}
				b = append(b, s.merge(item, clean[i])...)
			}
			return append(b, ']')
		}
	case string:
		var text string
		if json.Unmarshal(raw, &text) == nil {
			if masked := s.text(text, clean); masked != text {
				return json.RawMessage(jsontree.Encode(masked))
			}
			return raw
		}
	default:
		return raw
	}
	return json.RawMessage(jsontree.Encode(s.number(string(raw))))
}

// text returns a text with a placeholder for each mark in what was made of it.
func (s *secrets) text(text, clean string) string {
	if !strings.Contains(clean, redact.Mark) {
		return text // at most JSON within it is written differently
	}
	if jsontree.Likely(text) {
		v, err := jsontree.Decode([]byte(clean))
		if _, ok := v.(string); err == nil && !ok {
			return s.nested(text, v)
		}
	}
	found := around(strings.Split(clean, redact.Mark)).FindStringSubmatch(text)
	if found == nil {
		return s.number(text)
	}
	for _, secret := range found[1:] {
		clean = strings.Replace(clean, redact.Mark, s.number(secret), 1)
	}
	return clean
}

// nested is merge for JSON within a text, which keeps its white space if that is possible.
func (s *secrets) nested(text string, clean any) string {
	merged := s.merge(compact(json.RawMessage(text)), clean)
	for secret := range s.numbers {
		if name := s.number(secret); bytes.Contains(merged, []byte(name)) {
			text = strings.ReplaceAll(text, inText(secret), name)
		}
	}
	if jsontree.Same(tree([]byte(text)), tree(merged)) {
		return text
	}
	return string(merged)
}

// inText is a text as it is within one of JSON.
func inText(s string) string {
	quoted := jsontree.Encode(s)
	return quoted[1 : len(quoted)-1]
}

// around matches a text with something between its parts.
func around(parts []string) *regexp.Regexp {
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`^(?s:` + strings.Join(parts, `(.+?)`) + `)$`)
}

// number returns the placeholder of a secret, with the quotes around it.
func (s *secrets) number(secret string) string {
	bare := strings.Trim(secret, "\"'\\ ")
	if bare == "" || bare == redact.Mark || placeholder.FindString(bare) == bare {
		return secret
	}
	n, known := s.numbers[bare]
	if !known {
		if s.numbers == nil {
			s.numbers = make(map[string]int)
		}
		n = len(s.numbers) + 1
		s.numbers[bare] = n
		s.fresh = append(s.fresh, bare)
	}
	return strings.Replace(secret, bare, "{secret "+strconv.Itoa(n)+"}", 1)
}

// again takes what was found since then out of a value that is clean otherwise.
func (s *secrets) again(raw json.RawMessage) json.RawMessage {
	for _, secret := range s.fresh {
		for _, part := range append(strings.Fields(secret), secret) {
			const least = 8 // what is shorter is everywhere
			inner := []byte(inText(part))
			if len(inner) < least || !bytes.Contains(raw, inner) {
				continue
			}
			if raw = bytes.ReplaceAll(raw, inner, []byte(s.number(part))); !json.Valid(raw) { // it was a number
				return json.RawMessage(jsontree.Encode(s.number(string(raw))))
			}
		}
	}
	return raw
}

var (
	token = regexp.MustCompile(`[A-Za-z0-9+_=-]{24,}`)
	uuid  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// suspects returns the places in a clean value where something looks random, as a secret does.
func suspects(v any, at string) (places []string) {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			places = append(places, suspects(item, fmt.Sprintf("%s/%d", at, i))...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			places = append(places, suspects(v[name], at+"/"+name)...)
		}
	case string:
		if slices.ContainsFunc(token.FindAllString(v, -1), random) && !isMedia(v) {
			places = append(places, at)
		}
	}
	return places
}

// random reports whether letters and digits take turns in a token, and few of them are alike.
func random(token string) bool {
	count, turns, last := make(map[rune]float64), 0, 'a'
	digit := func(c rune) bool { return '0' <= c && c <= '9' }
	for _, c := range token {
		if count[c]++; digit(c) != digit(last) {
			turns++
		}
		last = c
	}
	bits, all := 0.0, float64(len(token))
	for _, n := range count {
		bits -= n / all * math.Log2(n/all)
	}
	return bits >= 3.2 && turns > len(token)/8 && !uuid.MatchString(token)
}
