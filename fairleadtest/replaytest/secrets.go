package replaytest

// Package redact hides secrets behind one mark, but a recording has to answer a repeated secret as the same. So each
// value is redacted as a whole, and then compared with what it was: where the mark is, the secret gets a placeholder
// with a number of its own ({secret 1}). A placeholder in arguments matches whatever a test sends there.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/jsontree"
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
	if _, err := canonical.Append(nil, raw); err != nil {
		return nil, err
	}
	seen := []byte(jsontree.Encode(withoutMedia(tree(raw))))
	if len(seen) > maxValue {
		return nil, fmt.Errorf("%d bytes are more than %d", len(seen), maxValue)
	}
	hidden, err := jsontree.Decode(hide(seen, schema))
	if err != nil {
		return nil, err
	}
	return json.RawMessage(s.within(string(compact(raw)), hidden)), nil
}

// texts is a hiding by the texts alone, for a definition: the schema of a member called "password" is not a secret.
func (s *secrets) texts(raw []byte, _ any) json.RawMessage {
	return json.RawMessage(jsontree.Encode(eachText(tree(raw), s.Text)))
}

// withoutMedia empties pictures, sounds and other files of a known format, in which no text is looked for.
func withoutMedia(v any) any {
	return eachText(v, func(text string) string {
		const least = 512 // bytes
		data, err := base64.StdEncoding.DecodeString(text)
		kind := http.DetectContentType(data)
		if err != nil || len(data) < least || kind == "application/octet-stream" || strings.HasPrefix(kind, "text/") {
			return text
		}
		return ""
	})
}

// eachText replaces the texts in v, which it writes into, and a number by a mark.
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
	case json.Number:
		if by(string(v)) == redact.Mark {
			return redact.Mark
		}
	case string:
		return by(v)
	}
	return v
}

// within returns JSON with placeholders where hidden, the same value after redaction, has marks. Its members keep their
// order, and it keeps its white space, if that is possible.
func (s *secrets) within(text string, hidden any) string {
	masked := s.mask(tree([]byte(text)), hidden)
	whole := jsontree.Encode(masked)
	_, err := canonical.Append(nil, []byte(text))
	known := slices.SortedFunc(maps.Keys(s.numbers), func(a, b string) int { return len(b) - len(a) })
	for _, secret := range known {
		if name := s.number(secret); strings.Contains(whole, name) {
			text = strings.ReplaceAll(text, inText(secret), name)
		}
	}
	if err == nil && jsontree.Same(tree([]byte(text)), masked) {
		return text
	}
	return whole
}

// mask returns a value with placeholders.
func (s *secrets) mask(v, hidden any) any {
	switch hidden := hidden.(type) {
	case map[string]any:
		if v, ok := v.(map[string]any); ok && slices.Equal(slices.Sorted(maps.Keys(v)), slices.Sorted(maps.Keys(hidden))) {
			for _, name := range slices.Sorted(maps.Keys(v)) {
				v[name] = s.mask(v[name], hidden[name])
			}
			return v
		}
	case []any:
		if v, ok := v.([]any); ok && len(v) == len(hidden) {
			for i := range v {
				v[i] = s.mask(v[i], hidden[i])
			}
			return v
		}
	case string:
		if text, ok := v.(string); ok {
			return s.text(text, hidden)
		}
	default:
		return v
	}
	return s.number(jsontree.Encode(v))
}

// text returns a text with a placeholder for each mark in what was made of it.
func (s *secrets) text(text, hidden string) string {
	if !strings.Contains(hidden, redact.Mark) {
		return text // at most JSON within it is written differently
	}
	if v, err := jsontree.Decode([]byte(hidden)); err == nil && jsontree.Likely(text) {
		return s.within(text, v)
	}
	found := around(strings.Split(hidden, redact.Mark)).FindStringSubmatch(text)
	if found == nil {
		return s.number(text)
	}
	for _, secret := range found[1:] {
		hidden = strings.Replace(hidden, redact.Mark, s.number(secret), 1)
	}
	return hidden
}

// around matches a text with something between its parts.
func around(parts []string) *regexp.Regexp {
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`^(?s:` + strings.Join(parts, `(.+?)`) + `)$`)
}

// inText is a text as it is within one of JSON.
func inText(s string) string {
	quoted := jsontree.Encode(s)
	return quoted[1 : len(quoted)-1]
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
	const ours = "secret" // of the placeholders
	var parts []string
	for _, secret := range s.fresh {
		for _, part := range append(strings.Fields(secret), secret) {
			least := 8 // bytes, as of package redact: what is shorter is everywhere
			if part == secret {
				least = 4
			}
			if len(part) >= least && !strings.Contains(ours, part) && strings.Contains(string(raw), inText(part)) {
				parts = append(parts, part)
			}
		}
	}
	if parts == nil {
		return raw
	}
	return json.RawMessage(s.within(string(raw), eachText(tree(raw), func(text string) string {
		for _, part := range parts {
			text = strings.ReplaceAll(text, part, redact.Mark)
		}
		return text
	})))
}

var (
	token = regexp.MustCompile(`[A-Za-z0-9+_=-]{24,}`)
	uuid  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// suspects returns what looks random in a clean value, as a secret does.
func suspects(clean json.RawMessage) []string {
	all := token.FindAllString(jsontree.Encode(withoutMedia(tree(clean))), -1)
	return slices.DeleteFunc(all, func(token string) bool {
		different, turns, last := make(map[rune]bool), 0, 'a'
		for _, c := range token {
			if different[c] = true; (c <= '9') != (last <= '9') {
				turns++
			}
			last = c
		}
		const enough = 10
		return len(different) < enough || turns <= len(token)/8 || uuid.MatchString(token)
	})
}
