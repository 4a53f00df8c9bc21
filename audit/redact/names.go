package redact

// A name is compared without its case and its separators (plain), so that API_KEY, apiKey and Api-Key are one. It is
// that of a secret if the lists of words.txt have it, or one of their parts or endings.

import (
	_ "embed" // for words.txt
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/lazyregexp"
)

//go:embed words.txt
var wordsText string

// words are the lists of words.txt, which explains them.
var words = func() map[string][]string {
	lists := make(map[string][]string)
	for line := range strings.SplitSeq(strings.ReplaceAll(wordsText, "\n\t", " "), "\n") {
		name, list, _ := strings.Cut(line, ":")
		lists[name] = strings.Fields(list)
	}
	return lists
}()

// secretName reports whether a member is a secret by its name. True, false, null and the count of tokens are not secrets.
func secretName(name string, member any) bool {
	switch member := member.(type) {
	case nil, bool:
		return false
	case string:
		if member == "" {
			return false
		}
	case json.Number:
		if strings.HasSuffix(plain(name), "tokens") {
			return false
		}
	}
	return IsSecret(name)
}

// IsSecret reports whether a name is that of a secret, or a text is about one.
func IsSecret(name string) bool {
	p := plain(name)
	if slices.Contains(words["names"], p) {
		return true
	}
	ends := func(end string) bool { return strings.HasSuffix(p, end) }
	return slices.ContainsFunc(words["parts"], func(part string) bool { return strings.Contains(p, part) }) ||
		!slices.ContainsFunc(words["others"], ends) && slices.ContainsFunc(words["endings"], ends)
}

// plain returns a name without case, separators, full-width letters and invisible characters.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '！' && r <= '～' {
			r -= '！' - '!'
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// isPair reports whether the member is the value of a pair such as {"name": "Authorization", "value": "…"}.
func isPair(object map[string]any, member string) bool {
	switch plain(member) {
	case "value", "val", "v", "values", "content", "data", "stringdata":
	default:
		return false
	}
	for key, v := range object {
		switch plain(key) {
		case "name", "key", "header", "field", "k", "variable", "option", "kind", "type":
			if name, ok := v.(string); ok && IsSecret(name) {
				return true
			}
		}
	}
	return false
}

// isTyped reports whether the member is what is put into a place that its neighbours show to be one for a secret: the
// label, selector or placeholder of a field, or the path of a JSON Patch.
func isTyped(object map[string]any, member string) bool {
	if !slices.Contains(words["typed"], plain(member)) {
		return false
	}
	names := make(map[string]any, len(object))
	for key, v := range object {
		names[plain(key)] = v
	}
	if plain(member) == "value" && names["op"] != nil {
		return secretPath(names["path"])
	}
	for _, beside := range words["beside"] {
		if names[beside] != nil && anySecret(names[beside]) {
			return true
		}
	}
	located := names["by"] != nil || names["using"] != nil || names["strategy"] != nil // the value is the locator
	return located && plain(member) != "value" && names["value"] != nil && anySecret(names["value"])
}

// anySecret reports whether a text in a value is about a secret.
func anySecret(v any) bool {
	for leaf := range jsontree.Leaves(v) {
		if text, ok := leaf.(string); ok && IsSecret(text) {
			return true
		}
	}
	return false
}

// secretPath reports whether a step of a path is the name of a secret: of a JSON Pointer, or of a list.
func secretPath(path any) bool {
	if text, ok := path.(string); ok {
		for step := range strings.SplitSeq(text, "/") {
			if IsSecret(step) {
				return true
			}
		}
		return false
	}
	return anySecret(path)
}

// isFlag reports whether the item is an option of a command line whose value comes next.
func isFlag(item any) bool {
	s, ok := item.(string)
	return ok && strings.HasPrefix(s, "-") && !strings.ContainsAny(s, "= ") && IsSecret(s)
}

// isHeader reports whether the item is the name of a header whose value comes next.
func isHeader(item any) bool {
	s, ok := item.(string)
	return ok && header.MatchString(s) && IsSecret(s)
}

var header = lazyregexp.New(`(?i)^(?:(?:[a-z0-9]+-)+[a-z0-9]+|authorization|cookie)$`)

// isSecretBySchema reports whether a schema marks its value as a secret.
func isSecretBySchema(s map[string]any) bool {
	return s["writeOnly"] == true || s["format"] == "password"
}
